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

/* Passes over a code point that is in no run; returns its width. Each is passed once, in order. */
static inline int pass_point(seen_t *seen, const uint8_t *text, int64_t size, int64_t at) {
    int width;
    uint32_t code_point = decode_code_point(text, size, at, &width);
    uint8_t class_ = fold_class_of(code_point);
    uint32_t flags = fold_points.flags[class_];
    seen->letters += fold_points.letters[class_];
    if (flags & FOLD_NFC_CHECK && seen->is_composed)
        seen->is_composed = stays_composed(&seen->nfc, text, at, at + width, code_point, flags);
    return width;
}

/* Whether a text stays composed with a code point of FOLD_NFC_CHECK in a word. */
static NEVER_INLINE int still_composed(nfc_check_t *nfc, const uint8_t *text, int64_t size,
                                       int64_t at, uint32_t flags) {
    int width;
    uint32_t code_point = decode_code_point(text, size, at, &width);
    return stays_composed(nfc, text, at, at + width, code_point, flags);
}

/* What a run is made of, by its first code point: a word, letters of a script without spaces, or
   numerals; 0 for none of these. */
static ALWAYS_INLINE uint32_t kinds_of_run(uint32_t first) {
    if (first & (FOLD_WORD | FOLD_DIGIT))
        return FOLD_WORD | FOLD_DIGIT | FOLD_MARK | FOLD_IGNORED;
    if (first & FOLD_GLUED) return FOLD_GLUED | FOLD_MARK | FOLD_IGNORED;
    return first & FOLD_NUMERAL;
}

static ALWAYS_INLINE uint32_t ascii_word_flags(uint8_t byte) {
    if (!(byte_kinds[byte] & BYTE_WORD)) return 0;
    return FOLD_BARE | (byte <= '9' ? FOLD_DIGIT : FOLD_WORD);
}

/* Past the run that begins at `at`, which is below `size`; `at` itself where none begins, and then
   `kinds` is 0 and `flags` is not written. Else `kinds` is what the run is made of, and `flags` all
   that its code points have. Letters and digits of ASCII have no FOLD_CHANGES: they are lower-cased
   elsewhere. */
static inline int64_t run_end(seen_t *seen, const uint8_t *text, int64_t size, int64_t at,
                              uint32_t *kinds, uint32_t *flags) {
    uint64_t letters = 0;
    uint32_t all, here, stops;
    int64_t width = 1;
    uint8_t class_;
    if (text[at] < 0x80) {
        all = ascii_word_flags(text[at]);
    } else {
        class_ = class_at(text, size, at, &width);
        all = fold_points.flags[class_];
        letters = fold_points.letters[class_];
    }
    *kinds = kinds_of_run(all);
    if (!*kinds) return at;
    if (all & FOLD_NFC_CHECK && seen->is_composed)
        seen->is_composed = still_composed(&seen->nfc, text, size, at, all);
    /* One test of what stops a run, or has to be looked at. */
    stops = (FOLD_KINDS & ~*kinds) | FOLD_NFC_CHECK;
    for (at += width; at < size; at += width) {
        if (UNLIKELY(text[at] < 0x80)) {
            here = ascii_word_flags(text[at]);
            if (!(here & *kinds)) break;
            all |= here;
            width = 1;
            continue;
        }
        class_ = class_at(text, size, at, &width);
        here = fold_points.flags[class_];
        if (UNLIKELY(here & stops)) {
            if (!(here & *kinds)) break;
            if (seen->is_composed)
                seen->is_composed = still_composed(&seen->nfc, text, size, at, here);
        }
        letters += fold_points.letters[class_];
        all |= here;
    }
    seen->letters += letters;
    seen->flags |= all;
    *flags = all;
    return at;
}

#endif
