/* Whether a text is in NFC, told without composing it. */
#ifndef RAG_EVAL_NFC_CHECK_H
#define RAG_EVAL_NFC_CHECK_H

#include "byte_kinds.h"
#include "fold_tables.h"
#include "utf8_points.h"

/* Hangul syllables are composed by arithmetic (Unicode, section 3.12). */
enum {
    HANGUL_FIRST = 0xac00,
    HANGUL_L = 0x1100,
    HANGUL_V = 0x1161,
    HANGUL_T = 0x11a7, /* one before the first final */
    N_HANGUL_L = 19,
    N_HANGUL_V = 21,
    N_HANGUL_T = 28,
    N_HANGUL = N_HANGUL_L * N_HANGUL_V * N_HANGUL_T,
};

/* What two code points compose to, or 0. */
static inline uint32_t composed_pair(uint32_t first, uint32_t second) {
    if (first - HANGUL_L < N_HANGUL_L && second - HANGUL_V < N_HANGUL_V)
        return HANGUL_FIRST + ((first - HANGUL_L) * N_HANGUL_V + second - HANGUL_V) * N_HANGUL_T;
    if (first - HANGUL_FIRST < N_HANGUL && (first - HANGUL_FIRST) % N_HANGUL_T == 0 &&
        second - HANGUL_T - 1 < N_HANGUL_T - 1)
        return first + second - HANGUL_T;
    return canonical_composition(first, second);
}

/* The code point that ends at `end` composes with `second`, or cannot be told without its parts. */
static inline int may_compose(const uint8_t *text, int64_t end, uint32_t second) {
    const uint32_t *parts;
    int64_t at = end - 1;
    int width;
    while (at > 0 && (text[at] & 0xc0) == 0x80) at--;
    uint32_t first = decode_code_point(text, end, at, &width);
    return canonical_decomposition(first, &parts) || composed_pair(first, second);
}

/* What a check has seen of a text: where the last code point of FOLD_NFC_CHECK ends, its combining
   class, and where its run of marks begins, the starter before it. */
typedef struct {
    int64_t past, marks;
    int last;
} nfc_check_t;

/* The quick check of UAX #15, section 9, of a code point with FOLD_NFC_CHECK; text without any, or
   where all pass, one after the other, is in NFC. Where it says "maybe", the pair that may compose
   is looked at: what does not pass is not in NFC, or a composite stands before such a "maybe". */
static inline int stays_composed(nfc_check_t *seen, const uint8_t *text, int64_t at, int64_t past,
                                 uint32_t code_point, uint32_t flags) {
    const uint32_t *parts;
    int last = at == seen->past ? seen->last : 0, here = combining_class(code_point);
    if ((here && here < last) || canonical_decomposition(code_point, &parts)) return 0;
    if (!last) seen->marks = at;
    if (flags & FOLD_COMPOSES && (!last || last < here) && seen->marks &&
        may_compose(text, seen->marks, code_point))
        return 0;
    seen->past = past;
    seen->last = here;
    return 1;
}

/* Whether a whole text passes. */
static inline int is_composed(const uint8_t *text, int64_t size) {
    nfc_check_t seen = {0, 0, 0};
    int64_t at = 0;
    int width;
    while (at < size) {
        if (text[at] < 0x80) {
            at = next_high_byte(text, size, at);
            continue;
        }
        uint32_t code_point = decode_code_point(text, size, at, &width);
        uint32_t flags = fold_flags(code_point);
        if (flags & FOLD_NFC_CHECK &&
            !stays_composed(&seen, text, at, at + width, code_point, flags))
            return 0;
        at += width;
    }
    return 1;
}

#endif
