/* Runs of code points of some kinds, and what is learnt of a text on the way. */
#ifndef RAG_EVAL_TEXT_RUNS_H
#define RAG_EVAL_TEXT_RUNS_H

#include "nfc_check.h"
#include "point_flags.h"

#define FOLD_KINDS                                                                      \
    (FOLD_WORD | FOLD_GLUED | FOLD_MARK | FOLD_DIGIT | FOLD_NUMERAL | FOLD_IGNORED | FOLD_OTHER)

/* Of the code points passed so far: letters that are no ASCII, as fold_points counts them, all flags
   of words, and whether the text passes for NFC. */
typedef struct {
    uint64_t letters;
    nfc_check_t nfc;
    uint32_t flags;
    int is_composed;
} seen_t;

/* Past a code point that is no word; each is passed once, in order. */
static inline void pass_point(seen_t *seen, const uint8_t *text, int64_t size, int64_t at) {
    int width;
    uint32_t code_point = decode_code_point(text, size, at, &width);
    uint8_t class_ = fold_class_of(code_point);
    uint32_t flags = fold_points.flags[class_];
    seen->letters += fold_points.letters[class_];
    if (flags & FOLD_NFC_CHECK && seen->is_composed)
        seen->is_composed = stays_composed(&seen->nfc, text, at, at + width, code_point, flags);
}

/* Whether a text stays composed with a code point of FOLD_NFC_CHECK in a word. */
static NEVER_INLINE int still_composed(nfc_check_t *nfc, const uint8_t *text, int64_t size,
                                       int64_t at, uint32_t flags) {
    int width;
    uint32_t code_point = decode_code_point(text, size, at, &width);
    return stays_composed(nfc, text, at, at + width, code_point, flags);
}

/* Past the run of code points of some kinds that begins at `at`; `flags` is all that they have.
   Letters and digits of ASCII have no FOLD_CHANGES: they are lower-cased elsewhere. */
static inline int64_t run_end(seen_t *seen, const uint8_t *text, int64_t size, int64_t at,
                              uint32_t kinds, uint32_t *flags) {
    /* One test of what stops a run, or has to be looked at. */
    const uint32_t stops = (FOLD_KINDS & ~kinds) | FOLD_NFC_CHECK;
    const int64_t last_of_three = size - 3;
    uint64_t letters = 0;
    uint32_t all = 0, here;
    while (at < size) {
        if (text[at] < 0x80) {
            here = FOLD_BARE | (text[at] <= '9' ? FOLD_DIGIT : FOLD_WORD);
            if (!(byte_kinds[text[at]] & BYTE_WORD) || !(here & kinds)) break;
            all |= here;
            at++;
            continue;
        }
        int64_t width;
        uint8_t class_;
        if (text[at] < 0xf0 && at <= last_of_three) {
            class_ = fold_class_at(text + at, &width);
        } else {
            uint32_t found = decoded_class(text, size, at);
            class_ = (uint8_t)found;
            width = found >> 8;
        }
        here = fold_points.flags[class_];
        if (here & stops) {
            if (!(here & kinds)) break;
            if (seen->is_composed)
                seen->is_composed = still_composed(&seen->nfc, text, size, at, here);
        }
        letters += fold_points.letters[class_];
        all |= here;
        at += width;
    }
    seen->letters += letters;
    seen->flags |= all;
    *flags = all;
    return at;
}

#endif
