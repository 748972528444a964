/* Light stems of English words, as far as a word itself tells: which of some words English gives an
   ending, and what is left of them. */
#ifndef RAG_EVAL_WORD_ENDINGS_H
#define RAG_EVAL_WORD_ENDINGS_H

#include "portable.h"
#include "token_keys.h"

typedef struct {
    int64_t size; /* of the stem */
    int32_t id;   /* the word's */
    int32_t last; /* byte of the stem: often not the word's byte at that place */
} cut_t;

typedef struct {
    const token_key_t *keys; /* by id, as all that is told of words here */
    const int64_t *places;   /* begin and end of each, in turn */
    const int32_t *raws;     /* a word of another raw form, which are digits, has no ending */
    const uint8_t *bytes;
} worded_t;

#define LAST(word) ((word) >> 56)

static inline int64_t without_plural(uint64_t *ending, int64_t size) {
    uint64_t word = *ending;
    uint8_t before = (uint8_t)(word >> 48);
    if (LAST(word) != 's') return size;
    if (size > 4 && word >> 40 == 0x736569) {
        /* -ies: -y */
        *ending = (word << 16 & 0x00ffffffffffffffu) | (uint64_t)'y' << 56;
        return size - 2;
    }
    if (word >> 32 == 0x73657373) {
        /* -sses */
        *ending = word << 16;
        return size - 2;
    }
    if (before == 's' || before == 'u' || before == 'i') return size;
    *ending = word << 8;
    return size - 1;
}

/* Makes the end of an English word that of its stem; the stem's size. `ending` has the last eight
   bytes, the last on top; no more than seven are taken off or looked at. For words of more than three
   letters that do not end with a digit. */
static inline int64_t strip_endings(uint64_t *ending, int64_t size) {
    size = without_plural(ending, size);
    uint64_t word = *ending;
    if (size > 5 && word >> 40 == 0x676e69) {
        /* -ing */
        word <<= 24;
        size -= 3;
    } else if (size > 4 && word >> 48 == 0x6465) {
        /* -ed */
        word <<= 16;
        size -= 2;
    } else if (size > 5 && word >> 48 == 0x796c) {
        /* -ly */
        word <<= 16;
        size -= 2;
    }
    uint8_t last = (uint8_t)LAST(word);
    if (size > 4 && last == (uint8_t)(word >> 48) && last != 'l' && last != 's' && last != 'z') {
        word <<= 8;
        size--;
    }
    if (size > 4 && LAST(word) == 'e') {
        word <<= 8;
        size--;
    }
    if (size > 3 && LAST(word) == 'i') word = (word & 0x00ffffffffffffffu) | (uint64_t)'y' << 56;
    *ending = word;
    return size;
}

static inline int is_ascii_word(const uint8_t *word, int64_t size) {
    uint64_t seen = 0;
    int64_t at = 0;
    for (; at + 8 <= size; at += 8)
        seen |= load_8_bytes(word + at);
    if (at < size) seen |= size < 8 ? load_8_bytes(word) << (8 * (8 - size))
                                    : load_8_bytes(word + size - 8);
    return !(seen & 0x8080808080808080u);
}

/* Writes the cut of a word and counts it, or leaves it to be written over; how many there are. */
static inline int64_t add_cut(const worded_t *words, int32_t id, cut_t *cuts, int64_t n_cuts) {
    const uint8_t *word = words->bytes + words->places[2 * id];
    int64_t size = words->places[2 * id + 1] - words->places[2 * id];
    uint64_t ending = size < 8 ? load_8_bytes(word) << (8 * (8 - size))
                               : load_8_bytes(word + size - 8);
    int last = (int)LAST(ending);
    if (last < 'a' || last > 'z' || words->raws[id] != id || !is_ascii_word(word, size))
        return n_cuts;
    cut_t cut = {strip_endings(&ending, size), id, (int32_t)LAST(ending)};
    cuts[n_cuts] = cut;
    return n_cuts + (cut.size != size || cut.last != last);
}

#if HAS_AVX2_CODE
#define EQUAL(words, value) _mm256_cmpeq_epi64(words, _mm256_set1_epi64x(value))
#define ABOVE(words, value) _mm256_cmpgt_epi64(words, _mm256_set1_epi64x(value))
#define BEFORE(words) _mm256_and_si256(_mm256_srli_epi64(words, 48), _mm256_set1_epi64x(0xff))
/* As many bytes off the end. */
#define TAKE_OFF(cuts)                                                                             \
    do {                                                                                           \
        __m256i cut_ = cuts;                                                                       \
        sizes = _mm256_sub_epi64(sizes, cut_);                                                     \
        words = _mm256_sllv_epi64(words, _mm256_slli_epi64(cut_, 3));                              \
    } while (0)

