/* Sixty-four bytes of text at a time: ASCII lower-cased, and where tokens begin and end.

   The separators are the ASCII part of the tokenizer's class: white space (tab to carriage return,
   space) and ! " # % & ' ( ) * , - . / : ; ? @ [ \ ] _ { }.  */
#ifndef RAG_EVAL_BYTE_BLOCKS_H
#define RAG_EVAL_BYTE_BLOCKS_H

#include <stdint.h>
#include <string.h>

#define BLOCK_BYTES 64
#define BLOCK_EDGES (BLOCK_BYTES + 8) /* room that a block may write to */

/* Lower-cases 64 ASCII bytes into `lowered` and writes the edges among them: places, counted from
   `base`, where a byte of a token follows one of none or the other way round. `*inside` says whether
   the byte before was of a token, and is set for the byte after. Returns the number of edges, or -1
   when a byte is not ASCII: then nothing counts as written. */
typedef int (*block_cutter_t)(
    const uint8_t *bytes, uint8_t *lowered, int64_t base, uint64_t *inside, int64_t *edges);

/* Bit b of row h: the ASCII byte (h << 4 | b) separates. */
static const uint16_t ascii_separator_rows[8] = {
    0x3e00, 0x0000, 0xf7ef, 0x8c00, 0x0001, 0xb800, 0x0000, 0x2800,
};

/* Eight places a round, wanted or not: how many there are cannot be guessed, so a loop that stopped
   at each would be mispredicted in every block. */
static inline __attribute__((always_inline)) int write_edges(
    uint64_t separators, int64_t base, uint64_t *inside, int64_t *edges) {
    uint64_t tokens = ~separators;
    uint64_t marks = tokens ^ (tokens << 1 | *inside);
    int n_edges = __builtin_popcountll(marks);
    *inside = tokens >> 63;
    for (int written = 0; written < n_edges; written += 8) {
        for (int i = 0; i < 8; i++) {
            /* The bit set on top keeps a place defined when none is left. */
            edges[written + i] = base + __builtin_ctzll(marks | (uint64_t)1 << 63);
            marks &= marks - 1;
        }
    }
    return n_edges;
}

static int cut_block_portable(
    const uint8_t *bytes, uint8_t *lowered, int64_t base, uint64_t *inside, int64_t *edges) {
    uint64_t separators = 0;
    uint8_t all = 0;
    for (int i = 0; i < BLOCK_BYTES; i++) {
        uint8_t byte = bytes[i];
        all |= byte;
        lowered[i] = byte + ((uint8_t)(byte - 'A') < 26 ? 32 : 0);
        separators |= (uint64_t)((ascii_separator_rows[(byte >> 4) & 7] >> (byte & 15)) & 1) << i;
    }
    return all < 0x80 ? write_edges(separators, base, inside, edges) : -1;
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

/* A byte separates when the bit of its high nibble is set in the row of its low nibble: the
   transpose of ascii_separator_rows, looked up sixteen bytes an instruction. */
__attribute__((target("avx2,bmi,bmi2,popcnt"))) static int cut_block_avx2(
    const uint8_t *bytes, uint8_t *lowered, int64_t base, uint64_t *inside, int64_t *edges) {
    const __m256i low_rows = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0x14, 0x04, 0x04, 0x04, 0x00, 0x04, 0x04, 0x04,
        0x04, 0x05, 0x0d, (char)0xa9, 0x25, (char)0xa5, 0x04, 0x2c));
    const __m256i high_bits = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        1, 2, 4, 8, 16, 32, 64, (char)128, 0, 0, 0, 0, 0, 0, 0, 0));
    const __m256i nibble = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
    const __m256i before_a = _mm256_set1_epi8('A' - 1), after_z = _mm256_set1_epi8('Z' + 1);
    const __m256i to_lower = _mm256_set1_epi8(32);
    uint32_t mask[2];
    __m256i part[2] = {
        _mm256_loadu_si256((const __m256i *)bytes),
        _mm256_loadu_si256((const __m256i *)(bytes + 32)),
    };
    if (_mm256_movemask_epi8(_mm256_or_si256(part[0], part[1]))) return -1;
    for (int i = 0; i < 2; i++) {
        __m256i low = _mm256_shuffle_epi8(low_rows, part[i]);
        __m256i high = _mm256_and_si256(_mm256_srli_epi16(part[i], 4), nibble);
        __m256i hit = _mm256_and_si256(low, _mm256_shuffle_epi8(high_bits, high));
        __m256i upper = _mm256_and_si256(
            _mm256_cmpgt_epi8(part[i], before_a), _mm256_cmpgt_epi8(after_z, part[i]));
        mask[i] = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(hit, zero));
        _mm256_storeu_si256((__m256i *)(lowered + 32 * i),
                            _mm256_or_si256(part[i], _mm256_and_si256(upper, to_lower)));
    }
    return write_edges((uint64_t)mask[1] << 32 | mask[0], base, inside, edges);
}
#endif

/* The fastest cutter this processor runs; all of them give the same bits. */
static inline block_cutter_t best_block_cutter(void) {
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) return cut_block_avx2;
#endif
    return cut_block_portable;
}

#endif
