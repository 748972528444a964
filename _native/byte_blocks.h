/* Sixty-four bytes of text at a time: ASCII lower-cased, and where tokens begin and end.

   Two kinds of tokens: of the overlap profile, whose separators are white space (tab to carriage
   return, space) and ! " # % & ' ( ) * , - . / : ; ? @ [ \ ] _ { }; and runs, of letters, digits and
   whatever is no ASCII. A cutter of runs cuts all bytes, the other the leading ASCII.  */
#ifndef RAG_EVAL_BYTE_BLOCKS_H
#define RAG_EVAL_BYTE_BLOCKS_H

#include "portable.h"

#define BLOCK_BYTES 64
#define BLOCK_EDGES (BLOCK_BYTES + 4) /* room that a block may write to */

/* Cuts the first `n_bytes` of 64, or the leading ASCII among them: lower-cases them into `lowered` and
   writes the edges among them, places counted from `base` where a byte of a token follows one of none
   or the other way round. `*inside` says whether the byte before was of a token, and is set for the
   last one cut. `*n_cut` is how many bytes that were; returns the number of edges. All 64 bytes are
   read, and 64 are written. */
typedef int (*block_cutter_t)(const uint8_t *bytes, int n_bytes, uint8_t *lowered, int64_t base,
                              uint64_t *inside, int64_t *edges, int *n_cut);

/* Bit b of row h: the ASCII byte (h << 4 | b) separates. */
static const uint16_t token_separator_rows[8] = {
    0x3e00, 0x0000, 0xf7ef, 0x8c00, 0x0001, 0xb800, 0x0000, 0x2800,
};
static const uint16_t run_separator_rows[8] = {
    0xffff, 0xffff, 0xffff, 0xfc00, 0x0001, 0xf800, 0x0001, 0xf800,
};

/* The places of set bits, in turn. Nearly all blocks of prose have no more than the first twenty; and
   they are written wanted or not: how many there are cannot be guessed, so a loop that stopped at each
   would be mispredicted in every block. `lowest` is the place of the lowest bit, whatever it is where
   there is none. */
#define FIRST_EDGES 20
#define WRITE_4(at, lowest)                                                                        \
    for (int i = 0; i < 4; i++) {                                                                  \
        edges[(at) + i] = base + (int64_t)lowest(marks);                                           \
        marks &= marks - 1;                                                                        \
    }
#define WRITE_PLACES(lowest)                                                                       \
    WRITE_4(0, lowest) WRITE_4(4, lowest) WRITE_4(8, lowest) WRITE_4(12, lowest)                   \
    WRITE_4(16, lowest)                                                                            \
    for (int written = FIRST_EDGES; written < n_edges; written += 4) {                             \
        WRITE_4(written, lowest)                                                                   \
    }

/* The bit set on top keeps a place defined when none is left. */
#define LOWEST_PORTABLE(marks) count_trailing_zeros((marks) | (uint64_t)1 << 63)

static ALWAYS_INLINE uint64_t edge_marks(uint64_t separators, int n_cut, uint64_t *inside) {
    uint64_t tokens = ~separators;
    uint64_t marks = (tokens ^ (tokens << 1 | *inside)) & (~(uint64_t)0 >> (64 - n_cut));
    *inside = tokens >> (n_cut - 1) & 1;
    return marks;
}

static ALWAYS_INLINE int write_edges(
    uint64_t separators, int n_cut, int64_t base, uint64_t *inside, int64_t *edges) {
    uint64_t marks = edge_marks(separators, n_cut, inside);
    int n_edges = count_ones(marks);
    WRITE_PLACES(LOWEST_PORTABLE)
    return n_edges;
}

static ALWAYS_INLINE int leading_ascii(uint64_t not_ascii, int n_bytes) {
    int n_ascii = not_ascii ? count_trailing_zeros(not_ascii) : BLOCK_BYTES;
    return n_ascii < n_bytes ? n_ascii : n_bytes;
}

static ALWAYS_INLINE int cut_portable(
    const uint16_t *separator_rows, int all_bytes, const uint8_t *bytes, int n_bytes,
    uint8_t *lowered, int64_t base, uint64_t *inside, int64_t *edges, int *n_cut) {
    uint64_t separators = 0, not_ascii = 0;
    for (int i = 0; i < BLOCK_BYTES; i++) {
        uint8_t byte = bytes[i];
        not_ascii |= (uint64_t)(byte >> 7) << i;
        lowered[i] = byte + ((uint8_t)(byte - 'A') < 26 ? 32 : 0);
        separators |= (uint64_t)((separator_rows[(byte >> 4) & 7] >> (byte & 15)) & 1) << i;
    }
    *n_cut = all_bytes ? n_bytes : leading_ascii(not_ascii, n_bytes);
    return *n_cut ? write_edges(separators & ~not_ascii, *n_cut, base, inside, edges) : 0;
}

