/* Strings of JSON, sixteen bytes at a time. */
#ifndef RAG_EVAL_JSON_STRINGS_H
#define RAG_EVAL_JSON_STRINGS_H

#include "portable.h"

static inline int is_plain(uint8_t byte) {
    return byte >= 0x20 && byte != '"' && byte != '\\';
}

/* Where the run of bytes at `at` ends that a string of JSON holds as they are: at a quotation mark, a
   backslash, a control character or `end`. */
static inline int64_t plain_end(const uint8_t *bytes, int64_t at, int64_t end) {
#if HAS_GNU_C
    for (; end - at >= 16; at += 16) {
        sixteen_bytes_t part;
        memcpy(&part, bytes + at, sizeof part);
        two_words_t found = (two_words_t)((part == '"') | (part == '\\') | (part < 0x20));
        if (found[0]) return at + count_trailing_zeros(found[0]) / 8;
        if (found[1]) return at + 8 + count_trailing_zeros(found[1]) / 8;
    }
#endif
    while (at < end && is_plain(bytes[at])) at++;
    return at;
}

#endif
