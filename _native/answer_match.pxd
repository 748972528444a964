"""The answer held against a ground truth."""
from libc.stdlib cimport free
from libc.string cimport memset

from claims cimport clamped
from code_points cimport decode_code_point
from lexicon cimport IS_NUMBER, raw_flags
from ngram_sets cimport begin_tally, find_gram, grams_t, number_gram, tally_ids, tally_t
from number_values cimport bits_of, clear_values, number_t, read_number, read_on, reading_t
from primitives cimport folded_product, hash_t, int64_t, reserve, token_t, uint8_t, uint64_t
from row_words cimport content_or_all, n_stems, piece_t, raw_of, roles_of, row_words_t
from word_facts cimport LANGUAGE_EN, ROLE_NAY, ROLE_NO_ANSWER, ROLE_PLAIN_NO, ROLE_YES

cdef enum:
    SHORT_GOLD = 10     # words of a ground truth whose letters count in full
    # Sets of stems, a bit each.
    IN_ANSWER = 1
    IN_ANSWER_TYPES = 2    # of its content
    FOUND_IN_TRUTH = 4     # in place of the one before: the ground truth at hand has it too
    IN_ASKED = 8
    # ASCII forms have 38 characters: letters, digits, the full stop of a number, and the blank
    # between words.
    N_PLAIN_WORDS = (38 * 38 * 38 + 63) // 64

cdef extern from *:
    """
    /* Of what an answer is short of, where both sides say yes, or no; of its score otherwise. */
    static const double SAME_POLARITY = 0.40, OTHER_POLARITY = 0.50, OTHER_NUMBERS = 0.70;
    /* What a letter adds to the place of a trigram as its last, its second and its first, 16 bits
       each: places are at most 38**3 - 1, 54871. A step to the next trigram shifts them by one. */
    #define LETTER_(n) ((n) | (n) * 38ull << 16 | (n) * 38ull * 38 << 32)
    static const uint64_t plain_letters[128] = {
        ['a'] = LETTER_(1), LETTER_(2), LETTER_(3), LETTER_(4), LETTER_(5), LETTER_(6), LETTER_(7),
        LETTER_(8), LETTER_(9), LETTER_(10), LETTER_(11), LETTER_(12), LETTER_(13), LETTER_(14),
        LETTER_(15), LETTER_(16), LETTER_(17), LETTER_(18), LETTER_(19), LETTER_(20), LETTER_(21),
        LETTER_(22), LETTER_(23), LETTER_(24), LETTER_(25), LETTER_(26),
        ['0'] = LETTER_(27), LETTER_(28), LETTER_(29), LETTER_(30), LETTER_(31), LETTER_(32),
        LETTER_(33), LETTER_(34), LETTER_(35), LETTER_(36), ['.'] = LETTER_(37),
    };
    #undef LETTER_
    """
    const double SAME_POLARITY
    const double OTHER_POLARITY
    const double OTHER_NUMBERS
    const uint64_t plain_letters[128]

cdef extern from "byte_kinds.h" nogil:
    int64_t next_high_byte(const uint8_t* bytes, int64_t size, int64_t at) noexcept


cdef struct trigrams_t:
    uint64_t* slots            # 0 is free
    int64_t capacity
    int64_t n_slots            # in use, a power of two; 0 where none are listed


cdef struct answer_match_t:
    trigrams_t of_answer       # listed for the first text that is not of ASCII
    trigrams_t of_truth
    hash_t seed
    uint64_t plain_answer[N_PLAIN_WORDS]   # a bit for each of ASCII; all 0 between rows
    uint64_t plain_truth[N_PLAIN_WORDS]    # ... between ground truths
    bint is_plain              # the answer is of ASCII
    uint8_t* sets              # per stem; all 0 between rows
    int64_t sets_capacity
    token_t* answer_types
    int64_t answer_types_capacity
    int64_t n_answer
    int64_t n_unasked          # types of the answer that the question does not give away
    token_t* truth_types
    int64_t truth_types_capacity
    tally_t tally
    int polarity               # of the answer
    bint has_numbers           # the answer states some
    grams_t numbers            # ... and which


cdef inline void close_answer_match(answer_match_t* match) noexcept nogil:
    free(match.of_answer.slots)
    free(match.of_truth.slots)
    free(match.sets)
    free(match.answer_types)
    free(match.truth_types)
    free(match.tally.cells)
    free(match.numbers.slots)


# ------------------------------------------------------------------------------------- content

