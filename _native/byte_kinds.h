/* What a byte of UTF-8 is to the grounded profile, and what a text needs besides being cut. */
#ifndef RAG_EVAL_BYTE_KINDS_H
#define RAG_EVAL_BYTE_KINDS_H

#include "byte_blocks.h"

#define BYTE_WORD 1     /* a letter or digit of ASCII */
#define BYTE_MARKUP 2   /* markup within a line may begin here, a longer code point among it */
#define BYTE_SPACE 4
#define BYTE_NAME 8     /* joins a capitalised word: _ . - ' */
#define BYTE_END 16     /* a sentence may end here, by a longer code point, too */
#define BYTE_LINE 32    /* a line may end here */
#define BYTE_HIGH 64    /* no ASCII */

#define HIGH_ BYTE_HIGH
#define ENDS_ (BYTE_HIGH | BYTE_END)
#define FIVE_(kind) kind, kind, kind, kind, kind
#define TEN_(kind) FIVE_(kind), FIVE_(kind)
#define THIRTY_(kind) TEN_(kind), TEN_(kind), TEN_(kind)
static const uint8_t byte_kinds[256] = {
    ['0'] = TEN_(BYTE_WORD),
    ['a'] = TEN_(BYTE_WORD), TEN_(BYTE_WORD), FIVE_(BYTE_WORD), BYTE_WORD,
    ['A'] = TEN_(BYTE_WORD), TEN_(BYTE_WORD), FIVE_(BYTE_WORD), BYTE_WORD,
    ['\t'] = BYTE_SPACE, [' '] = BYTE_SPACE, ['\v'] = BYTE_SPACE, ['\f'] = BYTE_SPACE,
    ['\n'] = BYTE_SPACE | BYTE_LINE, ['\r'] = BYTE_SPACE | BYTE_LINE,
    ['*'] = BYTE_MARKUP, ['`'] = BYTE_MARKUP, ['~'] = BYTE_MARKUP, ['['] = BYTE_MARKUP,
    ['('] = BYTE_MARKUP, ['_'] = BYTE_MARKUP | BYTE_NAME,
    ['.'] = BYTE_NAME | BYTE_END, ['-'] = BYTE_NAME, ['\''] = BYTE_NAME,
    ['!'] = BYTE_END, ['?'] = BYTE_END,
    [0x80] = THIRTY_(HIGH_), THIRTY_(HIGH_), FIVE_(HIGH_), HIGH_,
    [0xc2] = HIGH_ | BYTE_MARKUP, TEN_(HIGH_), FIVE_(HIGH_), HIGH_, HIGH_, HIGH_, HIGH_,
    [0xd6] = ENDS_, HIGH_, ENDS_, HIGH_, HIGH_, ENDS_, HIGH_, HIGH_, HIGH_, HIGH_,
    [0xe0] = ENDS_, ENDS_, ENDS_ | BYTE_MARKUP | BYTE_LINE, ENDS_ | BYTE_MARKUP,
    [0xe4] = TEN_(HIGH_), HIGH_, [0xef] = ENDS_, [0xf0] = TEN_(HIGH_), FIVE_(HIGH_), HIGH_,
};
#undef HIGH_
#undef ENDS_
#undef FIVE_
#undef TEN_
#undef THIRTY_

/* What one vectorised pass finds in a text: what markup within a line may begin with, a line feed or
   carriage return, the byte that line separators begin with. */
#define CARE_MARKUP 1
#define CARE_LINES 2
#define CARE_SEPARATORS 4

#if HAS_AVX2_CODE
/* Sets of bytes, looked up thirty-two at a time: a byte is in a set when a bit is both in the row of
   its low nibble and in that of its high one. A set with more high nibbles has more bits. */
typedef struct {
    uint8_t low[16], high[16];
} nibble_rows_t;

#define MARKUP_BITS 0x3f
#define WIDE_MARKUP_BIT 0x20 /* 0xe2, 0xe3 */
#define LINE_BIT 0x40
#define SEPARATOR_BIT 0x80
static const nibble_rows_t care_rows = {
    .low = {[0] = 4, [2] = 16 | 32 | SEPARATOR_BIT, [3] = 32, [8] = 1, [10] = 1 | LINE_BIT,
            [11] = 2, [13] = LINE_BIT, [14] = 8, [15] = 2},
    .high = {[0] = LINE_BIT, [2] = 1, [5] = 2, [6] = 4, [7] = 8, [12] = 16,
             [14] = 32 | SEPARATOR_BIT},
};
#define END_BITS 0x0f
static const nibble_rows_t end_rows = {
    .low = {[0] = 8, [1] = 1 | 8, [2] = 8, [3] = 8, [6] = 4, [8] = 4, [11] = 4, [14] = 1,
            [15] = 2 | 8},
    .high = {[2] = 1, [3] = 2, [13] = 4, [14] = 8},
};

