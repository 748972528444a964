/* Units of a Python string, of one, two or four bytes each -> UTF-8. */
#ifndef RAG_EVAL_STRING_UNITS_H
#define RAG_EVAL_STRING_UNITS_H

#include "portable.h"
#include "utf8_points.h"

/* narrow_16_N: writes the lower byte of 16 units; returns a bit for each unit from 0x80 on. */
#if HAS_GNU_C && defined(__x86_64__)
#include <emmintrin.h>

static ALWAYS_INLINE __m128i load_units(const void *units) {
    return _mm_loadu_si128((const __m128i *)units);
}

static ALWAYS_INLINE uint32_t narrow_16_1(const uint8_t *units, uint8_t *out) {
    __m128i bytes = load_units(units);
    _mm_storeu_si128((__m128i *)out, bytes);
    return (uint32_t)_mm_movemask_epi8(bytes);
}

static ALWAYS_INLINE uint32_t narrow_16_2(const uint16_t *units, uint8_t *out) {
    __m128i low = load_units(units), high = load_units(units + 8);
    __m128i rest = _mm_packus_epi16(_mm_srli_epi16(low, 7), _mm_srli_epi16(high, 7));
    _mm_storeu_si128((__m128i *)out, _mm_packus_epi16(low, high));
    return 0xffff ^ (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(rest, _mm_setzero_si128()));
}

static ALWAYS_INLINE uint32_t narrow_16_4(const uint32_t *units, uint8_t *out) {
    /* No code point has more than 21 bits: a signed pack keeps apart what is below 0x80. */
    __m128i low = _mm_packs_epi32(load_units(units), load_units(units + 4));
    __m128i high = _mm_packs_epi32(load_units(units + 8), load_units(units + 12));
    __m128i rest = _mm_packus_epi16(_mm_srli_epi16(low, 7), _mm_srli_epi16(high, 7));
    _mm_storeu_si128((__m128i *)out, _mm_packus_epi16(low, high));
    return 0xffff ^ (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(rest, _mm_setzero_si128()));
}
#define DEFINE_NARROW(width, unit_t)
#else
#define DEFINE_NARROW(width, unit_t)                                                    \
    static inline uint32_t narrow_16_##width(const unit_t *units, uint8_t *out) {       \
        uint32_t rest = 0;                                                              \
        for (int i = 0; i < 16; i++) {                                                  \
            out[i] = (uint8_t)units[i];                                                 \
            rest |= (uint32_t)(units[i] >= 0x80) << i;                                  \
        }                                                                               \
        return rest;                                                                    \
    }
#endif

/* encode_N: writes units as UTF-8, into room for the most that they can take; how many bytes they
   take. A high surrogate and a low one after it are one code point. */
#define DEFINE_ENCODE(width, unit_t)                                                    \
    DEFINE_NARROW(width, unit_t)                                                        \
    static int64_t encode_##width(const void *data, int64_t n, uint8_t *out) {          \
        const unit_t *units = (const unit_t *)data;                                     \
        uint8_t *at = out;                                                              \
        int64_t i = 0;                                                                  \
        while (i < n) {                                                                 \
            if (i + 16 <= n) {                                                          \
                uint32_t rest = narrow_16_##width(units + i, at);                       \
                int n_ascii = rest ? count_trailing_zeros(rest) : 16;                   \
                i += n_ascii;                                                           \
                at += n_ascii;                                                          \
            } else {                                                                    \
                while (i < n && units[i] < 0x80) *at++ = (uint8_t)units[i++];           \
            }                                                                           \
            while (i < n && units[i] >= 0x80) {                                         \
                uint32_t point = units[i++];                                            \
                if ((point & 0xfffffc00) == 0xd800 && i < n &&                          \
                    (units[i] & 0xfffffc00) == 0xdc00)                                  \
                    point = 0x10000 + ((point - 0xd800) << 10) + (units[i++] - 0xdc00); \
                at += encode_code_point(point, at);                                     \
            }                                                                           \
        }                                                                               \
        return at - out;                                                                \
    }

DEFINE_ENCODE(1, uint8_t)
DEFINE_ENCODE(2, uint16_t)
DEFINE_ENCODE(4, uint32_t)

#endif