cdef inline int64_t distinct_content(answer_match_t* match, const row_words_t* words,
                                     const piece_t* piece, token_t** types,
                                     int64_t* capacity) noexcept nogil:
    """Distinct content stems of a text, all stems when there is none; how many, or -1."""
    cdef int64_t n
    cdef const token_t* content = content_or_all(words, piece.first, piece.last, &n)
    if begin_tally(&match.tally, n_stems(words)):
        return -1
    if reserve(<void**> types, capacity, n + 1, sizeof(token_t)):
        return -1
    return tally_ids(&match.tally, content, n, types[0])


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


cdef inline double share_unasked(int64_t n_found, int64_t n_types, int64_t n_found_unasked,
                                 int64_t n_unasked) noexcept nogil:
    """Share of some stems that are found, those asked for left out unless that leaves none."""
    return (<double> n_found_unasked / <double> n_unasked if n_unasked
            else <double> n_found / <double> n_types)


cdef inline double content_recall(const answer_match_t* match, int64_t n_types) noexcept nogil:
    """Share of the ground truth's content that the answer has."""
    cdef int64_t n_unasked = 0, found = 0, found_unasked = 0, i
    cdef uint8_t marks
    for i in range(n_types):
        marks = match.sets[match.truth_types[i]]
        found += marks & IN_ANSWER != 0
        if not marks & IN_ASKED:
            n_unasked += 1
            found_unasked += marks & IN_ANSWER != 0
    return share_unasked(found, n_types, found_unasked, n_unasked)


cdef inline double content_precision(answer_match_t* match, const row_words_t* words,
                                     const piece_t* truth) noexcept nogil:
    """Share of the answer's content that the ground truth has, counted in the ground truth."""
    cdef int64_t found = 0, found_unasked = 0, i
    cdef uint8_t* sets = match.sets
    cdef uint8_t marks, is_fresh
    for i in range(truth.first, truth.last):
        marks = sets[words.stems[i]]
        # Each once; no branch on which, which cannot be guessed.
        is_fresh = marks & IN_ANSWER_TYPES != 0
        sets[words.stems[i]] = marks ^ is_fresh * (IN_ANSWER_TYPES | FOUND_IN_TRUTH)
        found += is_fresh
        found_unasked += is_fresh & (marks & IN_ASKED == 0)
    for i in range(truth.first if found else truth.last, truth.last):
        marks = sets[words.stems[i]]
        sets[words.stems[i]] = marks ^ (marks & FOUND_IN_TRUTH != 0) * (
            IN_ANSWER_TYPES | FOUND_IN_TRUTH)
    return share_unasked(found, match.n_answer, found_unasked, match.n_unasked)


# ------------------------------------------------------------------------------------ trigrams

cdef inline uint64_t* trigram_slot(uint64_t* slots, uint64_t mask, uint64_t trigram,
                                   hash_t seed) noexcept nogil:
    """The slot that holds a trigram, or the free one where it belongs."""
    cdef uint64_t slot = folded_product(trigram ^ seed, <uint64_t> 0xA0761D6478BD642F) & mask
    while slots[slot] != trigram and slots[slot] != 0:
        slot = (slot + 1) & mask
    return slots + slot


cdef inline int64_t list_trigrams(trigrams_t* trigrams, const trigrams_t* others,
                                  const uint8_t* letters, int64_t size, hash_t seed,
                                  int64_t* n_found) noexcept nogil:
    """List the distinct trigrams of a text; how many, and of them found among the others; or -1.

    The text has a word at least, and a blank after each; a blank is read before the first.
    """
    cdef uint64_t trigram
    cdef int64_t at, n_trigrams = 0, n_common = 0
    cdef uint64_t* slot
    cdef uint64_t* slots
    cdef uint64_t mask, other_mask = 0
    cdef uint64_t* other_slots = NULL
    cdef int width
    trigrams.n_slots = 64
    while trigrams.n_slots < 2 * size:
        trigrams.n_slots *= 2
    if reserve(<void**> &trigrams.slots, &trigrams.capacity, trigrams.n_slots, sizeof(uint64_t)):
        return -1
    memset(trigrams.slots, 0, <size_t> trigrams.n_slots * sizeof(uint64_t))
    slots, mask = trigrams.slots, <uint64_t> trigrams.n_slots - 1
    if others != NULL:
        other_slots, other_mask = others.slots, <uint64_t> others.n_slots - 1
    trigram = <uint64_t> 0x20 << 21 | decode_code_point(letters, size, 0, &width)
    at = width
    while at < size:
        trigram = (trigram << 21 | decode_code_point(letters, size, at, &width)) & (
            (<uint64_t> 1 << 63) - 1)
        at += width
        slot = trigram_slot(slots, mask, trigram, seed)
        if slot[0] == 0:
            slot[0] = trigram
            n_trigrams += 1
            if others != NULL:
                n_common += trigram_slot(other_slots, other_mask, trigram, seed)[0] == trigram
    n_found[0] = n_common
    return n_trigrams


