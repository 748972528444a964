/* UTF-8 <-> code points. */
#ifndef RAG_EVAL_UTF8_POINTS_H
#define RAG_EVAL_UTF8_POINTS_H

#include "portable.h"

/* Code point at byte `at`; lone surrogates decode as themselves. A broken sequence, which checked
   columns never hold, counts as one byte of U+FFFD. */
static ALWAYS_INLINE uint32_t decode_code_point(const uint8_t *text, int64_t size, int64_t at,
                                                int *width) {
    uint32_t lead = text[at];
    int64_t left = size - at;
    *width = 1;
    if (lead < 0x80) return lead;
    if (lead < 0xe0) {
        if (lead >= 0xc2 && left >= 2) {
            *width = 2;
            return (lead & 0x1f) << 6 | (text[at + 1] & 0x3f);
        }
    } else if (lead < 0xf0) {
        if (left >= 3) {
            *width = 3;
            return (lead & 0x0f) << 12 | (uint32_t)(text[at + 1] & 0x3f) << 6 |
                   (text[at + 2] & 0x3f);
        }
    } else if (lead < 0xf5 && left >= 4) {
        *width = 4;
        lead = (lead & 0x07) << 18 | (uint32_t)(text[at + 1] & 0x3f) << 12 |
               (uint32_t)(text[at + 2] & 0x3f) << 6 | (text[at + 3] & 0x3f);
        return lead < 0x110000 ? lead : 0xfffd;
    }
    return 0xfffd;
}

/* Writes a code point as UTF-8; its width in bytes. */
static ALWAYS_INLINE int encode_code_point(uint32_t code_point, uint8_t *out) {
    if (code_point < 0x80) {
        out[0] = (uint8_t)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        out[0] = (uint8_t)(0xc0 | code_point >> 6);
        out[1] = (uint8_t)(0x80 | (code_point & 0x3f));
        return 2;
    }
    if (code_point < 0x10000) {
        out[0] = (uint8_t)(0xe0 | code_point >> 12);
        out[1] = (uint8_t)(0x80 | (code_point >> 6 & 0x3f));
        out[2] = (uint8_t)(0x80 | (code_point & 0x3f));
        return 3;
    }
    out[0] = (uint8_t)(0xf0 | code_point >> 18);
    out[1] = (uint8_t)(0x80 | (code_point >> 12 & 0x3f));
    out[2] = (uint8_t)(0x80 | (code_point >> 6 & 0x3f));
    out[3] = (uint8_t)(0x80 | (code_point & 0x3f));
    return 4;
}

#endif
