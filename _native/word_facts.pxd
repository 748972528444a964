"""What words mean to the scores: language, stop words, numbers in words."""
from primitives cimport int64_t, uint8_t, uint64_t

cdef extern from "word_tables.h" nogil:
    enum:
        N_LANGUAGES
        LANGUAGE_UND
        LANGUAGE_EN
    uint8_t WORD_COUNTING
    uint8_t WORD_COUNT
    uint8_t WORD_DATE
    uint8_t WORD_HOW_MANY
    uint8_t WORD_WHAT_NUMBER
    uint8_t WORD_WHAT_DATE
    uint8_t WORD_WHAT_NAME
    uint8_t WORD_WHICH_DATE
    uint64_t ROLE_NOT
    uint64_t ROLE_RETRIEVED
    uint64_t ROLE_SOURCE
    uint64_t ROLE_GIVEN
    uint64_t ROLE_TELLS
    uint64_t ROLE_HOLDS
    uint64_t ROLE_THINGS
    uint64_t ROLE_EXISTS
    uint64_t ROLE_OFFERS
    uint64_t ROLE_AFTER_INFORMATION
    uint64_t ROLE_ACT
    uint64_t ROLE_KNOWLEDGE
    uint64_t ROLE_CONCEDES
    uint64_t ROLE_TURNS
    uint64_t ROLE_APOLOGY
    uint64_t ROLE_PLAIN_NOT
    uint64_t ROLE_PLAIN_NO
    uint64_t ROLE_CANNOT
    uint64_t ROLE_TO
    uint64_t ROLE_INFORMATION
    uint64_t ROLE_MENTION
    uint64_t ROLE_HANDED
    uint64_t ROLE_IS_WAS
    uint64_t ROLE_I
    uint64_t ROLE_AM
    uint64_t ROLE_M
    uint64_t ROLE_WAS
    uint64_t ROLE_DO
    uint64_t ROLE_HAVE
    uint64_t ROLE_KNOW
    uint64_t ROLE_CAN
    uint64_t ROLE_COULD
    uint64_t ROLE_ABLE
    uint64_t ROLE_UNABLE
    uint64_t ROLE_ANSWER
    uint64_t ROLE_YES
    uint64_t ROLE_NAY
    uint64_t ROLE_NO_ANSWER
    const char* const language_codes[1]
    const uint8_t language_is_latin[1]
    const char* const number_texts[1]
    ctypedef struct word_facts_t:
        uint64_t stop_languages
        uint64_t roles
        uint8_t kinds
        uint8_t number
        uint8_t ordinal
        uint8_t power
        uint8_t size
    const word_facts_t* word_facts(uint64_t head, uint64_t tail) noexcept


# --------------------------------------------------------------------------- words one to twelve

cdef inline uint64_t packed_letters(const uint8_t* word, int64_t size) noexcept nogil:
    """Up to eight letters in lower case, as the bytes of a number."""
    cdef uint64_t packed = 0
    cdef int64_t i
    for i in range(size):
        packed |= <uint64_t> (word[i] | 0x20) << (8 * i)
    return packed


cdef inline bint is_counting_word(const uint8_t* word, int64_t size) noexcept nogil:
    """One of the words from one to twelve, in any case."""
    cdef uint64_t filler
    cdef const word_facts_t* facts
    cdef int64_t i
    if not 1 <= size <= 8:
        return False
    for i in range(size):
        if not 0x61 <= word[i] | 0x20 <= 0x7A:
            return False
    filler = ~<uint64_t> 0 << (8 * size) if size < 8 else 0
    facts = word_facts(packed_letters(word, size) | filler, ~<uint64_t> 0)
    return facts != NULL and facts.kinds & WORD_COUNTING != 0


cdef extern from "portable.h" nogil:
    int count_trailing_zeros(uint64_t word) noexcept


# --------------------------------------------------------------------------------- the language

cdef struct language_counts_t:
    int64_t plain              # ASCII letters
    int64_t accented           # other Latin letters
    int64_t other              # letters of other scripts
    int64_t english            # English stop words met
    int64_t own[64]            # per language: its words that are not English stop words
    int64_t shared[64]         # per language: its words that are


cdef inline void count_stop_word(language_counts_t* counts, uint64_t languages,
                                 int64_t n_times) noexcept nogil:
    """Count a word that some languages (a bit each) have in their lists."""
    cdef uint64_t left = languages & ~(<uint64_t> 1 << LANGUAGE_EN)
    cdef bint english = languages != left
    cdef int64_t* sums = &counts.shared[0] if english else &counts.own[0]
    if english:
        counts.english += n_times
    while left:
        sums[count_trailing_zeros(left)] += n_times
        left &= left - 1


cdef inline int detected_language(const language_counts_t* counts) noexcept nogil:
    """Number of the language that all texts of a sample are read in.

    Only lists written in the dominant alphabet count. A Latin list wins with two words of its own
    and more than 1.5 times as many as there are English stop words that it lacks.
    """
    cdef bint latin = counts.plain + counts.accented >= counts.other
    cdef int best = LANGUAGE_UND, language
    cdef int64_t own = 0, against = 0
    for language in range(LANGUAGE_EN + 1, N_LANGUAGES):
        if (language_is_latin[language] != 0) == latin and counts.own[language] > own:
            best = language
            own = counts.own[language]
            against = counts.english - counts.shared[language]
    if not latin:
        return best
    # Twice, so that the factor of 1.5 stays a whole number.
    if own >= 2 and 2 * own > 3 * against:
        return best
    return LANGUAGE_UND if 3 * counts.accented > counts.plain else LANGUAGE_EN
