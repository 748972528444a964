"""The answer held against a ground truth, and answers that decline."""
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset, strlen

from claims cimport claims_t, clamped, content_or_all
from code_points cimport decode_code_point
from lexicon cimport form_bytes, form_size
from ngram_sets cimport begin_tally, tally_ids, tally_t
from primitives cimport (
    folded_product, hash_t, int64_t, reserve, token_t, uint8_t, uint32_t, uint64_t,
)
from row_words cimport n_stems, piece_t, row_words_t
from token_stream cimport LOWERED_MARGIN, lowered_t
from word_facts cimport LANGUAGE_EN, N_REFUSAL_PHRASES, refusal_phrases

cdef enum:
    SHORT_GOLD = 10     # words of a ground truth whose letters count in full
    # Sets of stems, a bit each.
    IN_ANSWER = 1
    IN_TRUTH = 2
    IN_ASKED = 4
    FOUND_TRIGRAM_BIT = 63
    # Of forms in ASCII: letters, digits, the full stop of a number, the blank between words.
    N_PLAIN_LETTERS = 38
    N_PLAIN_WORDS = (38 * 38 * 38 + 63) // 64

cdef extern from *:
    """
    static const uint8_t plain_letters[128] = {
        ['a'] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
        24, 25, 26, ['0'] = 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, ['.'] = 37,
    };
    """
    const uint8_t plain_letters[128]

cdef extern from "byte_kinds.h" nogil:
    int64_t next_high_byte(const uint8_t* bytes, int64_t size, int64_t at) noexcept


cdef struct answer_match_t:
    uint64_t* trigrams         # of the ground truth: 0 is free, the highest bit says "found"
    int64_t trigrams_capacity
    hash_t seed
    uint64_t plain_trigrams[N_PLAIN_WORDS]   # a bit for each of ASCII; all 0 between calls
    uint8_t* sets              # per stem; all 0 between calls
    int64_t sets_capacity
    token_t* answer_types
    int64_t answer_types_capacity
    token_t* truth_types
    int64_t truth_types_capacity
    tally_t tally
    lowered_t sentence         # the answer's first, for its refusals


cdef inline void close_answer_match(answer_match_t* match) noexcept nogil:
    free(match.trigrams)
    free(match.sets)
    free(match.answer_types)
    free(match.truth_types)
    free(match.tally.cells)
    free(match.sentence.bytes)


# ------------------------------------------------------------------------------------- content

cdef inline int64_t distinct_content(answer_match_t* match, claims_t* claims,
                                     const row_words_t* words, const piece_t* piece,
                                     token_t** types, int64_t* capacity) noexcept nogil:
    """Distinct content stems of a text, all stems when there is none; how many, or -1."""
    cdef int64_t n = content_or_all(claims, words, piece.first, piece.last)
    if n < 0 or begin_tally(&match.tally, n_stems(words)):
        return -1
    if reserve(<void**> types, capacity, n + 1, sizeof(token_t)):
        return -1
    return tally_ids(&match.tally, claims.content, n, types[0])


cdef inline void mark_stems(answer_match_t* match, const row_words_t* words,
                            const piece_t* piece, uint8_t mark) noexcept nogil:
    cdef int64_t i
    for i in range(piece.first, piece.last):
        match.sets[words.stems[i]] |= mark


cdef inline void unmark_stems(answer_match_t* match, const row_words_t* words,
                              const piece_t* piece) noexcept nogil:
    cdef int64_t i
    for i in range(piece.first, piece.last):
        match.sets[words.stems[i]] = 0


cdef inline double share_marked(const answer_match_t* match, const token_t* types,
                                int64_t n_types, uint8_t mark) noexcept nogil:
    """Share of some stems that have a mark, those asked for left out unless that leaves none."""
    cdef int64_t n_left = 0, found = 0, found_left = 0, i
    cdef uint8_t marks
    for i in range(n_types):
        marks = match.sets[types[i]]
        found += marks & mark != 0
        if not marks & IN_ASKED:
            n_left += 1
            found_left += marks & mark != 0
    return (<double> found_left / <double> n_left if n_left
            else <double> found / <double> n_types)


# ------------------------------------------------------------------------------------ trigrams

