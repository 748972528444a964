"""How far the chunks of a row carry its claims, by what each sentence lacks of them.

Shares of its content stems within one window, of its pairs, of its numbers and names, of pairs of
names that stand near each other; a number that the chunk contradicts; a name that is new.
"""
from libc.string cimport memset

from claim_sentences cimport CAPITALISED
from claims cimport (
    AS_NEIGHBOURS, AS_SKIP_PAIR, BIGRAM_LOSS, CONTRADICTION, NAME_LOSS, NEAR_LOSS, NEW_NAME,
    N_LOSSES, NUMBER_LOSS, RAW_IN_CHUNK, RAW_IN_QUESTION, SKIP_LOSS, STEM_IN_CHUNK,
    STEM_IN_QUESTION, WINDOW_LOSS, claim_t, claims_t, clamped, counted_t, counted_word_t, is_name,
    mark_chunk_raws, support_t,
)
from lexicon cimport IS_NUMBER, IS_ORDINAL, form_t
from ngram_sets cimport begin_tally
from number_values cimport (
    add_values, clear_values, has_any, is_figure, list_values, number_t, read_number, read_on,
    reading_t,
)
from primitives cimport int64_t, reserve, token_t, uint8_t
from row_words cimport facts_of, is_content, n_stems, piece_t, raw_of, row_words_t
from stopping cimport is_stopped
from windows cimport best_window, chunk_of_place, count_places, occurrences_t, window_t

cdef extern from *:
    """
    static const double SENTENCE_CUT = 0.60;
    /* Of the losses, in their order; those of the six shares add up to 1. */
    static const double shipped_weights[8] = {0.40, 0.20, 0.20, 0.08, 0.06, 0.06, 0.12, 0.06};
    """
    const double SENTENCE_CUT
    const double shipped_weights[8]

cdef enum:
    MIN_WINDOW = 30
    WINDOW_FACTOR = 3
    NEAR_WORDS = 20            # between two names, or as many as in the sentence
    FREQUENT = 60              # two names that both occur more often are near each other somewhere
    COUNTED_BY = 3             # words before a word among which a number counts it
    COUNTS = 2                 # words after a number that it may count
    MOST_COUNTS = 4            # numbers looked at of those that count a word
    FIRST_PLACES = 8           # of a stem, looked at for one raw form; then all words are marked


cdef struct parts_t:
    double bigram              # shares of a sentence's pairs
    double skip
    counted_t numbers
    counted_t names
    counted_t pairs            # of names


cdef inline double share_found(const counted_t* counted) noexcept nogil:
    """1 where nothing was to be found."""
    if counted.n_found == 0:
        return 1.0
    return 1.0 - <double> counted.n_missing / <double> counted.n_found


cdef inline void add_counted(counted_t* total, const counted_t* counted) noexcept nogil:
    total.n_found += counted.n_found
    total.n_missing += counted.n_missing


cdef inline double weighted_score(const double* losses, const double* weights) noexcept nogil:
    """Written as what is left of 1, so that a full match is exactly 1; added in this order."""
    cdef double loss = 0.0
    cdef int i
    for i in range(N_LOSSES):
        loss += weights[i] * losses[i]
    return clamped(1.0 - loss)


# ----------------------------------------------------------------------------------------- numbers

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
        if raw_of(words, places[i]) == raw:
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
                            int64_t first, int64_t last, const window_t* where,
                            const int64_t* chunk_begins) noexcept nogil:
    """Look for what may contradict a sentence, around its best window; 0, or -1."""
    cdef int64_t length = last - first
    if list_stated(claims, words, first, last, piece.last):
        return -1
    return list_counted(
        claims, words, max(chunk_begins[where.chunk], where.first - length),
        where.last + length, chunk_begins[where.chunk + 1])


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
                              int64_t first, int64_t last, const int64_t* chunk_begins,
                              support_t* support, counted_t* numbers) noexcept nogil:
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
        if not is_open and open_window(claims, words, piece, first, last, &support.where,
                                       chunk_begins):
            return -1
        is_open = True
        support.against = number_against(claims, words, i, last, number.is_ordinal)
        if support.against >= 0:
            support.number = i
    return 0


# -------------------------------------------------------------------------------------------- names

cdef inline bint is_checked_name(const row_words_t* words, int64_t word) noexcept nogil:
    return words.capitals[word] == CAPITALISED and is_name(words, word)


cdef inline bint is_missing_name(const claims_t* claims, const form_t* form) noexcept nogil:
    return not claims.marks[form.stem] & (STEM_IN_CHUNK | STEM_IN_QUESTION)


