/* The distinct words of a row before its language is known: what each is at sight, and which of them
   a list may have or English may have given an ending. */
#ifndef RAG_EVAL_FORM_SIEVE_H
#define RAG_EVAL_FORM_SIEVE_H

#include "point_flags.h"
#include "portable.h"
#include "token_keys.h"
#include "word_tables.h"

/* What is known of a word. */
#define IS_STOP_WORD 1
#define IS_NUMBER 2   /* its raw form begins with a numeral */
#define IS_LONG 4     /* its raw form has two code points or more */
#define IS_ORDINAL 8  /* an English ordinal in letters */

typedef struct {
    int32_t stem;
    uint8_t flags;      /* IS_* */
    uint8_t kinds;      /* WORD_* of its form */
    uint8_t is_content; /* 1, or 0 for a stop word */
    uint8_t unused;
} form_t;

typedef struct {
    const token_key_t *keys; /* of all words, by id; all that follows has room for as many */
    const int64_t *places;   /* begin and end of each, in turn */
    form_t *forms;
    int32_t *raws;
    const word_facts_t **facts;
    int32_t *listed; /* words that a list may have, in order */
    int32_t *ending; /* ... that may be longer than their English stem, or end otherwise */
    int64_t n_listed, n_ending;
} form_sieve_t;

#define LETTER_BIT(letter) (1u << ((letter) - 'a'))
/* By the last letter a bit of each byte before it where a word may be longer than its stem or end
   otherwise: -s, -ies, -sses, -ing, -ed, -ly, -e, -i, and letters that stand twice. Few letters stand
   behind a digit or a full stop: nothing is said of those. */
#define BEHIND(letters)                                                                            \
    {~0u, ~0u, ~0u, ((letters) << 1 & 0x07fffffeu) | 0xf8000001u, ~0u, ~0u, ~0u, ~0u}
static const uint32_t stem_befores[256][8] = {
    ['a'] = BEHIND(LETTER_BIT('a')), BEHIND(LETTER_BIT('b')), BEHIND(LETTER_BIT('c')),
    BEHIND(LETTER_BIT('d') | LETTER_BIT('e')), BEHIND(~0u), BEHIND(LETTER_BIT('f')),
    BEHIND(LETTER_BIT('g') | LETTER_BIT('n')), BEHIND(LETTER_BIT('h')), BEHIND(~0u),
    BEHIND(LETTER_BIT('j')), BEHIND(LETTER_BIT('k')), {0}, BEHIND(LETTER_BIT('m')),
    BEHIND(LETTER_BIT('n')), BEHIND(LETTER_BIT('o')), BEHIND(LETTER_BIT('p')),
    BEHIND(LETTER_BIT('q')), BEHIND(LETTER_BIT('r')),
    BEHIND(~(LETTER_BIT('s') | LETTER_BIT('u') | LETTER_BIT('i'))), BEHIND(LETTER_BIT('t')),
    BEHIND(LETTER_BIT('u')), BEHIND(LETTER_BIT('v')), BEHIND(LETTER_BIT('w')),
    BEHIND(LETTER_BIT('x')), BEHIND(LETTER_BIT('y') | LETTER_BIT('l')), {0},
};
#undef LETTER_BIT
#undef BEHIND

/* False of most words that are their own stem. */
static inline int may_have_ending(const token_key_t *key, int64_t size) {
    const uint8_t *bytes = (const uint8_t *)key;
    if (size <= 3 || size > 16) return size > 16;
    return stem_befores[bytes[size - 1]][bytes[size - 2] >> 5] >> (bytes[size - 2] & 31) & 1;
}

/* IS_NUMBER and IS_LONG of a raw form, which begins with a letter, a digit or a numeral. */
static inline uint8_t raw_flags(const token_key_t *key) {
    const uint8_t *bytes = (const uint8_t *)key;
    int64_t width;
    uint32_t first = flags_at(bytes, sizeof(*key), 0, &width);
    return (uint8_t)((first & FOLD_NUMBER ? IS_NUMBER : 0) | (bytes[width] != 0xff ? IS_LONG : 0));
}

/* IS_NUMBER of a raw form, or 0. */
static ALWAYS_INLINE uint8_t number_flag(const token_key_t *key) {
    int64_t width;
    return flags_at((const uint8_t *)key, sizeof(*key), 0, &width) & FOLD_NUMBER ? IS_NUMBER : 0;
}

/* Words from `begin` on. What the lists say of them is for the caller to fill in. */
static inline void sift_one_by_one(form_sieve_t *sieve, int64_t begin, int64_t n_forms) {
    int64_t n_listed = sieve->n_listed, n_ending = sieve->n_ending;
    for (int64_t id = begin; id < n_forms; id++) {
        const token_key_t *key = sieve->keys + id;
        form_t form = {(int32_t)id, raw_flags(key), 0, 1, 0};
        sieve->forms[id] = form;
        sieve->raws[id] = (int32_t)id;
        sieve->facts[id] = NULL;
        /* Written always and kept where they are of use: which words those are is a toss-up. */
        sieve->listed[n_listed] = (int32_t)id;
        n_listed += may_have_facts(key->head, key->tail);
        sieve->ending[n_ending] = (int32_t)id;
        n_ending += may_have_ending(key, sieve->places[2 * id + 1] - sieve->places[2 * id]);
    }
    sieve->n_listed = n_listed;
    sieve->n_ending = n_ending;
}

