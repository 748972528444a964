"""The words of a row: ids, and what each means in the language of the row.

A word's form is what was cut; its raw form is the number it spells, if any; its stem is what words
are compared by. All three are ids of one vocabulary. Each distinct word is looked up once.
"""
from libc.stdlib cimport free
from libc.string cimport memcpy, memset, strlen

from given_stems cimport find_given, given_stems_t
from light_stems cimport cut_t, list_cuts, number_behind, stem_of, worded_t
from primitives cimport (
    hash_t, int64_t, reserve, span_t, text_at, text_t, token_t, uint8_t, uint64_t,
)
from token_stream cimport LOWERED_MARGIN, lowered_t
from vocabulary cimport (
    clear_vocabulary, close_vocabulary, make_room, number_tokens, seed_vocabulary, token_key_t,
    vocabulary_t,
)
from word_facts cimport (
    LANGUAGE_EN, LANGUAGE_UND, N_LANGUAGES, language_is_latin, number_texts, word_facts,
    word_facts_t,
)

cdef extern from "portable.h" nogil:
    int count_trailing_zeros(uint64_t word) noexcept

cdef extern from "form_sieve.h" nogil:
    uint8_t IS_STOP_WORD
    uint8_t IS_NUMBER
    uint8_t IS_LONG
    uint8_t IS_ORDINAL
    ctypedef struct form_t:
        token_t stem
        uint8_t flags
        uint8_t kinds
        uint8_t is_content
    ctypedef struct form_sieve_t:
        const token_key_t* keys
        const int64_t* places
        form_t* forms
        token_t* raws
        const word_facts_t** facts
        token_t* listed
        token_t* ending
        int64_t n_listed
        int64_t n_ending
    uint8_t raw_flags(const token_key_t* key) noexcept
    void sift_forms(form_sieve_t* sieve, int64_t n_forms) noexcept

cdef enum:
    SLICE_WORDS = 256    # numbered at a time: the vocabulary makes room for all of them


cdef struct letter_counts_t:
    int64_t plain              # ASCII
    int64_t accented           # other Latin letters
    int64_t other              # of other scripts


cdef struct lexicon_t:
    lowered_t store            # normal forms
    vocabulary_t vocabulary
    int64_t n_forms            # ids below are forms; what follows are raw forms and stems
    form_t* forms
    int64_t forms_capacity
    token_t* raws              # per form
    int64_t raws_capacity
    const word_facts_t** facts
    int64_t facts_capacity
    token_t* listed            # forms that a list has
    int64_t listed_capacity
    int64_t n_listed
    token_t* ending            # forms that English may have given an ending
    int64_t ending_capacity
    int64_t n_ending
    cut_t* cuts                # ... that have one
    int64_t cuts_capacity
    int64_t* times             # per form: how often it occurs
    int64_t times_capacity


cdef inline void open_lexicon(lexicon_t* lexicon, hash_t seed) noexcept nogil:
    seed_vocabulary(&lexicon.vocabulary, seed)


cdef inline void close_lexicon(lexicon_t* lexicon) noexcept nogil:
    free(lexicon.store.bytes)
    close_vocabulary(&lexicon.vocabulary)
    free(lexicon.forms)
    free(lexicon.facts)
    free(lexicon.listed)
    free(lexicon.raws)
    free(lexicon.ending)
    free(lexicon.cuts)
    free(lexicon.times)


cdef inline int clear_lexicon(lexicon_t* lexicon, int64_t n_slots) noexcept nogil:
    lexicon.store.size = 0
    return clear_vocabulary(&lexicon.vocabulary, n_slots)


cdef inline int number_words(lexicon_t* lexicon, int64_t base, const int64_t* forms,
                             int64_t n_words, token_t* ids) noexcept nogil:
    """Ids of words by where their forms are in the store from ``base`` on; 0, or -1."""
    cdef int64_t first = 0
    while first < n_words:
        if number_tokens(&lexicon.vocabulary, &lexicon.store, base, forms + 2 * first,
                         min(<int64_t> SLICE_WORDS, n_words - first), ids + first):
            return -1
        first += SLICE_WORDS
    return 0


cdef inline const uint8_t* form_bytes(const lexicon_t* lexicon, token_t id) noexcept nogil:
    return lexicon.store.bytes + lexicon.vocabulary.places[id].begin


cdef inline int64_t form_size(const lexicon_t* lexicon, token_t id) noexcept nogil:
    cdef span_t place = lexicon.vocabulary.places[id]
    return place.end - place.begin