cdef inline int64_t first_from(const int64_t* places, int64_t n_places,
                               int64_t place) noexcept nogil:
    """The number of the first of some places, in order, that is not before one."""
    cdef int64_t begin = 0, end = n_places, middle
    while begin < end:
        middle = begin + (end - begin) // 2
        if places[middle] < place:
            begin = middle + 1
        else:
            end = middle
    return begin


cdef inline bint in_one_chunk(int64_t left, int64_t right, const int64_t* chunk_begins,
                              int64_t n_chunks) noexcept nogil:
    """Two words, in their order, stand in one chunk."""
    return right < chunk_begins[chunk_of_place(chunk_begins, n_chunks, 0, left) + 1]


cdef inline bint stand_near(const occurrences_t* found, token_t left, token_t right,
                            int64_t distance, const int64_t* chunk_begins,
                            int64_t n_chunks) noexcept nogil:
    """Two stems of the chunks occur within so many words in one of them.

    Each place of the rarer is looked up among those of the other; where both are frequent none is.
    """
    cdef int64_t n_rare = count_places(found, left), n_other = count_places(found, right), i, at
    cdef const int64_t* rare = found.places + found.begins[found.numbers[left]]
    cdef const int64_t* other = found.places + found.begins[found.numbers[right]]
    if n_rare > n_other:
        rare, other = other, rare
        n_rare, n_other = n_other, n_rare
    if n_rare > FREQUENT:
        return True
    for i in range(n_rare):
        at = first_from(other, n_other, rare[i])
        if at < n_other and other[at] - rare[i] <= distance and in_one_chunk(
                rare[i], other[at], chunk_begins, n_chunks):
            return True
        if at > 0 and rare[i] - other[at - 1] <= distance and in_one_chunk(
                other[at - 1], rare[i], chunk_begins, n_chunks):
            return True
    return False


cdef inline bint stand_far(const claims_t* claims, const row_words_t* words, int64_t left,
                           int64_t right, const int64_t* chunk_begins,
                           int64_t n_chunks) noexcept nogil:
    """The chunks have two names of a sentence, but not near each other."""
    return not stand_near(&claims.occurrences, words.stems[left], words.stems[right],
                          max(<int64_t> NEAR_WORDS, right - left), chunk_begins, n_chunks)


cdef inline int64_t list_known_names(claims_t* claims, const row_words_t* words, int64_t first,
                                     int64_t last, counted_t* names) noexcept nogil:
    """Count the names of a sentence; list those that a chunk has, each once. How many, or -1."""
    cdef const form_t* form
    cdef int64_t n_known = 0, i
    memset(names, 0, sizeof(counted_t))
    for i in range(first, last):
        if not is_checked_name(words, i):
            continue
        form = &words.lexicon.forms[words.ids[i]]
        names.n_found += 1
        names.n_missing += is_missing_name(claims, form)
        if not claims.marks[form.stem] & STEM_IN_CHUNK:
            continue
        if n_known == 0 and (
                begin_tally(&claims.tally, n_stems(words)) or reserve(
                    <void**> &claims.names_known, &claims.names_known_capacity, last - first,
                    sizeof(int64_t))):
            return -1
        if claims.tally.cells[form.stem] < claims.tally.stamp:
            claims.tally.cells[form.stem] = claims.tally.stamp
            claims.names_known[n_known] = i
            n_known += 1
    return n_known


cdef inline int check_names(claims_t* claims, const row_words_t* words, int64_t first,
                            int64_t last, const int64_t* chunk_begins, int64_t n_chunks,
                            counted_t* names, counted_t* pairs) noexcept nogil:
    """Count the names of a sentence, and pairs of neighbours among the known; 0, or -1."""
    cdef int64_t n_known = list_known_names(claims, words, first, last, names), i
    memset(pairs, 0, sizeof(counted_t))
    if n_known < 0:
        return -1
    for i in range(1, n_known):
        pairs.n_found += 1
        pairs.n_missing += stand_far(claims, words, claims.names_known[i - 1],
                                     claims.names_known[i], chunk_begins, n_chunks)
    return 0


# ------------------------------------------------------------------------------------------ support

cdef inline double share_of_pairs(const claims_t* claims, int64_t first, int64_t n_pairs,
                                  uint8_t how) noexcept nogil:
    """Share of some pairs of a claim that a chunk has."""
    cdef int64_t found = 0, i
    for i in range(first, first + n_pairs):
        found += claims.pair_found[claims.pairs[i]] & how != 0
    return <double> found / <double> n_pairs


cdef inline void find_pairs(const claims_t* claims, const claim_t* claim, token_t first_stem,
                            double window, parts_t* parts) noexcept nogil:
    """Shares of bigrams and skip pairs; a word alone is found or not, content without a pair is
    as the window.
    """
    if claim.n_pairs:
        parts.bigram = share_of_pairs(claims, claim.pairs, claim.n_pairs, AS_NEIGHBOURS)
    else:
        parts.bigram = 1.0 if claims.marks[first_stem] & STEM_IN_CHUNK else 0.0
    parts.skip = window
    if claim.n_skips:
        parts.skip = share_of_pairs(claims, claim.skips, claim.n_skips, AS_SKIP_PAIR)


