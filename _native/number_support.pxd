"""Numbers of a sentence that neither chunks nor question have, and that the chunk contradicts."""
from libc.string cimport memset

from claims cimport (
    RAW_IN_CHUNK, RAW_IN_QUESTION, STEM_IN_CHUNK, claims_t, counted_t, counted_word_t,
    mark_chunk_raws, support_t,
)
from lexicon cimport IS_NUMBER, IS_ORDINAL, form_t
from number_values cimport (
    add_values, clear_values, has_any, is_figure, list_values, number_t, read_number, read_on,
    reading_t,
)
from primitives cimport int64_t, reserve, token_t
from row_words cimport facts_of, is_content, n_stems, piece_t, raw_of, row_words_t
from windows cimport count_places, occurrences_t, window_t, word_of

cdef enum:
    COUNTED_BY = 3             # words before a word among which a number counts it
    COUNTS = 2                 # words after a number that it may count
    MOST_COUNTS = 4            # numbers looked at of those that count a word
    FIRST_PLACES = 8           # of a stem, looked at for one raw form; then all words are marked


cdef inline int list_chunk_values(claims_t* claims, const row_words_t* words) noexcept nogil:
    """Once for the chunks at hand: what their numbers are worth. 0, or -1 without memory."""
    cdef int64_t i
    if claims.has_chunk_values:
        return 0
    if clear_values(&claims.chunk_values):
        return -1
    for i in range(claims.n_chunks):
        if list_values(&claims.chunk_values, words, &claims.chunks[i]):
            return -1
    claims.has_chunk_values = True
    return 0


cdef inline int list_question_values(claims_t* claims, const row_words_t* words) noexcept nogil:
    if claims.has_question_values:
        return 0
    if clear_values(&claims.question_values):
        return -1
    if claims.question != NULL and list_values(&claims.question_values, words, claims.question):
        return -1
    claims.has_question_values = True
    return 0


cdef inline bint is_known_value(const claims_t* claims, const double* values,
                                int n_values) noexcept nogil:
    return (has_any(&claims.chunk_values, values, n_values)
            or has_any(&claims.question_values, values, n_values))


cdef inline bint is_read_otherwise(const claims_t* claims, const row_words_t* words,
                                   const piece_t* piece, int64_t word) noexcept nogil:
    """A number is part of several words that together have a value of the chunks."""
    cdef reading_t reading
    cdef int64_t first
    cdef int i
    for first in range(max(piece.first, word - 2), word + 1):
        if not words.lexicon.forms[words.ids[first]].flags & IS_NUMBER:
            continue
        read_on(words, first, piece.last, &reading)
        for i in range(reading.n_values):
            if reading.last[i] >= word and is_known_value(claims, &reading.values[i], 1):
                return True
    return False


cdef inline bint has_raw(claims_t* claims, const row_words_t* words, token_t stem,
                         token_t raw) noexcept nogil:
    """A word of the chunks, which have its stem, has a raw form.

    The first places of the stem nearly always tell.
    """
    cdef const occurrences_t* found = &claims.occurrences
    cdef const int64_t* places = found.places + found.begins[found.numbers[stem]]
    cdef int64_t n_places = count_places(found, stem), i
    for i in range(min(n_places, <int64_t> FIRST_PLACES)):
        if raw_of(words, word_of(places[i])) == raw:
            return True
    if 0 < n_places <= FIRST_PLACES:
        return False
    mark_chunk_raws(claims, words)
    return claims.marks[raw] & RAW_IN_CHUNK != 0


cdef inline int misses_number(claims_t* claims, const row_words_t* words, const piece_t* piece,
                              int64_t word, number_t* number) noexcept nogil:
    """Neither chunks nor question have a number, however it is written: 1 or 0, or -1.

    ``number`` is read where its word alone is not found.
    """
    cdef token_t raw = raw_of(words, word)
    if claims.marks[raw] & RAW_IN_QUESTION:
        return 0
    # Words of one raw form have one stem.
    if claims.marks[words.stems[word]] & STEM_IN_CHUNK and has_raw(
            claims, words, words.stems[word], raw):
        return 0
    if list_chunk_values(claims, words) or list_question_values(claims, words):
        return -1
    read_number(words, word, piece.last, number)
    return not is_known_value(claims, number.values, number.n_values) and not is_read_otherwise(
        claims, words, piece, word)


# ----------------------------------------------------------------------------------- contradictions

cdef inline int list_stated(claims_t* claims, const row_words_t* words, int64_t first,
                            int64_t last, int64_t end) noexcept nogil:
    """What the numbers of a sentence are worth; 0, or -1 without memory."""
    cdef number_t number
    cdef int64_t i
    if clear_values(&claims.stated):
        return -1
    for i in range(first, last):
        if is_figure(words, i):
            read_number(words, i, end, &number)
            if add_values(&claims.stated, number.values, number.n_values):
                return -1
    return 0