WITH_AVX2 static ALWAYS_INLINE __m256i nibble_bits(
    const nibble_rows_t *rows, __m256i part) {
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)rows->low));
    const __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)rows->high));
    return _mm256_and_si256(
        _mm256_shuffle_epi8(low, _mm256_and_si256(part, nibble)),
        _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(part, 4), nibble)));
}

/* Of 32 bytes and more: the last 32 are looked at whole, some for the second time. */
WITH_AVX2 static int care_avx2(const uint8_t *bytes, int64_t size) {
    __m256i found = _mm256_setzero_si256();
    for (int64_t at = 0; at < size; at += 32) {
        __m256i part = _mm256_loadu_si256(
            (const __m256i *)(bytes + (at + 32 <= size ? at : size - 32)));
        found = _mm256_or_si256(found, nibble_bits(&care_rows, part));
    }
    return (_mm256_testz_si256(found, _mm256_set1_epi8(MARKUP_BITS)) ? 0 : CARE_MARKUP) |
           (_mm256_testz_si256(found, _mm256_set1_epi8(LINE_BIT)) ? 0 : CARE_LINES) |
           (_mm256_testz_si256(found, _mm256_set1_epi8((char)SEPARATOR_BIT)) ? 0
                                                                            : CARE_SEPARATORS);
}

WITH_AVX2 static ALWAYS_INLINE uint32_t places_of(const nibble_rows_t *rows, __m256i wanted,
                                                 const uint8_t *bytes) {
    __m256i part = _mm256_loadu_si256((const __m256i *)bytes);
    __m256i found = _mm256_and_si256(nibble_bits(rows, part), wanted);
    return ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(found, _mm256_setzero_si256()));
}

/* From `at` on there are 32 bytes at least; `size` when there is none. The last 32 are looked at
   whole, as in what follows: the places that were looked at before are shifted out. */
WITH_AVX2 static int64_t next_avx2(const nibble_rows_t *rows, uint8_t bits, const uint8_t *bytes,
                                   int64_t size, int64_t at) {
    const __m256i wanted = _mm256_set1_epi8((char)bits);
    uint32_t places;
    for (; at + 32 <= size; at += 32) {
        places = places_of(rows, wanted, bytes + at);
        if (places) return at + count_trailing_zeros(places);
    }
    if (at == size) return size;
    places = places_of(rows, wanted, bytes + size - 32) >> (at - (size - 32));
    return places ? at + count_trailing_zeros(places) : size;
}

/* Of what begins with 0xe2 and 0xe3, only U+2040-207F and U+3000-303F: letters begin so, too. */
WITH_AVX2 static ALWAYS_INLINE uint32_t markup_places(const uint8_t *bytes) {
    const __m256i wide = _mm256_set1_epi8(WIDE_MARKUP_BIT), pair = _mm256_set1_epi8(0xe2 ^ 0x81);
    __m256i part = _mm256_loadu_si256((const __m256i *)bytes);
    __m256i next = _mm256_loadu_si256((const __m256i *)(bytes + 1));
    __m256i paired = _mm256_cmpeq_epi8(_mm256_xor_si256(part, next), pair);
    __m256i found = _mm256_and_si256(nibble_bits(&care_rows, part), _mm256_set1_epi8(MARKUP_BITS));
    found = _mm256_andnot_si256(_mm256_andnot_si256(paired, wide), found);
    return ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(found, _mm256_setzero_si256()));
}

/* The last byte is not looked at. */
WITH_AVX2 static int64_t next_markup_avx2(const uint8_t *bytes, int64_t size, int64_t at) {
    uint32_t places;
    for (; at + 33 <= size; at += 32) {
        places = markup_places(bytes + at);
        if (places) return at + count_trailing_zeros(places);
    }
    if (at >= size - 1) return at;
    places = markup_places(bytes + size - 33) >> (at - (size - 33));
    return places ? at + count_trailing_zeros(places) : size - 1;
}

WITH_AVX2 static int64_t next_high_avx2(const uint8_t *bytes, int64_t size, int64_t at) {
    uint32_t high;
    for (; at + 32 <= size; at += 32) {
        high = (uint32_t)_mm256_movemask_epi8(_mm256_loadu_si256((const __m256i *)(bytes + at)));
        if (high) return at + count_trailing_zeros(high);
    }
    if (at == size) return size;
    high = (uint32_t)_mm256_movemask_epi8(
        _mm256_loadu_si256((const __m256i *)(bytes + size - 32)));
    high >>= at - (size - 32);
    return high ? at + count_trailing_zeros(high) : size;
}