/* As above, of four words: which endings they have is a toss-up, so there is no branch on it. -i and
   -y differ by one bit. */
WITH_AVX2 static ALWAYS_INLINE __m256i strip_fours(__m256i *endings, __m256i sizes) {
    const __m256i one = _mm256_set1_epi64x(1), to_y = _mm256_set1_epi64x((int64_t)1 << 60);
    __m256i words = *endings, last = _mm256_srli_epi64(words, 56), before = BEFORE(words);
    __m256i ies = _mm256_and_si256(EQUAL(_mm256_srli_epi64(words, 40), 0x736569), ABOVE(sizes, 4));
    __m256i sses = EQUAL(_mm256_srli_epi64(words, 32), 0x73657373);
    __m256i kept = _mm256_or_si256(_mm256_or_si256(EQUAL(before, 's'), EQUAL(before, 'u')),
                                   EQUAL(before, 'i'));
    /* Masks are minus one. */
    TAKE_OFF(_mm256_sub_epi64(_mm256_and_si256(_mm256_andnot_si256(kept, EQUAL(last, 's')), one),
                              _mm256_or_si256(ies, sses)));
    words = _mm256_xor_si256(words, _mm256_and_si256(ies, to_y));
    __m256i two = _mm256_srli_epi64(words, 48);
    __m256i ing = EQUAL(_mm256_srli_epi64(words, 40), 0x676e69), ly = EQUAL(two, 0x796c);
    __m256i ed = _mm256_and_si256(EQUAL(two, 0x6465), ABOVE(sizes, 4));
    __m256i many = ABOVE(sizes, 5);
    ing = _mm256_and_si256(_mm256_and_si256(ing, many), _mm256_set1_epi64x(3));
    ly = _mm256_or_si256(_mm256_and_si256(ly, many), ed);
    TAKE_OFF(_mm256_or_si256(ing, _mm256_and_si256(ly, _mm256_set1_epi64x(2))));
    last = _mm256_srli_epi64(words, 56);
    kept = _mm256_or_si256(_mm256_or_si256(EQUAL(last, 'l'), EQUAL(last, 's')), EQUAL(last, 'z'));
    __m256i twice = _mm256_andnot_si256(kept, _mm256_cmpeq_epi64(last, BEFORE(words)));
    TAKE_OFF(_mm256_and_si256(_mm256_and_si256(twice, ABOVE(sizes, 4)), one));
    __m256i e = _mm256_and_si256(EQUAL(_mm256_srli_epi64(words, 56), 'e'), ABOVE(sizes, 4));
    TAKE_OFF(_mm256_and_si256(e, one));
    __m256i i = _mm256_and_si256(EQUAL(_mm256_srli_epi64(words, 56), 'i'), ABOVE(sizes, 3));
    *endings = _mm256_xor_si256(words, _mm256_and_si256(i, to_y));
    return sizes;
}
#undef TAKE_OFF
#undef BEFORE

/* Two of some pairs of eight bytes. */
#define TWO_PAIRS(pairs, first, second)                                                            \
    _mm256_inserti128_si256(                                                                       \
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(pairs) + (first))),               \
        _mm_loadu_si128((const __m128i *)(pairs) + (second)), 1)

/* The first (`second` 0) or the second of each of four such pairs. */
#define OF_PAIRS(pairs, ids, second)                                                               \
    _mm256_permute4x64_epi64(                                                                      \
        second ? _mm256_unpackhi_epi64(TWO_PAIRS(pairs, (ids)[0], (ids)[1]),                       \
                                       TWO_PAIRS(pairs, (ids)[2], (ids)[3]))                       \
               : _mm256_unpacklo_epi64(TWO_PAIRS(pairs, (ids)[0], (ids)[1]),                       \
                                       TWO_PAIRS(pairs, (ids)[2], (ids)[3])),                      \
        0xd8)