cdef inline double listed_trigram_share(answer_match_t* match, const row_words_t* words,
                                        const piece_t* answer,
                                        const piece_t* truth) noexcept nogil:
    """The same share in any script; -1 without memory."""
    cdef int64_t n_trigrams, n_found
    if match.of_answer.n_slots == 0 and list_trigrams(
            &match.of_answer, NULL, words.letters.bytes + answer.letters, answer.letters_size,
            match.seed, &n_found) < 0:
        return -1.0
    n_trigrams = list_trigrams(
        &match.of_truth, &match.of_answer, words.letters.bytes + truth.letters,
        truth.letters_size, match.seed, &n_found)
    return -1.0 if n_trigrams < 0 else <double> n_found / <double> n_trigrams


cdef inline void mark_plain_trigrams(uint64_t* trigrams, const uint8_t* letters,
                                     int64_t size) noexcept nogil:
    """Set the bits of the trigrams of an ASCII text."""
    cdef uint64_t places = plain_letters[letters[0]], place
    cdef int64_t at
    for at in range(1, size):
        places = (places >> 16) + plain_letters[letters[at]]
        place = places & 0xFFFF
        trigrams[place >> 6] |= <uint64_t> 1 << (place & 63)


cdef inline double plain_trigram_share(answer_match_t* match, const uint8_t* letters,
                                       int64_t size) noexcept nogil:
    """Share of the ground truth's trigrams that the answer has, both texts of ASCII."""
    cdef uint64_t places = plain_letters[letters[0]], place, known, fresh
    cdef int64_t n_trigrams = 0, n_found = 0, at
    for at in range(1, size):
        places = (places >> 16) + plain_letters[letters[at]]
        place = places & 0xFFFF
        known = match.plain_truth[place >> 6]
        fresh = ~known >> (place & 63) & 1
        match.plain_truth[place >> 6] = known | <uint64_t> 1 << (place & 63)
        n_trigrams += fresh
        n_found += match.plain_answer[place >> 6] >> (place & 63) & fresh
    memset(match.plain_truth, 0, sizeof(match.plain_truth))
    return <double> n_found / <double> n_trigrams


cdef inline bint is_plain(const row_words_t* words, const piece_t* piece) noexcept nogil:
    """The letters of a text are ASCII."""
    return next_high_byte(words.letters.bytes + piece.letters, piece.letters_size,
                          0) == piece.letters_size


cdef inline double trigram_share(answer_match_t* match, const row_words_t* words,
                                 const piece_t* answer, const piece_t* truth) noexcept nogil:
    """Share of the ground truth's letter trigrams that the answer has; -1 without memory."""
    if match.is_plain and is_plain(words, truth):
        return plain_trigram_share(match, words.letters.bytes + truth.letters,
                                   truth.letters_size)
    return listed_trigram_share(match, words, answer, truth)


# ------------------------------------------------------------------------- yes and no, numbers

cdef inline int polarity(const row_words_t* words, const piece_t* piece) noexcept nogil:
    """1 where an English text opens with yes, -1 with no, which "no one" and "no 5" do not."""
    cdef int64_t first = piece.first
    cdef uint64_t roles
    if words.language != LANGUAGE_EN:
        return 0
    roles = roles_of(words, first)
    if roles & ROLE_YES:
        return 1
    if roles & ROLE_NAY:
        return -1
    if not roles & ROLE_PLAIN_NO:
        return 0
    if first + 1 < piece.last and (
            roles_of(words, first + 1) & ROLE_NO_ANSWER
            or raw_flags(&words.lexicon.vocabulary.keys[words.ids[first + 1]])
            & IS_NUMBER):
        return 0
    return -1


cdef inline bint has_numbers(const row_words_t* words, const piece_t* piece) noexcept nogil:
    cdef int64_t i
    for i in range(piece.first, piece.last):
        if words.lexicon.forms[words.ids[i]].flags & IS_NUMBER:
            return True
    return False


cdef inline int keys_of_number(const row_words_t* words, int64_t word, int64_t end,
                               uint64_t* keys) noexcept nogil:
    """Up to four: bits of values, or a number's own where it has none. How many."""
    cdef number_t number
    cdef reading_t reading
    cdef int n = 0, i
    read_number(words, word, end, &number)
    read_on(words, word, end, &reading)
    for i in range(number.n_values):
        keys[n] = bits_of(number.values[i])
        n += 1
    if n == 0:
        # No value is negative.
        keys[n] = <uint64_t> 1 << 63 | <uint64_t> raw_of(words, word)
        n += 1
    for i in range(reading.n_values):
        keys[n] = bits_of(reading.values[i])
        n += 1
    return n


