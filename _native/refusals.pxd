"""English texts that say nothing: the source does not say, nobody knows.

A sentence is cut into clauses where it turns ("but"). Each clause claims something, or says that
nothing is said, or apologises; a pattern looks at fixed distances from a negation, so that the time
is that of the text.
"""
from libc.stdlib cimport free

from claim_sentences cimport sentence_t
from primitives cimport int64_t, reserve, uint64_t
from row_words cimport piece_t, roles_of, row_words_t
from word_facts cimport (
    LANGUAGE_EN, ROLE_ABLE, ROLE_ACT, ROLE_AFTER_INFORMATION, ROLE_AM, ROLE_ANSWER, ROLE_APOLOGY,
    ROLE_CAN, ROLE_CANNOT, ROLE_CONCEDES, ROLE_COULD, ROLE_DO, ROLE_EXISTS, ROLE_GIVEN,
    ROLE_HANDED, ROLE_HAVE, ROLE_HOLDS, ROLE_I, ROLE_INFORMATION, ROLE_IS_WAS, ROLE_KNOW,
    ROLE_KNOWLEDGE, ROLE_M, ROLE_MENTION, ROLE_NOT, ROLE_OFFERS, ROLE_PLAIN_NO, ROLE_PLAIN_NOT,
    ROLE_RETRIEVED, ROLE_SOURCE, ROLE_TELLS, ROLE_THINGS, ROLE_TO, ROLE_TURNS, ROLE_UNABLE,
    ROLE_WAS,
)

cdef enum:
    LONGEST_APOLOGY = 5    # words
    PHRASE_BEGINS = 12     # a phrase of one's own begins among so many first words
    # What a sentence does.
    CLAIMS = 0
    SAYS_NOTHING
    APOLOGISES
    NO_MEMORY


cdef struct refusals_t:
    uint64_t* roles        # of the words of the sentence at hand, bits ROLE_*
    int64_t capacity


cdef inline void close_refusals(refusals_t* refusals) noexcept nogil:
    free(refusals.roles)


cdef inline bint any_of(const uint64_t* roles, int64_t n, int64_t begin, int64_t end,
                        uint64_t wanted) noexcept nogil:
    """A word from ``begin`` to ``end``, of those that there are, plays one of some parts."""
    cdef int64_t i
    for i in range(max(<int64_t> 0, begin), min(end, n)):
        if roles[i] & wanted:
            return True
    return False


# ------------------------------------------------------------------------------------- its patterns

cdef inline bint is_silent(const uint64_t* roles, int64_t n, int64_t negation) noexcept nogil:
    """The passages do not say; the text does not contain this information."""
    cdef int64_t source, verb
    cdef bint sure
    for source in range(max(<int64_t> 0, negation - 4), negation):
        if not roles[source] & (ROLE_RETRIEVED | ROLE_SOURCE):
            continue
        sure = (roles[source] & (ROLE_RETRIEVED | ROLE_INFORMATION)
                or any_of(roles, n, source - 1, source, ROLE_GIVEN)
                or any_of(roles, n, source + 1, source + 2, ROLE_GIVEN))
        for verb in range(negation + 1, min(negation + 4, n)):
            if roles[verb] & ROLE_TELLS:
                return True
            if roles[verb] & ROLE_HOLDS and (
                    sure or any_of(roles, n, verb + 1, verb + 5, ROLE_THINGS)):
                return True
    return False


cdef inline bint is_held(const uint64_t* roles, int64_t n, int64_t negation) noexcept nogil:
    """There is no; the passages contain no."""
    if any_of(roles, n, negation - 1, negation, ROLE_EXISTS):
        return True
    return any_of(roles, n, negation - 1, negation, ROLE_OFFERS) and any_of(
        roles, n, negation - 4, negation, ROLE_RETRIEVED | ROLE_SOURCE)


cdef inline bint lacks_information(const uint64_t* roles, int64_t n, int64_t negation,
                                   bint held) noexcept nogil:
    """No information about it; no information is given."""
    cdef int64_t at
    held |= negation == 0 and roles[0] & ROLE_PLAIN_NO != 0
    for at in range(negation + 1, min(negation + 5, n)):
        if not roles[at] & ROLE_INFORMATION:
            continue
        if not held and not any_of(roles, n, negation + 1, at, ROLE_EXISTS):
            continue
        if at + 1 == n or roles[at + 1] & ROLE_AFTER_INFORMATION:
            return True
        if roles[at + 1] & ROLE_IS_WAS and any_of(
                roles, n, at + 2, at + 3, ROLE_TELLS | ROLE_HOLDS):
            return True
    return False


cdef inline int64_t past_phrase(const uint64_t* roles, int64_t n, uint64_t a, uint64_t b,
                                uint64_t c, uint64_t d, uint64_t e) noexcept nogil:
    """Past the first place of a phrase, a bit for each of its words and 0 behind; 0 for none."""
    cdef uint64_t[5] phrase
    cdef int64_t at, i
    phrase[0] = a
    phrase[1] = b
    phrase[2] = c
    phrase[3] = d
    phrase[4] = e
    for at in range(min(<int64_t> PHRASE_BEGINS, n)):
        i = 0
        while i < 5 and phrase[i] and at + i < n and roles[at + i] & phrase[i]:
            i += 1
        if i == 5 or phrase[i] == 0:
            return at + i
    return 0


cdef inline bint does_not(const uint64_t* roles, int64_t n, int64_t past) noexcept nogil:
    """What cannot be done is to answer or the like."""
    return past > 0 and any_of(roles, n, past, past + 2, ROLE_ACT)


