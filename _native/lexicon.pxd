"""The words of a row: ids, and what each means in the language of the row.

A word's form is what was cut; its raw form is the number it spells, if any; its stem is what words
are compared by. All three are ids of one vocabulary. Each distinct word is looked up once.
"""
from libc.stdlib cimport free
from libc.string cimport memcpy, memmove, memset, strlen

from code_points cimport decode_code_point
from given_stems cimport find_given, given_stems_t
from normal_forms cimport FOLD_NUMBER, fold_flags
from primitives cimport (
    hash_t, int64_t, reserve, text_at, text_t, token_t, uint8_t, uint16_t, uint32_t, uint64_t,
)
from token_stream cimport LOWERED_MARGIN, lowered_t
from vocabulary cimport (
    clear_vocabulary, close_vocabulary, number_bytes, number_tokens, seed_vocabulary, token_key_t,
    vocabulary_t,
)
from word_facts cimport (
    LANGUAGE_EN, count_stop_word, language_counts_t, may_have_ending, may_have_facts,
    number_texts, strip_endings, word_facts, word_facts_t,
)

cdef enum:
    SLICE_WORDS = 256    # numbered at a time; the vocabulary takes chunks of up to 300
    # What is known of a form.
    IS_STOP_WORD = 1
    IS_NUMBER = 2        # its raw form begins with a numeral
    IS_LONG = 4          # its raw form has two code points or more
    IS_ORDINAL = 8       # an English ordinal in letters


cdef struct form_t:
    token_t raw
    token_t stem
    uint8_t flags
    uint8_t kinds        # WORD_* of its form
    uint8_t is_content   # 1, or 0 for a stop word


cdef struct lexicon_t:
    lowered_t store            # normal forms
    vocabulary_t vocabulary
    int64_t n_forms            # ids below are forms; what follows are raw forms and stems
    form_t* forms
    int64_t forms_capacity
    const word_facts_t** facts
    int64_t facts_capacity
    token_t* listed            # forms that a list has
    int64_t listed_capacity
    int64_t n_listed
    token_t* odd               # forms whose raw form or stem may be another, listed ones among them
    int64_t odd_capacity
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
    free(lexicon.odd)
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
    return lexicon.store.bytes + lexicon.vocabulary.keys[id].begin


cdef inline int64_t form_size(const lexicon_t* lexicon, token_t id) noexcept nogil:
    cdef int64_t size = lexicon.vocabulary.keys[id].size
    return size if size > 0 else -size


cdef inline int64_t number_form(lexicon_t* lexicon, int64_t size) noexcept nogil:
    """Id of the form of ``size`` bytes that lies behind the store's end; -1 without memory."""
    cdef vocabulary_t* vocabulary = &lexicon.vocabulary
    cdef int64_t n_known = vocabulary.n_tokens, id
    id = number_bytes(vocabulary, &lexicon.store, lexicon.store.size, size)
    if id >= n_known:
        lexicon.store.size += size
    return id


cdef inline int64_t number_copy(lexicon_t* lexicon, const uint8_t* form,
                                int64_t size) noexcept nogil:
    """Id of a copy of some bytes from outside the store; -1 without memory."""
    cdef lowered_t* store = &lexicon.store
    if reserve(<void**> &store.bytes, &store.capacity, store.size + size + LOWERED_MARGIN, 1):
        return -1
    memcpy(store.bytes + store.size, form, <size_t> size)
    return number_form(lexicon, size)


# ------------------------------------------------------------------------------ before the language

cdef inline int look_up_forms(lexicon_t* lexicon) noexcept nogil:
    """Facts of all words so far; 0, or -1 without memory."""
    cdef int64_t n_forms = lexicon.vocabulary.n_tokens, id
    cdef const token_key_t* keys = lexicon.vocabulary.keys
    cdef const word_facts_t* facts
    cdef int64_t n_sifted = 0, n_listed = 0, i
    lexicon.n_forms = n_forms
    if reserve(<void**> &lexicon.forms, &lexicon.forms_capacity, n_forms, sizeof(form_t)):
        return -1
    if reserve(<void**> &lexicon.facts, &lexicon.facts_capacity, n_forms,
               sizeof(const word_facts_t*)):
        return -1
    if reserve(<void**> &lexicon.listed, &lexicon.listed_capacity, n_forms + 1, sizeof(token_t)):
        return -1
    # Sifted first, without a branch: which words are listed is a toss-up.
    for id in range(n_forms):
        lexicon.facts[id] = NULL
        lexicon.listed[n_sifted] = <token_t> id
        n_sifted += may_have_facts(keys[id].ends.head, keys[id].ends.tail)
    for i in range(n_sifted):
        id = lexicon.listed[i]
        # The size of a word past sixteen bytes is negative, and no list has one.
        facts = word_facts(keys[id].ends.head, keys[id].ends.tail, keys[id].size)
        lexicon.facts[id] = facts
        lexicon.listed[n_listed] = <token_t> id
        n_listed += facts != NULL
    lexicon.n_listed = n_listed
    return 0


cdef inline int count_languages(lexicon_t* lexicon, const token_t* ids, int64_t n_ids,
                                language_counts_t* counts) noexcept nogil:
    """Count the stop words of every language among some words; 0, or -1 without memory."""
    cdef const word_facts_t* facts
    cdef int64_t i
    if reserve(<void**> &lexicon.times, &lexicon.times_capacity, lexicon.n_forms,
               sizeof(int64_t)):
        return -1
    if lexicon.n_forms:
        memset(lexicon.times, 0, <size_t> lexicon.n_forms * sizeof(int64_t))
    for i in range(n_ids):
        lexicon.times[ids[i]] += 1
    for i in range(lexicon.n_listed):
        facts = lexicon.facts[lexicon.listed[i]]
        if facts.stop_languages:
            count_stop_word(counts, facts.stop_languages, lexicon.times[lexicon.listed[i]])
    return 0


