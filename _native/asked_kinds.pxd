"""What kind of answer a question asks for, and whether a chunk holds one."""
from claims cimport is_name
from lexicon cimport form_bytes, form_size
from primitives cimport int64_t, token_t, uint8_t
from row_words cimport piece_t, row_words_t
from vocabulary cimport head_of, key_digits
from word_facts cimport (
    LANGUAGE_EN, WORD_COUNT, WORD_DATE, WORD_HOW_MANY, WORD_WHAT_DATE, WORD_WHAT_NAME,
    WORD_WHAT_NUMBER, WORD_WHICH_DATE,
)

cdef enum:
    # What a question asks for.
    ASKS_NOTHING_KNOWN = 0
    ASKS_NUMBER
    ASKS_DATE
    ASKS_NAME


cdef struct query_t:
    int64_t types              # distinct content stems: begin in the claims' types, and how many
    int64_t n_types
    int64_t content            # with repeats: begin in ``content``, and how many
    int64_t n_content
    int kind
    int64_t first              # words of the question
    int64_t last
    int64_t truth_first        # ... and of the ground truth read with it
    int64_t truth_last


# ------------------------------------------------------------------------------- what is asked for

cdef inline bint is_form(const row_words_t* words, int64_t word, const char* form,
                         int size) noexcept nogil:
    """``form`` has up to seven letters."""
    return words.lexicon.vocabulary.keys[words.ids[word]].head == head_of(form, size)


cdef inline bint asks_who(const row_words_t* words, int64_t word) noexcept nogil:
    return (is_form(words, word, "who", 3) or is_form(words, word, "whom", 4)
            or is_form(words, word, "whose", 5) or is_form(words, word, "where", 5))


cdef inline int rule_of_word(const row_words_t* words, int64_t word,
                             int64_t next_word) noexcept nogil:
    """The first rule, counted from 0, by which a word and the next ask for something; or 7."""
    cdef uint8_t kinds = 0
    if next_word >= 0:
        kinds = words.lexicon.forms[words.ids[next_word]].kinds
    if is_form(words, word, "how", 3):
        return 0 if kinds & WORD_HOW_MANY else 7
    if is_form(words, word, "what", 4):
        return (1 if kinds & WORD_WHAT_NUMBER else 3 if kinds & WORD_WHAT_DATE
                else 6 if kinds & WORD_WHAT_NAME else 7)
    if is_form(words, word, "when", 4):
        return 2
    if is_form(words, word, "which", 5):
        return 4 if kinds & WORD_WHICH_DATE else 7
    return 5 if asks_who(words, word) else 7


cdef inline int asked_kind(const row_words_t* words, const query_t* query) noexcept nogil:
    """What an English question, read on into its ground truth, asks for."""
    cdef int64_t i, next_word
    cdef int best = 7
    if words.language != LANGUAGE_EN:
        return ASKS_NOTHING_KNOWN
    for i in range(query.first, query.last):
        next_word = i + 1
        if next_word == query.last:
            next_word = query.truth_first if query.truth_first < query.truth_last else -1
        best = min(best, rule_of_word(words, i, next_word))
    for i in range(query.truth_first, query.truth_last):
        best = min(best, rule_of_word(words, i, i + 1 if i + 1 < query.truth_last else -1))
    if best < 2:
        return ASKS_NUMBER
    if best < 5:
        return ASKS_DATE
    return ASKS_NAME if best < 7 else ASKS_NOTHING_KNOWN


cdef inline bint may_ask_for_name(const row_words_t* words, int64_t first,
                                  int64_t last) noexcept nogil:
    """Names of the chunks may be asked for, should the row turn out to be English."""
    cdef int64_t i
    for i in range(first, last):
        if asks_who(words, i) or is_form(words, i, "what", 4):
            return True
    return False


# --------------------------------------------------------------------------- what a chunk holds

cdef inline int longest_digits(const row_words_t* words, token_t id) noexcept nogil:
    """Digits side by side in a form: 0, 1, or 2 for more."""
    cdef const uint8_t* form = form_bytes(&words.lexicon, id)
    cdef int64_t size = form_size(&words.lexicon, id), i
    cdef int run = 0, longest = 0
    if size <= 16:
        return key_digits(words.lexicon.vocabulary.keys[id])
    for i in range(size):
        run = run + 1 if 0x30 <= form[i] <= 0x39 else 0
        longest = max(longest, run)
    return min(longest, 2)


cdef inline bint is_ordinal(const row_words_t* words, token_t id) noexcept nogil:
    cdef const uint8_t* form = form_bytes(&words.lexicon, id)
    return (form_size(&words.lexicon, id) == 3 and 0x30 <= form[0] <= 0x39
            and form[1] == 0x74 and form[2] == 0x68)


cdef inline double kind_match(const row_words_t* words, const query_t* query,
                              const uint8_t* in_query, const piece_t* chunk) noexcept nogil:
    """1 if the chunk holds what is asked for, 0 if not, 1/2 if nothing known is asked for."""
    cdef int64_t i
    cdef token_t id
    cdef uint8_t kinds
    if query.kind == ASKS_NOTHING_KNOWN:
        return 0.5
    for i in range(chunk.first, chunk.last):
        id = words.ids[i]
        kinds = words.lexicon.forms[id].kinds
        if query.kind == ASKS_NAME:
            if is_name(words, i) and not in_query[words.stems[i]]:
                return 1.0
        elif query.kind == ASKS_NUMBER:
            if kinds & WORD_COUNT or longest_digits(words, id) > 0:
                return 1.0
        elif kinds & WORD_DATE or longest_digits(words, id) > 1 or is_ordinal(words, id):
            return 1.0
    return 0.0