cdef inline int64_t trigram_slot(const answer_match_t* match, uint64_t trigram,
                                 int64_t n_slots) noexcept nogil:
    """The slot that holds a trigram, or the free one where it belongs."""
    cdef uint64_t mask = <uint64_t> (n_slots - 1), held
    cdef int64_t slot = <int64_t> (folded_product(
        trigram ^ match.seed, <uint64_t> 0xA0761D6478BD642F) & mask)
    while True:
        held = match.trigrams[slot] & ~(<uint64_t> 1 << FOUND_TRIGRAM_BIT)
        if held == trigram or held == 0:
            return slot
        slot = (slot + 1) & <int64_t> mask


cdef inline int64_t count_trigrams(answer_match_t* match, const uint8_t* letters, int64_t size,
                                   int64_t n_slots, bint insert) noexcept nogil:
    """Put the trigrams of a text into the table, or find them there; how many were new to it.

    The text is of words with a blank after each; a blank is read before the first.
    """
    cdef uint64_t trigram = 0x20, held
    cdef int64_t at = 0, n_new = 0, n_points = 1, slot
    cdef int width
    while at < size:
        trigram = (trigram << 21 | decode_code_point(letters, size, at, &width)) & (
            (<uint64_t> 1 << 63) - 1)
        at += width
        n_points += 1
        if n_points < 3:
            continue
        slot = trigram_slot(match, trigram, n_slots)
        held = match.trigrams[slot]
        if insert and held == 0:
            match.trigrams[slot] = trigram
            n_new += 1
        elif not insert and held == trigram:
            match.trigrams[slot] = held | <uint64_t> 1 << FOUND_TRIGRAM_BIT
            n_new += 1
    return n_new


cdef inline int64_t change_plain_trigrams(uint64_t* trigrams, const uint8_t* letters,
                                          int64_t size, bint insert) noexcept nogil:
    """Set the bits of the trigrams of an ASCII text, or clear them; how many bits changed."""
    cdef uint64_t last = plain_letters[letters[0]], pair = last, letter, place, held, bit
    cdef int64_t n_changed = 0, at
    for at in range(1, size):
        letter = plain_letters[letters[at]]
        place = pair * N_PLAIN_LETTERS + letter
        pair = last * N_PLAIN_LETTERS + letter
        last = letter
        held = trigrams[place >> 6]
        bit = <uint64_t> 1 << (place & 63)
        trigrams[place >> 6] = held | bit if insert else held & ~bit
        n_changed += <int64_t> ((held >> (place & 63) & 1) ^ insert)
    return n_changed


cdef inline double plain_trigram_share(answer_match_t* match, const uint8_t* answer,
                                       int64_t answer_size, const uint8_t* truth,
                                       int64_t truth_size) noexcept nogil:
    """The same of two texts of ASCII. What the answer has is taken out, then the rest."""
    cdef uint64_t* trigrams = match.plain_trigrams
    cdef int64_t n_trigrams = change_plain_trigrams(trigrams, truth, truth_size, True)
    cdef int64_t n_found = change_plain_trigrams(trigrams, answer, answer_size, False)
    change_plain_trigrams(trigrams, truth, truth_size, False)
    return <double> n_found / <double> n_trigrams


cdef inline double trigram_share(answer_match_t* match, const row_words_t* words,
                                 const piece_t* answer, const piece_t* truth) noexcept nogil:
    """Share of the ground truth's letter trigrams that the answer has; -1 without memory."""
    cdef const uint8_t* answer_letters = words.letters.bytes + answer.letters
    cdef const uint8_t* truth_letters = words.letters.bytes + truth.letters
    cdef int64_t n_slots = 64, n_trigrams, n_found
    if (next_high_byte(truth_letters, truth.letters_size, 0) == truth.letters_size
            and next_high_byte(answer_letters, answer.letters_size, 0) == answer.letters_size):
        return plain_trigram_share(match, answer_letters, answer.letters_size, truth_letters,
                                   truth.letters_size)
    while n_slots < 2 * truth.letters_size:
        n_slots *= 2
    if reserve(<void**> &match.trigrams, &match.trigrams_capacity, n_slots, sizeof(uint64_t)):
        return -1.0
    memset(match.trigrams, 0, <size_t> n_slots * sizeof(uint64_t))
    n_trigrams = count_trigrams(match, truth_letters, truth.letters_size, n_slots, True)
    n_found = count_trigrams(match, answer_letters, answer.letters_size, n_slots, False)
    return <double> n_found / <double> n_trigrams