cdef inline int64_t number_copy(lexicon_t* lexicon, const uint8_t* form,
                                int64_t size) noexcept nogil:
    """Id of a copy of some bytes from outside the store; -1 without memory."""
    cdef lowered_t* store = &lexicon.store
    if reserve(<void**> &store.bytes, &store.capacity, store.size + size + LOWERED_MARGIN, 1):
        return -1
    memcpy(store.bytes + store.size, form, <size_t> size)
    return number_behind(&lexicon.vocabulary, store, size)


# ------------------------------------------------------------------------------ before the language

cdef inline int look_up_forms(lexicon_t* lexicon) noexcept nogil:
    """Facts of all words so far, each its own raw form and stem; 0, or -1 without memory."""
    cdef int64_t n_forms = lexicon.vocabulary.n_tokens, id
    cdef const token_key_t* keys = lexicon.vocabulary.keys
    cdef const word_facts_t* facts
    cdef form_sieve_t sieve
    cdef int64_t n_listed = 0, i
    lexicon.n_forms = n_forms
    if reserve(<void**> &lexicon.forms, &lexicon.forms_capacity, n_forms, sizeof(form_t)):
        return -1
    if reserve(<void**> &lexicon.raws, &lexicon.raws_capacity, n_forms, sizeof(token_t)):
        return -1
    if reserve(<void**> &lexicon.facts, &lexicon.facts_capacity, n_forms,
               sizeof(const word_facts_t*)):
        return -1
    if reserve(<void**> &lexicon.listed, &lexicon.listed_capacity, n_forms + 1, sizeof(token_t)):
        return -1
    if reserve(<void**> &lexicon.ending, &lexicon.ending_capacity, n_forms + 1, sizeof(token_t)):
        return -1
    sieve = form_sieve_t(keys, <const int64_t*> lexicon.vocabulary.places, lexicon.forms,
                         lexicon.raws, lexicon.facts, lexicon.listed, lexicon.ending, 0, 0)
    sift_forms(&sieve, n_forms)
    for i in range(sieve.n_listed):
        id = lexicon.listed[i]
        facts = word_facts(keys[id].head, keys[id].tail)
        lexicon.facts[id] = facts
        lexicon.listed[n_listed] = <token_t> id
        n_listed += facts != NULL
    lexicon.n_listed = n_listed
    lexicon.n_ending = sieve.n_ending
    return 0


cdef inline void count_times(int64_t* times, const token_t* ids, int64_t n_ids) noexcept nogil:
    """How often each id occurs, by fours: a loop of so little takes longer than what it does."""
    cdef int64_t n_fours = n_ids - n_ids % 4, i, k
    for i in range(0, n_fours, 4):
        for k in range(4):
            times[ids[i + k]] += 1
    for i in range(n_fours, n_ids):
        times[ids[i]] += 1


cdef inline int64_t times_of_both(const lexicon_t* lexicon, int language) noexcept nogil:
    """How often stop words of a language occur that are English ones as well."""
    cdef uint64_t wanted = <uint64_t> 1 << language | <uint64_t> 1 << LANGUAGE_EN
    cdef int64_t total = 0, i
    for i in range(lexicon.n_listed):
        if lexicon.facts[lexicon.listed[i]].stop_languages & wanted == wanted:
            total += lexicon.times[lexicon.listed[i]]
    return total


cdef inline int64_t count_stop_words(const lexicon_t* lexicon, int64_t* own) noexcept nogil:
    """How often English stop words occur; and, per language, those of its own that are not."""
    cdef int64_t english = 0, n_times, is_english, i
    cdef uint64_t left
    memset(own, 0, N_LANGUAGES * sizeof(int64_t))
    for i in range(lexicon.n_listed):
        left = lexicon.facts[lexicon.listed[i]].stop_languages
        n_times = lexicon.times[lexicon.listed[i]]
        # No branch on it: which of the words it is true of is a toss-up.
        is_english = <int64_t> (left >> LANGUAGE_EN & 1)
        english += n_times & -is_english
        left &= <uint64_t> (is_english - 1)
        while left:
            own[count_trailing_zeros(left)] += n_times
            left &= left - 1
    return english