/* Of words longer than their keys: their last eight bytes, and whether they are ASCII. */
WITH_AVX2 static void read_long(const worded_t *words, const int32_t *four, int lanes,
                                __m256i *endings, __m256i *ascii) {
    int64_t ends[4], masks[4];
    _mm256_storeu_si256((__m256i *)ends, *endings);
    _mm256_storeu_si256((__m256i *)masks, *ascii);
    for (; lanes; lanes &= lanes - 1) {
        int i = count_trailing_zeros((uint64_t)lanes);
        const uint8_t *word = words->bytes + words->places[2 * four[i]];
        int64_t size = words->places[2 * four[i] + 1] - words->places[2 * four[i]];
        ends[i] = (int64_t)load_8_bytes(word + size - 8);
        masks[i] = -(int64_t)is_ascii_word(word, size);
    }
    *endings = _mm256_loadu_si256((const __m256i *)ends);
    *ascii = _mm256_loadu_si256((const __m256i *)masks);
}

/* As one by one, but for words left over; returns the first of them. */
WITH_AVX2 static int64_t list_cuts_by_fours(const worded_t *words, const int32_t *ids,
                                            int64_t n_ids, cut_t *cuts, int64_t *n_cuts) {
    const __m256i high = _mm256_set1_epi64x((int64_t)0x8080808080808080u);
    const __m256i all = _mm256_set1_epi64x(64);
    int64_t n = 0, at = 0;
    for (; at + 4 <= n_ids; at += 4) {
        const int32_t *four = ids + at;
        __m256i sizes = _mm256_sub_epi64(OF_PAIRS(words->places, four, 1),
                                         OF_PAIRS(words->places, four, 0));
        __m256i heads = OF_PAIRS(words->keys, four, 0), tails = OF_PAIRS(words->keys, four, 1);
        __m256i bits = _mm256_slli_epi64(sizes, 3), past = _mm256_sub_epi64(bits, all);
        /* Shifts by less than 0 or more than 63 bits give 0. */
        __m256i endings = _mm256_or_si256(
            _mm256_or_si256(_mm256_sllv_epi64(heads, _mm256_sub_epi64(all, bits)),
                            _mm256_srlv_epi64(heads, past)),
            _mm256_sllv_epi64(tails, _mm256_sub_epi64(all, past)));
        /* Of ASCII alone no high bit is set but where a key is filled up. */
        __m256i filled = _mm256_sllv_epi64(high, bits);
        __m256i filled_tail = _mm256_sllv_epi64(high, _mm256_max_epi32(past, _mm256_setzero_si256()));
        __m256i ascii = _mm256_and_si256(
            _mm256_cmpeq_epi64(_mm256_and_si256(heads, high), filled),
            _mm256_cmpeq_epi64(_mm256_and_si256(tails, high), filled_tail));
        int long_lanes = _mm256_movemask_pd(_mm256_castsi256_pd(ABOVE(sizes, 16)));
        if (long_lanes) read_long(words, four, long_lanes, &endings, &ascii);
        __m256i last = _mm256_srli_epi64(endings, 56);
        __m256i lettered = _mm256_andnot_si256(ABOVE(last, 'z'), ABOVE(last, 'a' - 1));
        __m256i stem_sizes = strip_fours(&endings, sizes);
        __m256i stem_last = _mm256_srli_epi64(endings, 56);
        __m256i same = _mm256_and_si256(_mm256_cmpeq_epi64(stem_sizes, sizes),
                                        _mm256_cmpeq_epi64(stem_last, last));
        __m256i cut = _mm256_andnot_si256(same, _mm256_and_si256(ascii, lettered));
        int64_t made[4], lasts[4];
        _mm256_storeu_si256((__m256i *)made, stem_sizes);
        _mm256_storeu_si256((__m256i *)lasts, stem_last);
        int lanes = _mm256_movemask_pd(_mm256_castsi256_pd(cut));
        for (int i = 0; i < 4; i++) {
            /* Written always and kept where there is an ending. */
            cuts[n].size = made[i];
            cuts[n].id = four[i];
            cuts[n].last = (int32_t)lasts[i];
            n += lanes >> i & (words->raws[four[i]] == four[i]);
        }
    }
    *n_cuts = n;
    return at;
}
#undef OF_PAIRS
#undef TWO_PAIRS
#undef EQUAL
#undef ABOVE
#endif

/* Lists the words among some that have an ending, in order, with room for one more; how many. */
static inline int64_t list_cuts(const worded_t *words, const int32_t *ids, int64_t n_ids,
                                cut_t *cuts) {
    int64_t at = 0, n_cuts = 0;
#if HAS_AVX2_CODE
    if (runs_avx2()) at = list_cuts_by_fours(words, ids, n_ids, cuts, &n_cuts);
#endif
    for (; at < n_ids; at++)
        n_cuts = add_cut(words, ids[at], cuts, n_cuts);
    return n_cuts;
}

#undef LAST
#endif
