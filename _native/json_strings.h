/* Strings of JSON, sixteen bytes at a time. */
#ifndef RAG_EVAL_JSON_STRINGS_H
#define RAG_EVAL_JSON_STRINGS_H

#include <stdint.h>
#include <string.h>

#define STEP_BYTES 16
typedef uint8_t byte_vector_t __attribute__((vector_size(STEP_BYTES)));
typedef uint64_t word_vector_t __attribute__((vector_size(STEP_BYTES)));

static inline int is_plain(uint8_t byte) {
    return byte >= 0x20 && byte != '"' && byte != '\\';
}

/* Where the run of bytes at `at` ends that a string of JSON holds as they are: at a quotation mark, a
   backslash, a control character or `end`. */
static inline int64_t plain_end(const uint8_t *bytes, int64_t at, int64_t end) {
    for (; end - at >= STEP_BYTES; at += STEP_BYTES) {
        byte_vector_t part;
        memcpy(&part, bytes + at, sizeof part);
        word_vector_t found =
            (word_vector_t)((part == '"') | (part == '\\') | (part < 0x20));
        if (found[0] | found[1]) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
            return at + (found[0] ? __builtin_ctzll(found[0]) / 8
                                  : 8 + __builtin_ctzll(found[1]) / 8);
#else
            break;
#endif
        }
    }
    while (at < end && is_plain(bytes[at])) at++;
    return at;
}

#endif
