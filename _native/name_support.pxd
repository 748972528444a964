"""Names of a sentence that the chunks do not have, or not near each other."""
from libc.string cimport memset

from capitals cimport CAPITALISED
from claims cimport STEM_IN_CHUNK, STEM_IN_QUESTION, claims_t, counted_t, is_name
from lexicon cimport form_t
from ngram_sets cimport begin_tally
from primitives cimport int64_t, reserve, token_t
from row_words cimport n_stems, row_words_t
from windows cimport count_places, occurrences_t

cdef enum:
    NEAR_WORDS = 20            # between two names, or as many as in the sentence
    FREQUENT = 60              # two names that both occur more often are near each other somewhere


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


cdef inline bint stand_near(const occurrences_t* found, token_t left, token_t right,
                            int64_t distance) noexcept nogil:
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
        if at < n_other and other[at] - rare[i] <= distance:
            return True
        if at > 0 and rare[i] - other[at - 1] <= distance:
            return True
    return False


cdef inline bint stand_far(const claims_t* claims, const row_words_t* words, int64_t left,
                           int64_t right) noexcept nogil:
    """The chunks have two names of a sentence, but not near each other."""
    return not stand_near(&claims.occurrences, words.stems[left], words.stems[right],
                          max(<int64_t> NEAR_WORDS, right - left))


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
                            int64_t last, counted_t* names,
                            counted_t* pairs) noexcept nogil:
    """Count the names of a sentence, and pairs of neighbours among the known; 0, or -1."""
    cdef int64_t n_known = list_known_names(claims, words, first, last, names), i
    memset(pairs, 0, sizeof(counted_t))
    if n_known < 0:
        return -1
    for i in range(1, n_known):
        pairs.n_found += 1
        pairs.n_missing += stand_far(claims, words, claims.names_known[i - 1],
                                     claims.names_known[i])
    return 0
