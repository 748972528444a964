/* Units of a Python string (one, two or four bytes each) -> UTF-8, the parts worth vectorising. */
#ifndef RAG_EVAL_STRING_UNITS_H
#define RAG_EVAL_STRING_UNITS_H

#include <stdint.h>

/* utf8_size_N: bytes that `n` units take in UTF-8, a surrogate pair counted as two times three;
   `*surrogates` is set when there may be a pair.
   copy_ascii_N: copies units below 0x80 as bytes, eight at a time while all are; how many it copied.
   Plain loops without early exits, which the compiler vectorises. */
#define DEFINE_STRING_UNITS(width, unit_t)                                              \
    static inline int64_t utf8_size_##width(const void *data, int64_t n, int *surrogates) { \
        const unit_t *units = (const unit_t *)data;                                     \
        int64_t size = n, found = 0;                                                    \
        for (int64_t i = 0; i < n; i++) {                                               \
            uint32_t unit = units[i];                                                   \
            size += (unit >= 0x80) + (unit >= 0x800) + (unit >= 0x10000);               \
            found += (unit & 0xfffff800) == 0xd800;                                     \
        }                                                                               \
        *surrogates = found > 1;                                                        \
        return size;                                                                    \
    }                                                                                   \
    static inline int64_t copy_ascii_##width(const void *data, int64_t n, uint8_t *out) { \
        const unit_t *units = (const unit_t *)data;                                     \
        int64_t i = 0;                                                                  \
        for (; i + 8 <= n; i += 8) {                                                    \
            uint32_t all = 0;                                                           \
            for (int j = 0; j < 8; j++) all |= units[i + j];                            \
            if (all >= 0x80) break;                                                     \
            for (int j = 0; j < 8; j++) out[i + j] = (uint8_t)units[i + j];             \
        }                                                                               \
        for (; i < n && units[i] < 0x80; i++) out[i] = (uint8_t)units[i];               \
        return i;                                                                       \
    }

DEFINE_STRING_UNITS(1, uint8_t)
DEFINE_STRING_UNITS(2, uint16_t)
DEFINE_STRING_UNITS(4, uint32_t)

#endif
