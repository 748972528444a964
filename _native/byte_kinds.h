/* What a byte of UTF-8 is to the grounded profile, and what a text needs besides being cut. */
#ifndef RAG_EVAL_BYTE_KINDS_H
#define RAG_EVAL_BYTE_KINDS_H

#include <stdint.h>
#include <string.h>

#define BYTE_WORD 1     /* a letter or digit of ASCII */
#define BYTE_MARKUP 2   /* markup within a line may begin here, a longer code point among it */
#define BYTE_SPACE 4
#define BYTE_NAME 8     /* joins a capitalised word: _ . - ' */
#define BYTE_END 16     /* a sentence may end here */
#define BYTE_LINE 32    /* a line may end here */
#define BYTE_HIGH 64    /* no ASCII */

#define HIGH_ (BYTE_HIGH | BYTE_END)
static const uint8_t byte_kinds[256] = {
    ['0' ... '9'] = BYTE_WORD, ['a' ... 'z'] = BYTE_WORD, ['A' ... 'Z'] = BYTE_WORD,
    ['\t'] = BYTE_SPACE, [' '] = BYTE_SPACE, ['\v'] = BYTE_SPACE, ['\f'] = BYTE_SPACE,
    ['\n'] = BYTE_SPACE | BYTE_LINE, ['\r'] = BYTE_SPACE | BYTE_LINE,
    ['*'] = BYTE_MARKUP, ['`'] = BYTE_MARKUP, ['~'] = BYTE_MARKUP, ['['] = BYTE_MARKUP,
    ['('] = BYTE_MARKUP, ['_'] = BYTE_MARKUP | BYTE_NAME,
    ['.'] = BYTE_NAME | BYTE_END, ['-'] = BYTE_NAME, ['\''] = BYTE_NAME,
    ['!'] = BYTE_END, ['?'] = BYTE_END,
    [0x80 ... 0xc1] = HIGH_, [0xc2] = HIGH_ | BYTE_MARKUP, [0xc3 ... 0xe1] = HIGH_,
    [0xe2] = HIGH_ | BYTE_MARKUP | BYTE_LINE, [0xe3] = HIGH_ | BYTE_MARKUP,
    [0xe4 ... 0xff] = HIGH_,
};
#undef HIGH_

/* One vectorised pass says what a text needs: CARE_MARKUP where markup may begin within a line,
   CARE_LINES where there may be more lines than one. */
#define CARE_HIGH 1
#define CARE_MARKUP 2
#define CARE_LINES 4

typedef uint8_t lanes_t __attribute__((vector_size(16)));

static inline int any_lane(lanes_t lanes) {
    uint64_t halves[2];
    memcpy(halves, &lanes, sizeof halves);
    return (halves[0] | halves[1]) != 0;
}

static inline int care_of_bytes(const uint8_t *bytes, int64_t size) {
    lanes_t high = {0}, markup = {0}, lines = {0};
    for (int64_t begin = 0; begin < size; begin += (int64_t)sizeof(lanes_t)) {
        lanes_t part = {0};
        if (size - begin >= (int64_t)sizeof part)
            memcpy(&part, bytes + begin, sizeof part);
        else
            memcpy(&part, bytes + begin, (size_t)(size - begin));
        high |= part & 0x80;
        markup |= (lanes_t)((part == '[') | (part == '(') | (part == '*') | (part == '_') |
                            (part == '`') | (part == '~') | (part == 0xc2) | (part == 0xe3));
        lines |= (lanes_t)((part == '\n') | (part == '\r') | (part == 0xe2));
    }
    return (any_lane(high) ? CARE_HIGH : 0) | (any_lane(markup) ? CARE_MARKUP : 0) |
           (any_lane(lines) ? CARE_LINES : 0);
}

/* The next byte of no ASCII at or after `at`, eight at a time; `size` when there is none. */
static inline int64_t next_high_byte(const uint8_t *bytes, int64_t size, int64_t at) {
    for (; at + 8 <= size; at += 8) {
        uint64_t word;
        memcpy(&word, bytes + at, 8);
        word &= 0x8080808080808080u;
        if (word) return at + __builtin_ctzll(word) / 8;
    }
    while (at < size && bytes[at] < 0x80) at++;
    return at;
}

/* The next byte of one of some kinds at or after `at`; `size` when there is none. */
static inline int64_t next_of_kinds(const uint8_t *bytes, int64_t size, int64_t at,
                                    uint8_t kinds) {
    while (at < size && !(byte_kinds[bytes[at]] & kinds)) at++;
    return at;
}

static inline int64_t count_ascii_letters(const uint8_t *bytes, int64_t size) {
    int64_t n_letters = 0;
    for (int64_t begin = 0; begin < size; begin += 128) {
        /* Counted in bytes, as many at a time as a byte can count. */
        int64_t end = begin + 128 < size ? begin + 128 : size;
        uint8_t some = 0;
        for (int64_t i = begin; i < end; i++) some += (uint8_t)((bytes[i] | 0x20) - 'a') < 26;
        n_letters += some;
    }
    return n_letters;
}

#endif