cdef inline bint does_not_know(const uint64_t* roles, int64_t n) noexcept nogil:
    """I do not know, cannot find it, have no such information."""
    cdef uint64_t[3] am
    cdef int64_t past
    cdef int i
    am[0] = ROLE_AM
    am[1] = ROLE_M
    am[2] = ROLE_WAS
    if (past_phrase(roles, n, ROLE_I, ROLE_DO, ROLE_PLAIN_NOT, ROLE_KNOW, 0)
            or past_phrase(roles, n, ROLE_UNABLE, ROLE_TO, ROLE_ANSWER, 0, 0)):
        return True
    past = past_phrase(roles, n, ROLE_I, ROLE_DO, ROLE_PLAIN_NOT, ROLE_HAVE, 0)
    if past and any_of(roles, n, past, past + 4, ROLE_KNOWLEDGE):
        return True
    if (does_not(roles, n, past_phrase(roles, n, ROLE_I, ROLE_CANNOT, 0, 0, 0))
            or does_not(roles, n, past_phrase(roles, n, ROLE_I, ROLE_CAN, ROLE_PLAIN_NOT, 0, 0))
            or does_not(roles, n, past_phrase(
                roles, n, ROLE_I, ROLE_COULD, ROLE_PLAIN_NOT, 0, 0))):
        return True
    for i in range(3):
        if (does_not(roles, n, past_phrase(roles, n, ROLE_I, am[i], ROLE_UNABLE, ROLE_TO, 0))
                or does_not(roles, n, past_phrase(
                    roles, n, ROLE_I, am[i], ROLE_PLAIN_NOT, ROLE_ABLE, ROLE_TO))):
            return True
    return False


cdef inline bint says_nothing(const uint64_t* roles, int64_t n) noexcept nogil:
    """A clause says that its source does not say, or declines to answer."""
    cdef int64_t i
    cdef bint held
    for i in range(n):
        if not roles[i] & ROLE_NOT or (
                roles[i] & ROLE_PLAIN_NOT and any_of(roles, n, i + 1, i + 2, ROLE_TO)):
            continue
        held = is_held(roles, n, i)
        if is_silent(roles, n, i) or lacks_information(roles, n, i, held):
            return True
        if held and any_of(roles, n, i + 1, i + 3, ROLE_MENTION):
            return True
        if any_of(roles, n, i + 1, i + 2, ROLE_TELLS | ROLE_HANDED) and any_of(
                roles, n, i + 2, i + 8, ROLE_RETRIEVED | ROLE_SOURCE):
            return True
    return does_not_know(roles, n)


# ---------------------------------------------------------------------------- sentences and texts

cdef inline int kind_of_clause(const uint64_t* roles, int64_t n,
                               bint may_say_nothing) noexcept nogil:
    if may_say_nothing and says_nothing(roles, n):
        return SAYS_NOTHING
    return APOLOGISES if n <= LONGEST_APOLOGY and any_of(roles, n, 0, n, ROLE_APOLOGY) else CLAIMS


cdef inline int kind_of_sentence(refusals_t* refusals, const row_words_t* words,
                                 const piece_t* piece, int64_t sentence) noexcept nogil:
    """What a sentence of an English text does."""
    cdef int64_t first = piece.first + words.sentences.items[sentence].first
    cdef int64_t last = piece.first + words.sentences.items[sentence].last, begin = 0, i
    cdef uint64_t* roles
    cdef uint64_t all_roles = 0
    cdef int kind, found = APOLOGISES
    cdef bint may_say_nothing, any_clause = False
    if roles_of(words, first) & ROLE_CONCEDES:
        return CLAIMS
    if reserve(<void**> &refusals.roles, &refusals.capacity, last - first, sizeof(uint64_t)):
        return NO_MEMORY
    roles = refusals.roles
    for i in range(last - first):
        roles[i] = roles_of(words, first + i)
        all_roles |= roles[i]
        any_clause |= roles[i] & ROLE_TURNS == 0
    # No pattern does without one of these.
    may_say_nothing = all_roles & (ROLE_NOT | ROLE_UNABLE) != 0
    if any_clause and not may_say_nothing and not all_roles & ROLE_APOLOGY:
        return CLAIMS
    for i in range(last - first + 1):
        if i < last - first and not roles[i] & ROLE_TURNS:
            continue
        if i > begin:
            kind = kind_of_clause(roles + begin, i - begin, may_say_nothing)
            if kind == CLAIMS:
                return CLAIMS
            if kind == SAYS_NOTHING:
                found = SAYS_NOTHING
        begin = i + 1
    return found


cdef inline int only_refuses(refusals_t* refusals, const row_words_t* words,
                             const piece_t* piece) noexcept nogil:
    """No sentence of a text claims anything, and one says nothing: 1 or 0, or -1."""
    cdef const sentence_t* sentences = words.sentences.items
    cdef int64_t i
    cdef int kind, refuses = 0
    if words.language != LANGUAGE_EN:
        return 0
    for i in range(piece.first_sentence, piece.last_sentence):
        if sentences[i].is_label:
            continue
        kind = kind_of_sentence(refusals, words, piece, i)
        if kind == CLAIMS:
            return 0
        if kind == NO_MEMORY:
            return -1
        refuses |= kind == SAYS_NOTHING
    return refuses


cdef inline int declines(refusals_t* refusals, const row_words_t* words,
                         const piece_t* piece) noexcept nogil:
    """A text only refuses, or its first sentence does: 1 or 0, or -1."""
    cdef int kind
    if words.language != LANGUAGE_EN or piece.first_sentence == piece.last_sentence:
        return 0
    kind = kind_of_sentence(refusals, words, piece, piece.first_sentence)
    if kind == NO_MEMORY:
        return -1
    return 1 if kind == SAYS_NOTHING else only_refuses(refusals, words, piece)
