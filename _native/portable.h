/* What compilers and processors differ in. All other C here is C11 on a little-endian machine with
   64-bit words: RAG_EVAL_PLAIN_C takes every fallback below, and `make checked` tests that build. */
#ifndef RAG_EVAL_PORTABLE_H
#define RAG_EVAL_PORTABLE_H

#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "rag_eval reads texts in words of eight bytes, the first byte lowest"
#endif

/* GNU C, which clang speaks too: vectors, 128-bit integers and functions for single instructions. */
#if defined(__GNUC__) && defined(__SIZEOF_INT128__) && !defined(RAG_EVAL_PLAIN_C)
#define HAS_GNU_C 1
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define NEVER_INLINE __attribute__((noinline, unused))
/* A condition that seldom holds: the code for it is laid out apart. */
#define UNLIKELY(what) __builtin_expect(!!(what), 0)
#else
#define HAS_GNU_C 0
#define ALWAYS_INLINE inline
#define UNLIKELY(what) (what)
#ifdef _MSC_VER
#define NEVER_INLINE __declspec(noinline)
#else
#define NEVER_INLINE inline
#endif
#endif

/* Code for AVX2 is compiled for any x86-64 and runs where the processor has it. */
#if HAS_GNU_C && defined(__x86_64__)
#define HAS_AVX2_CODE 1
#define WITH_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt")))
#include <immintrin.h>
static inline int runs_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
}
#else
#define HAS_AVX2_CODE 0
#endif

static ALWAYS_INLINE int count_ones(uint64_t word) {
#if HAS_GNU_C
    return __builtin_popcountll(word);
#else
    word -= word >> 1 & 0x5555555555555555u;
    word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
    word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (int)(word * 0x0101010101010101u >> 56);
#endif
}

/* Of a word that is not 0. */
static ALWAYS_INLINE int count_trailing_zeros(uint64_t word) {
#if HAS_GNU_C
    return __builtin_ctzll(word);
#else
    return count_ones(~word & (word - 1));
#endif
}

/* The lower half of the product; the upper one goes into `upper`. */
static ALWAYS_INLINE uint64_t multiply_wide(uint64_t left, uint64_t right, uint64_t *upper) {
#if HAS_GNU_C
    unsigned __int128 product = (unsigned __int128)left * right;
    *upper = (uint64_t)(product >> 64);
    return (uint64_t)product;
#else
    uint64_t low = (left & 0xffffffffu) * (right & 0xffffffffu);
    uint64_t middle = (left >> 32) * (right & 0xffffffffu) + (low >> 32);
    uint64_t other = (left & 0xffffffffu) * (right >> 32) + (middle & 0xffffffffu);
    *upper = (left >> 32) * (right >> 32) + (middle >> 32) + (other >> 32);
    return other << 32 | (low & 0xffffffffu);
#endif
}

/* Upper half xor lower half of the product: every input bit reaches every output bit. Without such
   mixing, plain FNV keys made the same pass three times slower. */
static ALWAYS_INLINE uint64_t folded_product(uint64_t left, uint64_t right) {
#if HAS_GNU_C && defined(__x86_64__)
    /* gcc sends both halves of a 128-bit product through memory. */
    uint64_t lower = left, upper;
    __asm__("mulq %2" : "+a"(lower), "=d"(upper) : "rm"(right) : "cc");
    return lower ^ upper;
#elif HAS_GNU_C
    unsigned __int128 product = (unsigned __int128)left * right;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t upper, lower = multiply_wide(left, right, &upper);
    return lower ^ upper;
#endif
}

static ALWAYS_INLINE uint64_t load_8_bytes(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, 8);
    return word;
}

/* Writes two numbers side by side, to both of which the same is added. */
static ALWAYS_INLINE void put_pair(int64_t *out, const int64_t *pair, int64_t added) {
#if HAS_GNU_C
    typedef int64_t pair_t __attribute__((vector_size(16)));
    pair_t sums;
    memcpy(&sums, pair, sizeof(sums));
    sums += (pair_t){added, added};
    memcpy(out, &sums, sizeof(sums));
#else
    out[0] = pair[0] + added;
    out[1] = pair[1] + added;
#endif
}

/* Has memory fetched before it is read. */
static ALWAYS_INLINE void prefetch(const void *address) {
#if HAS_GNU_C
    __builtin_prefetch(address);
#else
    (void)address;
#endif
}

/* A byte that another thread sets: each call reads memory. */
static inline int is_set(const uint8_t *flag) {
#if HAS_GNU_C
    return __atomic_load_n(flag, __ATOMIC_RELAXED);
#else
    return *(const volatile uint8_t *)flag;
#endif
}

#if HAS_GNU_C
typedef uint8_t sixteen_bytes_t __attribute__((vector_size(16)));
typedef uint64_t two_words_t __attribute__((vector_size(16)));
#endif

/* Four doubles, which may begin at any double. */
#if HAS_GNU_C
typedef double four_t __attribute__((vector_size(32), aligned(8), may_alias));
#define add_fours(left, right) ((left) + (right))
#else
typedef struct {
    double of[4];
} four_t;
static inline four_t add_fours(four_t left, four_t right) {
    for (int i = 0; i < 4; i++) left.of[i] += right.of[i];
    return left;
}
#endif

#endif