cdef inline int list_numbers(grams_t* numbers, const row_words_t* words,
                             const piece_t* piece) noexcept nogil:
    """List what the numbers of a text are worth; 0, or -1 without memory."""
    cdef uint64_t[4] keys
    cdef int64_t i
    cdef int k
    if clear_values(numbers):
        return -1
    for i in range(piece.first, piece.last):
        if not words.lexicon.forms[words.ids[i]].flags & IS_NUMBER:
            continue
        for k in range(keys_of_number(words, i, piece.last, keys)):
            if number_gram(numbers, keys[k]) < 0:
                return -1
    return 0


cdef inline bint shares_number(const grams_t* numbers, const row_words_t* words,
                               const piece_t* piece) noexcept nogil:
    """A text states one of some numbers."""
    cdef uint64_t[4] keys
    cdef int64_t i
    cdef int k
    for i in range(piece.first, piece.last):
        if not words.lexicon.forms[words.ids[i]].flags & IS_NUMBER:
            continue
        for k in range(keys_of_number(words, i, piece.last, keys)):
            if find_gram(numbers, keys[k]) >= 0:
                return True
    return False


# --------------------------------------------------------------------------------- correctness

cdef inline int begin_match(answer_match_t* match, const row_words_t* words,
                            const piece_t* answer, const piece_t* question) noexcept nogil:
    """Read the answer, which has a word, once for all ground truths; 0, or -1 without memory.

    ``question`` is NULL where there is none: its stems are given away by asking.
    """
    cdef int64_t before = match.sets_capacity, i
    if reserve(<void**> &match.sets, &match.sets_capacity, n_stems(words) + 1, 1):
        return -1
    memset(match.sets + before, 0, <size_t> (match.sets_capacity - before))
    match.n_answer = distinct_content(match, words, answer, &match.answer_types,
                                      &match.answer_types_capacity)
    if match.n_answer < 0:
        return -1
    mark_stems(match, words, answer, IN_ANSWER)
    if question != NULL:
        mark_stems(match, words, question, IN_ASKED)
    match.n_unasked = 0
    for i in range(match.n_answer):
        match.sets[match.answer_types[i]] |= IN_ANSWER_TYPES
        match.n_unasked += not match.sets[match.answer_types[i]] & IN_ASKED
    match.polarity = polarity(words, answer)
    match.has_numbers = has_numbers(words, answer)
    if match.has_numbers and list_numbers(&match.numbers, words, answer):
        return -1
    match.of_answer.n_slots = 0
    match.is_plain = is_plain(words, answer)
    if match.is_plain:
        mark_plain_trigrams(match.plain_answer, words.letters.bytes + answer.letters,
                            answer.letters_size)
    return 0


cdef inline void end_match(answer_match_t* match, const row_words_t* words,
                           const piece_t* answer, const piece_t* question) noexcept nogil:
    unmark_stems(match, words, answer)
    if question != NULL:
        unmark_stems(match, words, question)
    if match.is_plain:
        memset(match.plain_answer, 0, sizeof(match.plain_answer))


cdef inline double correctness(answer_match_t* match, const row_words_t* words,
                               const piece_t* answer, const piece_t* truth) noexcept nogil:
    """Agreement of the answer with a ground truth that has a word; -1 without memory."""
    cdef int64_t n_truth = distinct_content(match, words, truth, &match.truth_types,
                                            &match.truth_types_capacity)
    cdef double share = trigram_share(match, words, answer, truth), recall, precision, f1, half
    cdef double score
    cdef int sides
    if n_truth < 0 or share < 0.0:
        return -1.0
    recall = content_recall(match, n_truth)
    precision = content_precision(match, words, truth)
    f1 = (2.0 * precision * recall / (precision + recall)) if precision + recall else 0.0
    half = min(1.0, <double> SHORT_GOLD / <double> (truth.last - truth.first)) / 2.0
    score = clamped(f1 + half * (share - f1))
    sides = match.polarity * polarity(words, truth)
    if sides > 0:
        score = score + SAME_POLARITY * (1.0 - score)
    elif sides < 0:
        score = score * OTHER_POLARITY
    if match.has_numbers and has_numbers(words, truth) and not shares_number(
            &match.numbers, words, truth):
        score = score * OTHER_NUMBERS
    return score
