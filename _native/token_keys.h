/* Keys of tokens: sixteen bytes that tell one token from another. */
#ifndef RAG_EVAL_TOKEN_KEYS_H
#define RAG_EVAL_TOKEN_KEYS_H

#include "portable.h"

/* The bytes of a token, filled up with 0xff, which no UTF-8 has. Of one past sixteen bytes the
   first eight, LONG_MARK and a digest of the rest: no key of a long token is that of a short one. */
typedef struct {
    uint64_t head;
    uint64_t tail;
} token_key_t;

#define LONG_MARK 0xfeffu

/* From the size of a token before the middle on: what is set in the sixteen bytes that begin with
   it. */
#define FULL_4 0xff, 0xff, 0xff, 0xff
static const uint8_t token_padding[32] = {[16] = FULL_4, FULL_4, FULL_4, FULL_4};
#undef FULL_4

/* The key of a token of up to sixteen bytes, by its size below zero, which is what its place gives
   in one step. Sixteen bytes are readable, whatever the size; no branch depends on it. */
static ALWAYS_INLINE token_key_t short_key(const uint8_t *token, int64_t minus_size) {
    const uint8_t *padding = token_padding + 16 + minus_size;
    token_key_t key = {load_8_bytes(token) | load_8_bytes(padding),
                       load_8_bytes(token + 8) | load_8_bytes(padding + 8)};
    return key;
}

static inline token_key_t key_of_token(const uint8_t *token, int64_t size, uint64_t seed) {
    if (size <= 16) return short_key(token, -size);
    uint64_t digest = seed;
    for (int64_t at = 8; at < size - 8; at += 8)
        digest = folded_product(digest ^ load_8_bytes(token + at), 0xd6e8feb86659fd93u);
    digest = folded_product(load_8_bytes(token + size - 8) ^ digest, 0xa0761d6478bd642fu);
    token_key_t key = {load_8_bytes(token), digest << 16 | LONG_MARK};
    return key;
}

static ALWAYS_INLINE int is_same_key(token_key_t key, token_key_t other) {
    return ((key.head ^ other.head) | (key.tail ^ other.tail)) == 0;
}

#endif
