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

/* Digits side by side in a token of up to sixteen bytes: 0, 1, or 2 for more. */
static inline int key_digits(token_key_t key) {
    /* Digits become 0 to 9: only with those does the sum leave the high bit of a byte unset. */
    uint64_t head = key.head ^ 0x3030303030303030u, tail = key.tail ^ 0x3030303030303030u;
    head = ~(((head & 0x7f7f7f7f7f7f7f7fu) + 0x7676767676767676u) | head) & 0x8080808080808080u;
    tail = ~(((tail & 0x7f7f7f7f7f7f7f7fu) + 0x7676767676767676u) | tail) & 0x8080808080808080u;
    uint64_t beside = (head & head >> 8) | (tail & tail >> 8) | (head >> 56 & tail & 0x80);
    return ((head | tail) != 0) + (beside != 0);
}

/* What the key of a token of up to seven bytes begins with, and that of no other. */
static ALWAYS_INLINE uint64_t head_of(const char *letters, int size) {
    uint64_t head = ~(uint64_t)0;
    for (int i = 0; i < size; i++)
        head ^= (uint64_t)(uint8_t)~(uint8_t)letters[i] << (8 * i);
    return head;
}

static ALWAYS_INLINE int is_same_key(token_key_t key, token_key_t other) {
    return ((key.head ^ other.head) | (key.tail ^ other.tail)) == 0;
}

/* Numbers tokens from the `i`th on, up to one past sixteen bytes or one whose slot is another's;
   returns which that is. Slots hold serials: those of this row are ids, from `first_serial` on.
   Whether a token is new is no branch, since a processor cannot guess it: key and place are written
   always, and kept where it is. */
static inline int64_t number_at_sight(uint32_t *slots, uint64_t slot_mask, const uint64_t *seeds,
                                      uint32_t first_serial, token_key_t *keys,
                                      int64_t *places, int64_t *n_tokens,
                                      const uint8_t *lowered, int64_t base, const int64_t *edges,
                                      int64_t i, int64_t n_edges, int32_t *ids) {
    const uint8_t *text = lowered + base;
    const int64_t *edge = edges + 2 * i, *last = edges + 2 * n_edges;
    int64_t n_known = *n_tokens;
    ids += i;
    for (; edge != last; edge += 2) {
        int64_t minus_size = edge[0] - edge[1];
        if (minus_size < -16) break;
        token_key_t key = short_key(text + edge[0], minus_size);
        uint32_t *slot = slots + (folded_product(key.head ^ seeds[0], key.tail ^ seeds[1]) & slot_mask);
        keys[n_known] = key;
        put_pair(places + 2 * n_known, edge, base);
        /* Of a free slot, far above all ids. */
        uint32_t known = *slot - first_serial;
        int64_t id = known < n_known ? known : n_known;
        if (!is_same_key(keys[id], key)) break;
        n_known += known >> 31;
        *slot = first_serial + (uint32_t)id;
        *ids++ = (int32_t)id;
    }
    *n_tokens = n_known;
    return (edge - edges) >> 1;
}

#endif