cdef inline int detect_language(lexicon_t* lexicon, const token_t* ids, int64_t n_ids,
                                const letter_counts_t* letters) noexcept nogil:
    """Number of the language that all texts of a sample are read in; -1 without memory.

    Only lists written in the dominant alphabet count. A Latin list wins with two words of its own
    and more than 1.5 times as many as there are English stop words that it lacks.
    """
    cdef bint latin = letters.plain + letters.accented >= letters.other
    cdef int best = LANGUAGE_UND, language
    cdef int64_t[64] own
    cdef int64_t english, n_best = 0
    if reserve(<void**> &lexicon.times, &lexicon.times_capacity, lexicon.n_forms,
               sizeof(int64_t)):
        return -1
    if lexicon.n_forms:
        memset(lexicon.times, 0, <size_t> lexicon.n_forms * sizeof(int64_t))
    count_times(lexicon.times, ids, n_ids)
    english = count_stop_words(lexicon, own)
    for language in range(LANGUAGE_EN + 1, N_LANGUAGES):
        if (language_is_latin[language] != 0) == latin and own[language] > n_best:
            best = language
            n_best = own[language]
    if not latin:
        return best
    # Twice, so that the factor of 1.5 stays a whole number.
    if n_best >= 2 and 2 * n_best > 3 * (english - times_of_both(lexicon, best)):
        return best
    return LANGUAGE_UND if 3 * letters.accented > letters.plain else LANGUAGE_EN


# --------------------------------------------------------------------------- in the row's language

cdef inline int64_t given_stem_of(lexicon_t* lexicon, given_stems_t* given, int language,
                                  int64_t raw) noexcept nogil:
    """Id of the stem that was given for a word, or the word itself; -1 without memory."""
    cdef text_t stem
    cdef int64_t found = find_given(given, language, form_bytes(lexicon, <token_t> raw),
                                    form_size(lexicon, <token_t> raw))
    if found < 0:
        return raw if found == -1 else -1
    stem = text_at(&given.stems, found)
    return number_copy(lexicon, stem.bytes, stem.size) if stem.size else raw


cdef inline int64_t raw_of_number(lexicon_t* lexicon, int number) noexcept nogil:
    """Id of the digits that stand for an English number in letters; -1 without memory."""
    cdef const char* text = number_texts[number - 1]
    return number_copy(lexicon, <const uint8_t*> text, <int64_t> strlen(text))


cdef inline int read_listed(lexicon_t* lexicon, int language, int64_t id) noexcept nogil:
    """What a list says of a form; 0, or -1 without memory."""
    cdef bint english = language == LANGUAGE_EN
    cdef const word_facts_t* facts = lexicon.facts[id]
    cdef form_t* form = &lexicon.forms[id]
    cdef uint8_t is_stop_word = <uint8_t> (facts.stop_languages >> language & 1)
    cdef int64_t raw
    form.kinds = facts.kinds
    if english and facts.number:
        raw = raw_of_number(lexicon, facts.number)
        if raw < 0:
            return -1
        lexicon.raws[id] = form.stem = <token_t> raw
        form.flags = raw_flags(&lexicon.vocabulary.keys[raw])
    else:
        # The words of most lists: no branch on which of them are stop words.
        form.flags |= IS_STOP_WORD * is_stop_word
        form.is_content = not is_stop_word
    if english and facts.ordinal:
        form.flags |= IS_ORDINAL
    return 0


cdef inline int give_stem(lexicon_t* lexicon, int64_t id, int64_t stem) noexcept nogil:
    if stem < 0:
        return -1
    lexicon.forms[id].stem = <token_t> stem
    return 0


cdef inline int read_endings(lexicon_t* lexicon) noexcept nogil:
    """Light stems of English words; 0, or -1 without memory."""
    cdef vocabulary_t* vocabulary = &lexicon.vocabulary
    cdef worded_t words
    cdef int64_t n_cuts, i
    if reserve(<void**> &lexicon.cuts, &lexicon.cuts_capacity, lexicon.n_ending + 1,
               sizeof(cut_t)):
        return -1
    words = worded_t(vocabulary.keys, <const int64_t*> vocabulary.places, lexicon.raws,
                     lexicon.store.bytes)
    n_cuts = list_cuts(&words, lexicon.ending, lexicon.n_ending, lexicon.cuts)
    if make_room(vocabulary, &lexicon.store, vocabulary.n_tokens + n_cuts):
        return -1
    for i in range(n_cuts):
        if give_stem(lexicon, lexicon.cuts[i].id,
                     stem_of(vocabulary, &lexicon.store, &lexicon.cuts[i])):
            return -1
    return 0


cdef inline int read_forms(lexicon_t* lexicon, int language,
                           given_stems_t* given) noexcept nogil:
    """Raw form, stem and flags of each form; 0, or -1 without memory."""
    cdef int64_t id, i
    for i in range(lexicon.n_listed):
        if read_listed(lexicon, language, lexicon.listed[i]):
            return -1
    if given.n_words:
        for id in range(lexicon.n_forms):
            if give_stem(lexicon, id, given_stem_of(lexicon, given, language, lexicon.raws[id])):
                return -1
        return 0
    return read_endings(lexicon) if language == LANGUAGE_EN else 0
