/* Edit matrices in strips: 63 or 64 cells of a column a step, in memory that grows with
   one side alone. */
#ifndef RAG_EVAL_BIT_STRIPS_H
#define RAG_EVAL_BIT_STRIPS_H

#include "portable.h"

/* A strip is 1 to 8 words of rows, a row for each unit of the one text, from its first unit in the
   lowest bit on. `masks` has that many words for each id: the rows whose unit has the id; `ids` gives
   the id of a unit. The units of the other text are the columns. What leaves a column at its bottom
   is in `flows`, one for each column, where the strip below takes it up again.

   lcs_strip_W: longest common subsequence by Hyyro 2004 ("Bit-parallel LCS-length computation
   revisited"): a zero in `state` for each row where the length goes up by one, in the last column.
   A word has 63 rows: compilers keep the carry of a 64th in more instructions than it saves, 30 % of
   the time. `flows` are carries, 0 at the top.

   edit_strip_W: Levenshtein distance by Myers 1999 in the form of Hyyro 2003: bits of `state` for the
   rows where the distance goes up by one, then as many words for those where it goes down, in the
   last column. A word has 64 rows. `flows` are the steps along the bottom row: bit 0 up, bit 1 down;
   up at the top. */
enum { LCS_ROWS = 63, EDIT_ROWS = 64 };

#define DEFINE_BIT_STRIPS(W)                                                                       \
    static void lcs_strip_##W(const uint64_t *masks, const uint16_t *ids, const uint16_t *units,   \
                              int64_t n, uint8_t *flows, uint64_t *state) {                        \
        const uint64_t all = ~(uint64_t)0 >> 1;                                                    \
        uint64_t s[W];                                                                             \
        for (int w = 0; w < W; w++) s[w] = all;                                                    \
        for (int64_t j = 0; j < n; j++) {                                                          \
            const uint64_t *mask = masks + (int64_t)ids[units[j]] * W;                             \
            uint64_t carry = flows[j];                                                             \
            for (int w = 0; w < W; w++) {                                                          \
                uint64_t both = s[w] & mask[w], sum = s[w] + both + carry;                         \
                carry = sum >> 63;                                                                 \
                s[w] = (sum | (s[w] - both)) & all;                                                \
            }                                                                                      \
            flows[j] = (uint8_t)carry;                                                             \
        }                                                                                          \
        for (int w = 0; w < W; w++) state[w] = s[w];                                               \
    }                                                                                              \
    static void edit_strip_##W(const uint64_t *masks, const uint16_t *ids, const uint16_t *units,  \
                               int64_t n, uint8_t *flows, uint64_t *state) {                       \
        uint64_t ups[W], downs[W];                                                                 \
        for (int w = 0; w < W; w++) ups[w] = ~(uint64_t)0, downs[w] = 0;                           \
        for (int64_t j = 0; j < n; j++) {                                                          \
            const uint64_t *mask = masks + (int64_t)ids[units[j]] * W;                             \
            uint64_t up = flows[j] & 1, down = flows[j] >> 1;                                      \
            for (int w = 0; w < W; w++) {                                                          \
                uint64_t same = mask[w], level = same | downs[w];                                  \
                same |= down;                                                                      \
                uint64_t falls = (((same & ups[w]) + ups[w]) ^ ups[w]) | same;                     \
                uint64_t right_up = downs[w] | ~(falls | ups[w]), right_down = ups[w] & falls;     \
                uint64_t next_up = right_up >> 63, next_down = right_down >> 63;                   \
                right_up = right_up << 1 | up;                                                     \
                right_down = right_down << 1 | down;                                               \
                ups[w] = right_down | ~(level | right_up);                                         \
                downs[w] = right_up & level;                                                       \
                up = next_up;                                                                      \
                down = next_down;                                                                  \
            }                                                                                      \
            flows[j] = (uint8_t)(up | down << 1);                                                  \
        }                                                                                          \
        for (int w = 0; w < W; w++) state[w] = ups[w], state[W + w] = downs[w];                    \
    }

DEFINE_BIT_STRIPS(1)
DEFINE_BIT_STRIPS(2)
DEFINE_BIT_STRIPS(3)
DEFINE_BIT_STRIPS(4)
DEFINE_BIT_STRIPS(5)
DEFINE_BIT_STRIPS(6)
DEFINE_BIT_STRIPS(7)
DEFINE_BIT_STRIPS(8)

typedef void (*bit_strip_t)(const uint64_t *, const uint16_t *, const uint16_t *, int64_t, uint8_t *,
                            uint64_t *);

/* By words; none has 0. */
static const bit_strip_t LCS_STRIPS[] = {
    0, lcs_strip_1, lcs_strip_2, lcs_strip_3, lcs_strip_4,
    lcs_strip_5, lcs_strip_6, lcs_strip_7, lcs_strip_8,
};
static const bit_strip_t EDIT_STRIPS[] = {
    0, edit_strip_1, edit_strip_2, edit_strip_3, edit_strip_4,
    edit_strip_5, edit_strip_6, edit_strip_7, edit_strip_8,
};

#endif
