/* Runs of code points of some kinds, and what is learnt of a text on the way. */
#ifndef RAG_EVAL_TEXT_RUNS_H
#define RAG_EVAL_TEXT_RUNS_H

#include "nfc_check.h"

/* Of the code points passed so far: letters that are no ASCII, as fold_class_letters counts them,
   and whether the text passes for NFC. */
typedef struct {
    uint64_t letters;
    nfc_check_t nfc;
    int is_composed;
} seen_t;

/* A code point that is no ASCII; each is passed once, in order. Its flags. */
static ALWAYS_INLINE uint32_t pass_point(seen_t *seen, const uint8_t *text, int64_t at, int width,
                                         uint32_t code_point) {
    uint8_t class_ = fold_class_of(code_point);
    uint32_t flags = fold_class_flags[class_];
    seen->letters += fold_class_letters[class_];
    if (flags & FOLD_NFC_CHECK && seen->is_composed)
        seen->is_composed = stays_composed(&seen->nfc, text, at, at + width, code_point, flags);
    return flags;
}

/* Past the run of code points of some kinds that begins at `at`; `flags` is all that they have.
   Letters and digits of ASCII have no FOLD_CHANGES: they are lower-cased elsewhere. */
static inline int64_t run_end(seen_t *seen, const uint8_t *text, int64_t size, int64_t at,
                              uint32_t kinds, uint32_t *flags) {
    uint64_t letters = 0;
    uint32_t all = 0, here;
    while (at < size) {
        if (text[at] < 0x80) {
            here = FOLD_BARE | (text[at] <= '9' ? FOLD_DIGIT : FOLD_WORD);
            if (!(byte_kinds[text[at]] & BYTE_WORD) || !(here & kinds)) break;
            at++;
        } else {
            int width;
            /* Nearly all have four bytes from their first one on: no more is asked of those. */
            uint32_t code_point = size - at >= 4 ? decode_code_point(text + at, 4, 0, &width)
                                                 : decode_code_point(text, size, at, &width);
            uint8_t class_ = fold_class_of(code_point);
            here = fold_class_flags[class_];
            if (!(here & kinds)) break;
            if (here & FOLD_NFC_CHECK && seen->is_composed)
                seen->is_composed =
                    stays_composed(&seen->nfc, text, at, at + width, code_point, here);
            letters += fold_class_letters[class_];
            at += width;
        }
        all |= here;
    }
    seen->letters += letters;
    *flags = all;
    return at;
}

#endif