/* Among 32 bytes, those of ASCII that are no white space and stand after white space of ASCII. */
WITH_AVX2 static uint32_t word_begins_avx2(const uint8_t *bytes) {
    const __m256i part = _mm256_loadu_si256((const __m256i *)bytes);
    const __m256i control = _mm256_sub_epi8(part, _mm256_set1_epi8('\t'));
    const __m256i last = _mm256_set1_epi8('\r' - '\t');
    uint32_t blanks = (uint32_t)_mm256_movemask_epi8(
        _mm256_or_si256(_mm256_cmpeq_epi8(part, _mm256_set1_epi8(' ')),
                        _mm256_cmpeq_epi8(_mm256_min_epu8(control, last), control)));
    uint32_t high = (uint32_t)_mm256_movemask_epi8(part);
    return ~(high | blanks) & blanks << 1;
}

/* One bit for each of 32 bytes and the one behind it, as is_odd_byte has it. */
WITH_AVX2 static ALWAYS_INLINE uint32_t odd_bits(const uint8_t *bytes) {
    const __m256i part = _mm256_loadu_si256((const __m256i *)bytes);
    const __m256i next = _mm256_loadu_si256((const __m256i *)(bytes + 1));
    const __m256i comma = _mm256_set1_epi8(',');
    __m256i value = _mm256_sub_epi8(next, _mm256_set1_epi8('0'));
    __m256i digit = _mm256_cmpeq_epi8(_mm256_min_epu8(value, _mm256_set1_epi8(9)), value);
    __m256i joint = _mm256_or_si256(_mm256_cmpeq_epi8(part, comma),
                                    _mm256_cmpeq_epi8(part, _mm256_set1_epi8('.')));
    __m256i spaced = _mm256_and_si256(_mm256_cmpeq_epi8(part, _mm256_set1_epi8(' ')),
                                      _mm256_cmpeq_epi8(next, comma));
    __m256i apostrophe = _mm256_cmpeq_epi8(part, _mm256_set1_epi8('\''));
    /* The highest bit of a byte is all that counts: no ASCII has it. */
    __m256i odd = _mm256_or_si256(_mm256_and_si256(joint, _mm256_or_si256(digit, next)), spaced);
    return (uint32_t)_mm256_movemask_epi8(
        _mm256_or_si256(_mm256_or_si256(odd, apostrophe), part));
}

WITH_AVX2 static int64_t next_odd_avx2(const uint8_t *bytes, int64_t size, int64_t at) {
    uint8_t padded[64] = {0};
    uint32_t odd;
    for (; size - at > 32; at += 32) {
        odd = odd_bits(bytes + at);
        if (odd) return at + count_trailing_zeros(odd);
    }
    memcpy(padded, bytes + at, (size_t)(size - at));
    odd = odd_bits(padded);
    return odd ? at + count_trailing_zeros(odd) : size;
}

WITH_AVX2 static ALWAYS_INLINE __m256i letter_bytes(const uint8_t *bytes) {
    __m256i part = _mm256_or_si256(_mm256_loadu_si256((const __m256i *)bytes),
                                   _mm256_set1_epi8(0x20));
    return _mm256_and_si256(_mm256_cmpgt_epi8(part, _mm256_set1_epi8('a' - 1)),
                            _mm256_cmpgt_epi8(_mm256_set1_epi8('z' + 1), part));
}

/* Letters among 32 bytes and more. */
WITH_AVX2 static int64_t letters_avx2(const uint8_t *bytes, int64_t size) {
    const __m256i none = _mm256_setzero_si256();
    __m256i total = none;
    int64_t at = 0;
    for (; at + 32 <= size; at += 32) {
        __m256i ones = _mm256_sub_epi8(none, letter_bytes(bytes + at));
        total = _mm256_add_epi64(total, _mm256_sad_epu8(ones, none));
    }
    uint64_t rest = (uint32_t)_mm256_movemask_epi8(letter_bytes(bytes + size - 32));
    return _mm256_extract_epi64(total, 0) + _mm256_extract_epi64(total, 1) +
           _mm256_extract_epi64(total, 2) + _mm256_extract_epi64(total, 3) +
           count_ones(rest >> (at - (size - 32)));
}
#endif