static inline int cut_block_portable(const uint8_t *bytes, int n_bytes, uint8_t *lowered, int64_t base,
                              uint64_t *inside, int64_t *edges, int *n_cut) {
    return cut_portable(token_separator_rows, 0, bytes, n_bytes, lowered, base, inside, edges, n_cut);
}

static inline int cut_runs_portable(const uint8_t *bytes, int n_bytes, uint8_t *lowered, int64_t base,
                              uint64_t *inside, int64_t *edges, int *n_cut) {
    return cut_portable(run_separator_rows, 1, bytes, n_bytes, lowered, base, inside, edges, n_cut);
}

#if HAS_AVX2_CODE
/* A byte separates when the bit of its high nibble is set in the row of its low nibble: the
   transpose of the rows above, looked up sixteen bytes an instruction. The row of a byte that is no
   ASCII is read as 0. */
WITH_AVX2 static ALWAYS_INLINE int cut_avx2(
    __m128i rows, int all_bytes, const uint8_t *bytes, int n_bytes, uint8_t *lowered,
    int64_t base, uint64_t *inside, int64_t *edges, int *n_cut) {
    const __m256i low_rows = _mm256_broadcastsi128_si256(rows);
    const __m256i high_bits = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        1, 2, 4, 8, 16, 32, 64, (char)128, 0, 0, 0, 0, 0, 0, 0, 0));
    const __m256i nibble = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
    const __m256i before_a = _mm256_set1_epi8('A' - 1), after_z = _mm256_set1_epi8('Z' + 1);
    const __m256i to_lower = _mm256_set1_epi8(32);
    uint32_t separators[2], not_ascii[2];
    for (int i = 0; i < 2; i++) {
        __m256i part = _mm256_loadu_si256((const __m256i *)(bytes + 32 * i));
        __m256i low = _mm256_shuffle_epi8(low_rows, part);
        __m256i high = _mm256_and_si256(_mm256_srli_epi16(part, 4), nibble);
        __m256i hit = _mm256_and_si256(low, _mm256_shuffle_epi8(high_bits, high));
        __m256i upper = _mm256_and_si256(
            _mm256_cmpgt_epi8(part, before_a), _mm256_cmpgt_epi8(after_z, part));
        not_ascii[i] = (uint32_t)_mm256_movemask_epi8(part);
        separators[i] = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(hit, zero));
        _mm256_storeu_si256((__m256i *)(lowered + 32 * i),
                            _mm256_or_si256(part, _mm256_and_si256(upper, to_lower)));
    }
    *n_cut = all_bytes ? n_bytes
                       : leading_ascii((uint64_t)not_ascii[1] << 32 | not_ascii[0], n_bytes);
    if (*n_cut == 0) return 0;
    uint64_t marks =
        edge_marks((uint64_t)separators[1] << 32 | separators[0], *n_cut, inside);
    int n_edges = count_ones(marks);
    WRITE_PLACES(_tzcnt_u64)
    return n_edges;
}

WITH_AVX2 static inline int cut_block_avx2(const uint8_t *bytes, int n_bytes, uint8_t *lowered,
                                    int64_t base, uint64_t *inside, int64_t *edges, int *n_cut) {
    const __m128i rows = _mm_setr_epi8(0x14, 0x04, 0x04, 0x04, 0x00, 0x04, 0x04, 0x04, 0x04, 0x05,
                                       0x0d, (char)0xa9, 0x25, (char)0xa5, 0x04, 0x2c);
    return cut_avx2(rows, 0, bytes, n_bytes, lowered, base, inside, edges, n_cut);
}

WITH_AVX2 static inline int cut_runs_avx2(const uint8_t *bytes, int n_bytes, uint8_t *lowered,
                                    int64_t base, uint64_t *inside, int64_t *edges, int *n_cut) {
    const __m128i rows = _mm_setr_epi8(
        0x57, 0x07, 0x07, 0x07, 0x07, 0x07, 0x07, 0x07, 0x07, 0x07, 0x0f, (char)0xaf, (char)0xaf,
        (char)0xaf, (char)0xaf, (char)0xaf);
    return cut_avx2(rows, 1, bytes, n_bytes, lowered, base, inside, edges, n_cut);
}
#endif

/* The fastest cutters this processor runs; all of a kind give the same bits. */
#if HAS_AVX2_CODE
#define best_block_cutter() (runs_avx2() ? cut_block_avx2 : cut_block_portable)
#define best_run_cutter() (runs_avx2() ? cut_runs_avx2 : cut_runs_portable)
#else
#define best_block_cutter() cut_block_portable
#define best_run_cutter() cut_runs_portable
#endif

#endif
