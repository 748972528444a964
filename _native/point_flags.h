/* What a code point is, from its bytes. */
#ifndef RAG_EVAL_POINT_FLAGS_H
#define RAG_EVAL_POINT_FLAGS_H

#include "fold_tables.h"
#include "utf8_points.h"

/* The class of any code point, and 256 times its width. */
static NEVER_INLINE uint32_t decoded_class(const uint8_t *text, int64_t size, int64_t at) {
    int width;
    uint32_t code_point = decode_code_point(text, size, at, &width);
    return fold_class_of(code_point) | (uint32_t)width << 8;
}

/* The class of a code point that is no ASCII, and its width. */
static ALWAYS_INLINE uint8_t class_at(const uint8_t *text, int64_t size, int64_t at,
                                      int64_t *width) {
    uint32_t found;
    if (UNLIKELY(text[at] >= 0xf0 || at > size - 3)) {
        found = decoded_class(text, size, at);
        *width = found >> 8;
        return (uint8_t)found;
    }
    return fold_class_at(text + at, width);
}

/* The flags of any code point, and its width. */
static ALWAYS_INLINE uint32_t flags_at(const uint8_t *text, int64_t size, int64_t at,
                                       int64_t *width) {
    *width = 1;
    if (text[at] < 0x80) return fold_points.flags[fold_points.classes[text[at]]];
    return fold_points.flags[class_at(text, size, at, width)];
}

#endif