#if HAS_AVX2_CODE
/* By a set of four lanes: the bytes of those lanes, moved to the front. */
#define LANE_(i) 4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3
static const uint8_t front_lanes[16][16] = {
    {0}, {LANE_(0)}, {LANE_(1)}, {LANE_(0), LANE_(1)}, {LANE_(2)}, {LANE_(0), LANE_(2)},
    {LANE_(1), LANE_(2)}, {LANE_(0), LANE_(1), LANE_(2)}, {LANE_(3)}, {LANE_(0), LANE_(3)},
    {LANE_(1), LANE_(3)}, {LANE_(0), LANE_(1), LANE_(3)}, {LANE_(2), LANE_(3)},
    {LANE_(0), LANE_(2), LANE_(3)}, {LANE_(1), LANE_(2), LANE_(3)},
    {LANE_(0), LANE_(1), LANE_(2), LANE_(3)},
};
#undef LANE_

/* Writes the ids of a set of lanes, and past them; how many there are. */
WITH_AVX2 static ALWAYS_INLINE int64_t put_lanes(int32_t *out, __m128i ids, int lanes) {
    const __m128i *order = (const __m128i *)front_lanes + lanes;
    _mm_storeu_si128((__m128i *)out, _mm_shuffle_epi8(ids, _mm_loadu_si128(order)));
    return _mm_popcnt_u32((uint32_t)lanes);
}

/* The even halves (`odd` 0) or the odd ones of four words of eight bytes. */
#define HALVES(words, odd)                                                                         \
    _mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(_mm256_castsi256_si128(words)),               \
                                    _mm_castsi128_ps(_mm256_extracti128_si256(words, 1)),          \
                                    odd ? 0xdd : 0x88))

/* The upper halves of the products are right, the lower ones are not. */
WITH_AVX2 static ALWAYS_INLINE __m256i times(__m256i words, uint64_t factor) {
    const __m256i plain = _mm256_set1_epi64x((int64_t)factor);
    const __m256i crossed = _mm256_set1_epi64x((int64_t)(factor >> 32 | factor << 32));
    __m256i cross = _mm256_mullo_epi32(words, crossed);
    return _mm256_add_epi32(_mm256_add_epi32(_mm256_mul_epu32(words, plain), cross),
                            _mm256_slli_epi64(cross, 32));
}

/* The lanes of words that a list may have, by the upper halves of their hashes. */
WITH_AVX2 static ALWAYS_INLINE int listed_lanes(__m128i hashes) {
    const __m128i low = _mm_set1_epi32(0xffff);
    __m128i place = _mm_and_si128(_mm_srli_epi32(hashes, WORD_SHIFT_BIT - 32),
                                  _mm_set1_epi32(WORD_SHIFT_MASK));
    __m128i shift = _mm_and_si128(_mm_i32gather_epi32((const int *)word_shifts, place, 2), low);
    place = _mm_xor_si128(_mm_srli_epi32(hashes, WORD_PLACE_BIT - 32), shift);
    __m128i slot = _mm_and_si128(_mm_i32gather_epi32((const int *)word_slots, place, 2), low);
    __m128i mark = _mm_and_si128(_mm_srli_epi32(hashes, WORD_MARK_BIT - 32),
                                 _mm_set1_epi32(WORD_MARK_MASK));
    return _mm_movemask_ps(_mm_castsi128_ps(
        _mm_cmpeq_epi32(_mm_srli_epi32(slot, WORD_NUMBER_BITS), mark)));
}

/* The lanes of words that may have an English ending. */
WITH_AVX2 static ALWAYS_INLINE int ending_lanes(__m128i endings, __m128i sizes) {
    __m128i befores = _mm_i32gather_epi32((const int *)stem_befores, _mm_srli_epi32(endings, 5), 4);
    __m128i found = _mm_srlv_epi32(befores, _mm_and_si128(endings, _mm_set1_epi32(31)));
    found = _mm_and_si128(_mm_slli_epi32(found, 31), _mm_cmpgt_epi32(sizes, _mm_set1_epi32(3)));
    found = _mm_or_si128(found, _mm_cmpgt_epi32(sizes, _mm_set1_epi32(16)));
    return _mm_movemask_ps(_mm_castsi128_ps(found));
}

/* The last two bytes of words of two to sixteen bytes; what is said of others is of no use. Shifts by
   less than 0 or more than 63 bits give 0. */
