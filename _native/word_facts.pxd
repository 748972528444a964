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
    const word_facts_t* NO_FACTS "(&word_entries[0].facts)"


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