cdef inline void list_losses(double* losses, double window, const parts_t* parts,
                             bint contradiction) noexcept nogil:
    losses[<int> WINDOW_LOSS] = 1.0 - window
    losses[<int> BIGRAM_LOSS] = 1.0 - parts.bigram
    losses[<int> SKIP_LOSS] = 1.0 - parts.skip
    losses[<int> NUMBER_LOSS] = 1.0 - share_found(&parts.numbers)
    losses[<int> NAME_LOSS] = 1.0 - share_found(&parts.names)
    losses[<int> NEAR_LOSS] = 1.0 - share_found(&parts.pairs)
    losses[<int> CONTRADICTION] = contradiction
    losses[<int> NEW_NAME] = parts.names.n_missing > 0


cdef inline int support_sentence(claims_t* claims, const row_words_t* words, const piece_t* piece,
                                 int64_t sentence, const int64_t* chunk_begins,
                                 int64_t n_chunks, parts_t* parts) noexcept nogil:
    """Score one sentence of a text; 0, or -1 if ended early."""
    cdef const claim_t* claim = &claims.claims[sentence]
    cdef support_t* support = &claims.supports[sentence]
    cdef int64_t first = piece.first + words.sentences.items[sentence].first
    cdef int64_t last = piece.first + words.sentences.items[sentence].last
    if is_stopped(claims.stop):
        return -1
    if best_window(&claims.occurrences, words.stems, claims.types + claim.types,
                   claim.n_types, max(<int64_t> MIN_WINDOW, WINDOW_FACTOR * (last - first)),
                   chunk_begins, n_chunks, &support.where):
        return -1
    if check_numbers(claims, words, piece, first, last, chunk_begins, support, &parts.numbers):
        return -1
    if check_names(claims, words, first, last, chunk_begins, n_chunks, &parts.names,
                   &parts.pairs):
        return -1
    support.window = <double> support.where.n_found / <double> claim.n_types
    find_pairs(claims, claim, words.stems[first], support.window, parts)
    list_losses(support.losses, support.window, parts, support.number >= 0)
    support.score = weighted_score(support.losses, shipped_weights)
    return 0


cdef inline bint is_too_short(const claim_t* claim, int64_t n_words) noexcept nogil:
    """A text of so many words, each of which may be a stem, a bigram and two skip pairs, cannot
    reach the cut.
    """
    cdef double n = <double> n_words, window = n / <double> claim.n_types, skip = window
    if claim.n_skips:
        skip = (1 + 1) * n / <double> claim.n_skips
    return (shipped_weights[<int> WINDOW_LOSS] * window
            + shipped_weights[<int> BIGRAM_LOSS] * n / <double> max(<int64_t> 1, claim.n_pairs)
            + shipped_weights[<int> SKIP_LOSS] * skip + shipped_weights[<int> NUMBER_LOSS]
            + shipped_weights[<int> NAME_LOSS]
            + shipped_weights[<int> NEAR_LOSS]) < SENTENCE_CUT - 0.01


cdef inline int support_piece(claims_t* claims, const row_words_t* words, const piece_t* piece,
                              const int64_t* chunk_begins, int64_t n_chunks,
                              double* losses) noexcept nogil:
    """Score the sentences of a text, of which there is one, and pool what they lack.

    Windows and pairs count by the content words of the sentences; numbers, names and pairs of names
    are those of all sentences together; a flag is up if a sentence has it up. 0, or -1 if ended
    early.
    """
    cdef double weight = 0.0, window = 0.0, n_content
    cdef bint contradiction = False
    cdef parts_t parts, total
    cdef int64_t i
    memset(&total, 0, sizeof(parts_t))
    for i in range(piece.first_sentence, piece.last_sentence):
        if support_sentence(claims, words, piece, i, chunk_begins, n_chunks, &parts):
            return -1
        n_content = <double> claims.claims[i].n_content
        weight += n_content
        window += n_content * claims.supports[i].window
        total.bigram += n_content * parts.bigram
        total.skip += n_content * parts.skip
        add_counted(&total.numbers, &parts.numbers)
        add_counted(&total.names, &parts.names)
        add_counted(&total.pairs, &parts.pairs)
        contradiction |= claims.supports[i].number >= 0
    total.bigram = total.bigram / weight
    total.skip = total.skip / weight
    list_losses(losses, window / weight, &total, contradiction)
    claims.numbers = total.numbers
    claims.names = total.names
    return 0