WITH_AVX2 static ALWAYS_INLINE __m128i endings_of(__m256i heads, __m256i tails, __m256i sizes) {
    __m256i bits = _mm256_slli_epi64(sizes, 3);
    __m256i endings = _mm256_or_si256(
        _mm256_srlv_epi64(heads, _mm256_sub_epi64(bits, _mm256_set1_epi64x(16))),
        _mm256_srlv_epi64(tails, _mm256_sub_epi64(bits, _mm256_set1_epi64x(80))));
    /* Of nine bytes one is in either half. */
    endings = _mm256_or_si256(
        endings, _mm256_sllv_epi64(tails, _mm256_sub_epi64(_mm256_set1_epi64x(80), bits)));
    return _mm_and_si128(HALVES(endings, 0), _mm_set1_epi32(0xffff));
}

/* IS_LONG in the lanes of words that are a single code point, where it is to be cleared. The first
   byte tells how many bytes a code point has. */
WITH_AVX2 static ALWAYS_INLINE __m128i single_lanes(__m128i first, __m128i sizes) {
    __m128i two = _mm_cmpgt_epi32(first, _mm_set1_epi32(0xbf));
    __m128i three = _mm_cmpgt_epi32(first, _mm_set1_epi32(0xdf));
    __m128i four = _mm_cmpgt_epi32(first, _mm_set1_epi32(0xef));
    __m128i more = _mm_add_epi32(_mm_add_epi32(two, three), four);
    return _mm_and_si128(_mm_cmpeq_epi32(_mm_add_epi32(sizes, more), _mm_set1_epi32(1)),
                         _mm_set1_epi32(IS_LONG));
}

/* The first (`second` 0) or the second of each of four pairs of words of eight bytes. */
#define OF_PAIRS(pairs, second)                                                                    \
    _mm256_permute4x64_epi64(                                                                      \
        second ? _mm256_unpackhi_epi64(_mm256_loadu_si256((const __m256i *)(pairs)),               \
                                       _mm256_loadu_si256((const __m256i *)(pairs) + 1))           \
               : _mm256_unpacklo_epi64(_mm256_loadu_si256((const __m256i *)(pairs)),               \
                                       _mm256_loadu_si256((const __m256i *)(pairs) + 1)),          \
        0xd8)

/* As one by one, but for words left over; returns the first of them. */
WITH_AVX2 static int64_t sift_by_fours(form_sieve_t *sieve, int64_t n_forms) {
    const __m128i one = _mm_set1_epi32(1);
    __m128i ids = _mm_setr_epi32(0, 1, 2, 3);
    int64_t n_listed = 0, n_ending = 0, id = 0;
    for (; id + 4 <= n_forms; id += 4) {
        const token_key_t *keys = sieve->keys + id;
        __m256i heads = OF_PAIRS(keys, 0), tails = OF_PAIRS(keys, 1);
        const int64_t *places = sieve->places + 2 * id;
        __m256i long_sizes = _mm256_sub_epi64(OF_PAIRS(places, 1), OF_PAIRS(places, 0));
        __m128i sizes = HALVES(long_sizes, 0);
        __m256i hashes =
            _mm256_xor_si256(times(heads, WORD_HEAD_FACTOR), times(tails, WORD_TAIL_FACTOR));
        n_listed += put_lanes(sieve->listed + n_listed, ids, listed_lanes(HALVES(hashes, 1)));
        n_ending += put_lanes(sieve->ending + n_ending, ids,
                              ending_lanes(endings_of(heads, tails, long_sizes), sizes));
        __m128i first = _mm_and_si128(HALVES(heads, 0), _mm_set1_epi32(0xff));
        __m128i flags = _mm_or_si128(
            _mm_and_si128(_mm_cmpgt_epi32(_mm_set1_epi32('9' + 1), first), _mm_set1_epi32(IS_NUMBER)),
            _mm_andnot_si128(_mm_cmpeq_epi32(sizes, one), _mm_set1_epi32(IS_LONG)));
        int has_high = _mm_movemask_ps(_mm_castsi128_ps(_mm_slli_epi32(first, 24)));
        if (has_high)
            flags = _mm_andnot_si128(single_lanes(first, sizes), flags);
        /* Content: the third byte. */
        flags = _mm_or_si128(flags, _mm_set1_epi32(1 << 16));
        _mm_storeu_si128((__m128i *)(sieve->forms + id), _mm_unpacklo_epi32(ids, flags));
        _mm_storeu_si128((__m128i *)(sieve->forms + id + 2), _mm_unpackhi_epi32(ids, flags));
        _mm_storeu_si128((__m128i *)(sieve->raws + id), ids);
        _mm256_storeu_si256((__m256i *)(sieve->facts + id), _mm256_setzero_si256());
        if (has_high)
            for (int i = 0; i < 4; i++)
                sieve->forms[id + i].flags |= number_flag(keys + i);
        ids = _mm_add_epi32(ids, _mm_set1_epi32(4));
    }
    sieve->n_listed = n_listed;
    sieve->n_ending = n_ending;
    return id;
}
#undef OF_PAIRS
#undef HALVES
#endif

static inline void sift_forms(form_sieve_t *sieve, int64_t n_forms) {
    int64_t begin = 0;
    sieve->n_listed = sieve->n_ending = 0;
#if HAS_AVX2_CODE
    if (runs_avx2()) begin = sift_by_fours(sieve, n_forms);
#endif
    sift_one_by_one(sieve, begin, n_forms);
}

#endif