cdef inline counted_word_t* counted_word(claims_t* claims, token_t stem) noexcept nogil:
    """What is known of a stem in the window of the sentence at hand."""
    cdef counted_word_t* word = &claims.counted[stem]
    if word.stamp != claims.n_asked:
        word.stamp = claims.n_asked
        word.n_numbers[0] = word.n_numbers[1] = 0
        word.against[0] = word.against[1] = -1
    return word


cdef inline void count_word(claims_t* claims, token_t stem, int64_t number, bint is_ordinal,
                            bint is_stated) noexcept nogil:
    """Note that a number of the chunk counts a word."""
    cdef counted_word_t* word = counted_word(claims, stem)
    if word.n_numbers[is_ordinal] == MOST_COUNTS:
        return
    word.n_numbers[is_ordinal] += 1
    if not is_stated and word.against[is_ordinal] < 0:
        word.against[is_ordinal] = number


cdef inline int list_counted(claims_t* claims, const row_words_t* words, int64_t first,
                             int64_t last, int64_t end) noexcept nogil:
    """List what the numbers of ``[first, last]`` count, in a chunk that ends at ``end``."""
    cdef int64_t before = claims.counted_capacity, number = -1, i
    cdef number_t read
    cdef bint is_ordinal = False, is_stated = False
    if reserve(<void**> &claims.counted, &claims.counted_capacity, n_stems(words),
               sizeof(counted_word_t)):
        return -1
    memset(claims.counted + before, 0,
           <size_t> (claims.counted_capacity - before) * sizeof(counted_word_t))
    claims.n_asked += 1
    for i in range(first, min(end, last + COUNTED_BY + 1)):
        if number >= 0 and i - number <= COUNTED_BY:
            count_word(claims, words.stems[i], number, is_ordinal, is_stated)
        if not is_figure(words, i):
            continue
        read_number(words, i, end, &read)
        if read.n_values:
            # One past the last counts what follows it, and is looked at no more.
            number = i if i <= last else -1
            is_ordinal = read.is_ordinal
            is_stated = has_any(&claims.stated, read.values, read.n_values)
    return 0


cdef inline int open_window(claims_t* claims, const row_words_t* words, const piece_t* piece,
                            int64_t first, int64_t last,
                            const window_t* where) noexcept nogil:
    """Look for what may contradict a sentence, around its best window; 0, or -1."""
    cdef int64_t length = last - first
    cdef const piece_t* chunk = &claims.chunks[where.chunk]
    if list_stated(claims, words, first, last, piece.last):
        return -1
    return list_counted(
        claims, words, max(chunk.first, where.first - length), where.last + length, chunk.last)


cdef inline int64_t number_against(claims_t* claims, const row_words_t* words, int64_t word,
                                   int64_t last, bint is_ordinal) noexcept nogil:
    """The first number that the chunk has in place of a missing one; -1 for none."""
    cdef const form_t* form
    cdef int64_t found = -1, against, i
    for i in range(word + 1, min(word + COUNTS + 1, last)):
        form = &words.lexicon.forms[words.ids[i]]
        if form.flags & (IS_NUMBER | IS_ORDINAL) or not is_content(words, i):
            continue
        if facts_of(words, i) != NULL and facts_of(words, i).power:
            continue
        against = counted_word(claims, form.stem).against[is_ordinal]
        if against >= 0 and (found < 0 or against < found):
            found = against
    return found


cdef inline int check_numbers(claims_t* claims, const row_words_t* words, const piece_t* piece,
                              int64_t first, int64_t last, support_t* support,
                              counted_t* numbers) noexcept nogil:
    """Count the numbers of a sentence, and find the first that is contradicted; 0, or -1."""
    cdef number_t number
    cdef bint is_open = False
    cdef int64_t i
    cdef int misses
    memset(numbers, 0, sizeof(counted_t))
    support.number = support.against = -1
    for i in range(first, last):
        if not is_figure(words, i):
            continue
        misses = misses_number(claims, words, piece, i, &number)
        if misses < 0:
            return -1
        numbers.n_found += 1
        numbers.n_missing += misses
        if not misses or number.n_values == 0 or support.number >= 0 or not support.where.n_found:
            continue
        if not is_open and open_window(claims, words, piece, first, last, &support.where):
            return -1
        is_open = True
        support.against = number_against(claims, words, i, last, number.is_ordinal)
        if support.against >= 0:
            support.number = i
    return 0