static inline int care_of_bytes(const uint8_t *bytes, int64_t size) {
    int kinds = 0, lines = 0, separators = 0;
#if HAS_AVX2_CODE
    if (size >= 32 && runs_avx2()) return care_avx2(bytes, size);
#endif
    for (int64_t i = 0; i < size; i++) {
        kinds |= byte_kinds[bytes[i]];
        lines |= bytes[i] == '\n' || bytes[i] == '\r';
        separators |= bytes[i] == 0xe2;
    }
    return (kinds & BYTE_MARKUP ? CARE_MARKUP : 0) | (lines ? CARE_LINES : 0) |
           (separators ? CARE_SEPARATORS : 0);
}

/* The next byte of no ASCII at or after `at`; `size` when there is none. */
static inline int64_t next_high_byte(const uint8_t *bytes, int64_t size, int64_t at) {
#if HAS_AVX2_CODE
    if (at + 32 <= size && runs_avx2()) at = next_high_avx2(bytes, size, at);
#endif
    for (; at + 8 <= size; at += 8) {
        uint64_t word = load_8_bytes(bytes + at) & 0x8080808080808080u;
        if (word) return at + count_trailing_zeros(word) / 8;
    }
    while (at < size && bytes[at] < 0x80) at++;
    return at;
}

/* What keeps a run of letters and digits from being a word as it stands, at a byte of it or at the
   one behind it: no ASCII, an apostrophe, a number that may go on. */
static inline int is_odd_byte(uint8_t byte, uint8_t next) {
    return byte >= 0x80 || byte == '\'' || (byte == ' ' && next == ',') ||
           ((byte == ',' || byte == '.') && (next >= 0x80 || (uint8_t)(next - '0') < 10));
}

/* The first such byte at or after `at`, where a run begins: an apostrophe before it counts. */
static inline int64_t next_odd_byte(const uint8_t *bytes, int64_t size, int64_t at) {
    if (bytes[at] >= 0x80 || (at > 0 && bytes[at - 1] == '\'')) return at;
#if HAS_AVX2_CODE
    if (runs_avx2()) return next_odd_avx2(bytes, size, at);
#endif
    while (at < size && !is_odd_byte(bytes[at], at + 1 < size ? bytes[at + 1] : 0)) at++;
    return at;
}

/* The next byte of one of some kinds at or after `at`; `size` when there is none. */
static inline int64_t next_of_kinds(const uint8_t *bytes, int64_t size, int64_t at,
                                    uint8_t kinds) {
    while (at < size && !(byte_kinds[bytes[at]] & kinds)) at++;
    return at;
}

/* The same of one kind that is rare. */
static inline int64_t next_markup(const uint8_t *bytes, int64_t size, int64_t at) {
#if HAS_AVX2_CODE
    if (at + 33 <= size && runs_avx2()) at = next_markup_avx2(bytes, size, at);
#endif
    return next_of_kinds(bytes, size, at, BYTE_MARKUP);
}

static inline int64_t next_line_byte(const uint8_t *bytes, int64_t size, int64_t at) {
#if HAS_AVX2_CODE
    if (at + 32 <= size && runs_avx2())
        at = next_avx2(&care_rows, LINE_BIT | SEPARATOR_BIT, bytes, size, at);
#endif
    return next_of_kinds(bytes, size, at, BYTE_LINE);
}

static inline int64_t next_end_byte(const uint8_t *bytes, int64_t size, int64_t at) {
    if (at < size && byte_kinds[bytes[at]] & BYTE_END) return at;
#if HAS_AVX2_CODE
    if (at + 32 <= size && runs_avx2()) at = next_avx2(&end_rows, END_BITS, bytes, size, at);
#endif
    return next_of_kinds(bytes, size, at, BYTE_END);
}

static inline int64_t count_ascii_letters(const uint8_t *bytes, int64_t size) {
    int64_t n_letters = 0;
#if HAS_AVX2_CODE
    if (size >= 32 && runs_avx2()) return letters_avx2(bytes, size);
#endif
    for (int64_t at = 0; at < size; at++) n_letters += (uint8_t)((bytes[at] | 0x20) - 'a') < 26;
    return n_letters;
}

/* Whether the beginning of a text shows that it has at least three words between white space; most
   texts that have them show it. White space that is no ASCII is not looked for. */
static inline int has_three_words(const uint8_t *bytes, int64_t size) {
#if HAS_AVX2_CODE
    if (size >= 32 && runs_avx2()) return count_ones(word_begins_avx2(bytes)) >= 2;
#endif
    (void)bytes, (void)size;
    return 0;
}

#endif