# --------------------------------------------------------------------------------- correctness

cdef inline double correctness(answer_match_t* match, claims_t* claims, const row_words_t* words,
                               const piece_t* answer, const piece_t* truth,
                               const piece_t* question) noexcept nogil:
    """Agreement of answer and ground truth, both with a word; -1 without memory.

    ``question`` is NULL where there is none: its stems are given away by asking.
    """
    cdef int64_t n_answer, n_truth, before = match.sets_capacity
    cdef double recall, precision, f1, share, half
    if reserve(<void**> &match.sets, &match.sets_capacity, n_stems(words) + 1, 1):
        return -1.0
    memset(match.sets + before, 0, <size_t> (match.sets_capacity - before))
    n_answer = distinct_content(match, claims, words, answer, &match.answer_types,
                                &match.answer_types_capacity)
    n_truth = distinct_content(match, claims, words, truth, &match.truth_types,
                               &match.truth_types_capacity)
    share = trigram_share(match, words, answer, truth)
    if n_answer < 0 or n_truth < 0 or share < 0.0:
        return -1.0
    mark_stems(match, words, answer, IN_ANSWER)
    mark_stems(match, words, truth, IN_TRUTH)
    if question != NULL:
        mark_stems(match, words, question, IN_ASKED)
    recall = share_marked(match, match.truth_types, n_truth, IN_ANSWER)
    precision = share_marked(match, match.answer_types, n_answer, IN_TRUTH)
    unmark_stems(match, words, answer)
    unmark_stems(match, words, truth)
    if question != NULL:
        unmark_stems(match, words, question)
    f1 = (2.0 * precision * recall / (precision + recall)) if precision + recall else 0.0
    half = min(1.0, <double> SHORT_GOLD / <double> (truth.last - truth.first)) / 2.0
    return clamped(f1 + half * (share - f1))


# ------------------------------------------------------------------------------------ refusals

cdef inline bint declines_at(const lowered_t* sentence, int64_t at) noexcept nogil:
    """A phrase of refusal begins at ``at`` of a sentence with a blank after each word."""
    cdef const char* phrase
    cdef int64_t n
    cdef int i
    for i in range(N_REFUSAL_PHRASES):
        phrase = refusal_phrases[i]
        if sentence.bytes[at] != <uint8_t> phrase[0]:
            continue
        n = <int64_t> strlen(phrase)
        if (at + n < sentence.size and sentence.bytes[at + n] == 0x20
                and memcmp(sentence.bytes + at, phrase, <size_t> n) == 0):
            return True
    return False


cdef inline int is_refusal(answer_match_t* match, const row_words_t* words,
                           const piece_t* answer) noexcept nogil:
    """The first sentence of an English answer declines: 1 or 0, or -1 without memory."""
    cdef lowered_t* sentence = &match.sentence
    cdef int64_t first, last, at, i, size
    cdef uint8_t letter
    if words.language != LANGUAGE_EN:
        return 0
    first = answer.first + words.sentences.items[answer.first_sentence].first
    last = answer.first + words.sentences.items[answer.first_sentence].last
    sentence.size = 0
    for i in range(first, last):
        size = form_size(&words.lexicon, words.ids[i])
        if reserve(<void**> &sentence.bytes, &sentence.capacity,
                   sentence.size + size + 2 + LOWERED_MARGIN, 1):
            return -1
        memcpy(sentence.bytes + sentence.size, form_bytes(&words.lexicon, words.ids[i]),
               <size_t> size)
        sentence.bytes[sentence.size + size] = 0x20
        sentence.size += size + 1
    for at in range(sentence.size):
        letter = sentence.bytes[at]
        # What a phrase begins with.
        if not (letter == 0x69 or letter == 0x6E or letter == 0x64 or letter == 0x75):
            continue
        if (at == 0 or sentence.bytes[at - 1] == 0x20) and declines_at(sentence, at):
            return 1
    return 0