# --------------------------------------------------------------------------- in the row's language

cdef inline bint is_ascii_form(const lexicon_t* lexicon, token_t id) noexcept nogil:
    cdef const token_key_t* key = &lexicon.vocabulary.keys[id]
    cdef const uint8_t* form
    cdef int64_t i
    if key.size > 0:
        return (key.ends.head | key.ends.tail) & <uint64_t> 0x8080808080808080 == 0
    form = form_bytes(lexicon, id)
    for i in range(-key.size):
        if form[i] >= 0x80:
            return False
    return True


cdef inline uint8_t raw_flags(const token_key_t* key) noexcept nogil:
    """IS_NUMBER and IS_LONG of a raw form."""
    cdef uint8_t first = <uint8_t> key.ends.head
    cdef uint32_t first_point
    cdef int width
    if first < 0x80:
        return IS_NUMBER * (first <= 0x39) | IS_LONG * (key.size != 1)
    first_point = decode_code_point(<const uint8_t*> &key.ends.head, 8, 0, &width)
    return ((IS_NUMBER if fold_flags(first_point) & FOLD_NUMBER else 0)
            | (IS_LONG if key.size != width else 0))


cdef inline bint may_have_stem(const token_key_t* key) noexcept nogil:
    """False of most words that are their own stem; without a branch."""
    cdef int64_t width = key.size if key.size < 8 else 8
    cdef uint64_t ending = key.ends.tail >> (8 * (width - 2) & 63)
    return (key.size < 0) | (key.size > 3) & may_have_ending(<uint16_t> ending)


cdef inline int64_t stem_of(lexicon_t* lexicon, int64_t raw) noexcept nogil:
    """Id of the light stem of an English word; -1 without memory."""
    cdef lowered_t* store = &lexicon.store
    cdef int64_t size = form_size(lexicon, <token_t> raw), stem_size
    cdef uint8_t* stem
    cdef uint8_t last
    if not is_ascii_form(lexicon, <token_t> raw):
        return raw
    if reserve(<void**> &store.bytes, &store.capacity, store.size + size + LOWERED_MARGIN, 1):
        return -1
    stem = store.bytes + store.size
    # Most words are copied at once; the last one of the store overlaps its copy.
    memmove(stem, form_bytes(lexicon, <token_t> raw), 16)
    if size > 16:
        memcpy(stem, form_bytes(lexicon, <token_t> raw), <size_t> size)
    last = stem[size - 1]
    if not 0x61 <= last <= 0x7A:
        return raw
    stem_size = strip_endings(stem, size)
    if stem_size == size and stem[size - 1] == last:
        return raw
    return number_form(lexicon, stem_size)


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


cdef inline int64_t sift_forms(lexicon_t* lexicon, bint all_odd, bint english) noexcept nogil:
    """Let each form be its own raw form and stem, and list those that may not as ``odd``.

    Returns how many are odd. Without a branch: which words those are is a toss-up.
    """
    cdef const token_key_t* keys = lexicon.vocabulary.keys
    cdef const word_facts_t** facts = lexicon.facts
    cdef form_t* forms = lexicon.forms
    cdef token_t* odd = lexicon.odd
    cdef int64_t n_forms = lexicon.n_forms, n_odd = 0, id
    for id in range(n_forms):
        forms[id].raw = forms[id].stem = <token_t> id
        forms[id].flags = raw_flags(&keys[id])
        forms[id].kinds = 0
        forms[id].is_content = 1
        odd[n_odd] = <token_t> id
        n_odd += all_odd | (facts[id] != NULL) | english & may_have_stem(&keys[id])
    return n_odd


cdef inline int read_form(lexicon_t* lexicon, int language, given_stems_t* given,
                          int64_t id) noexcept nogil:
    """Raw form, stem and flags of an odd form; 0, or -1 without memory."""
    cdef bint english = language == LANGUAGE_EN
    cdef const word_facts_t* facts = lexicon.facts[id]
    cdef form_t* form = &lexicon.forms[id]
    cdef int64_t raw = id, stem
    form.flags = 0
    if facts != NULL:
        form.kinds = facts.kinds
        if english and facts.number:
            raw = number_copy(lexicon, <const uint8_t*> number_texts[facts.number - 1],
                              <int64_t> strlen(number_texts[facts.number - 1]))
            if raw < 0:
                return -1
        elif facts.stop_languages >> language & 1:
            form.flags = IS_STOP_WORD
            form.is_content = 0
        if english and facts.ordinal:
            form.flags |= IS_ORDINAL
    stem = raw
    if given.n_words:
        stem = given_stem_of(lexicon, given, language, raw)
    elif english and may_have_stem(&lexicon.vocabulary.keys[raw]):
        stem = stem_of(lexicon, raw)
    if stem < 0:
        return -1
    form.raw = <token_t> raw
    form.stem = <token_t> stem
    form.flags |= raw_flags(&lexicon.vocabulary.keys[raw])
    return 0


cdef inline int read_forms(lexicon_t* lexicon, int language,
                           given_stems_t* given) noexcept nogil:
    """Raw form, stem and flags of each form; 0, or -1 without memory."""
    cdef int64_t n_odd, i
    if reserve(<void**> &lexicon.odd, &lexicon.odd_capacity, lexicon.n_forms + 1,
               sizeof(token_t)):
        return -1
    n_odd = sift_forms(lexicon, given.n_words > 0, language == LANGUAGE_EN)
    for i in range(n_odd):
        if read_form(lexicon, language, given, lexicon.odd[i]):
            return -1
    return 0
