"""All texts of a row as words: cleaned, cut, numbered and read in one language.

Words of all texts lie end to end; a piece says which are whose.
"""
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memset

from capitals cimport NOT_CAPITALISED, mark_capitals
from claim_sentences cimport cut_sentences, sentence_t, sentences_t
from clean_text cimport clean_composed, clean_text, cleaner_t, close_cleaner
from given_stems cimport close_given_stems, given_stems_t
from lexicon cimport (
    clear_lexicon, close_lexicon, detect_language, form_t, letter_counts_t, lexicon_t,
    look_up_forms, number_words, open_lexicon, read_forms,
)
from normal_forms cimport FOLD_UPPER
from primitives cimport (
    hash_t, int64_t, reserve, span_t, text_t, token_t, uint8_t, uint32_t, uint64_t,
)
from token_stream cimport LOWERED_MARGIN, lowered_t
from utf8 cimport has_high_byte
from word_cutter cimport close_word_cutter, open_word_cutter, word_cutter_t
from word_facts cimport NO_FACTS, word_facts_t
from words cimport cut_words

cdef extern from "byte_kinds.h" nogil:
    int64_t count_ascii_letters(const uint8_t* bytes, int64_t size) noexcept

cdef enum:
    DETECT = -1      # the language is found in the texts
    # What a text is cut for.
    WANTS_SENTENCES = 1
    WANTS_LETTERS = 2
    WANTS_CAPITALS = 4
    # Where the origins of a text's bytes are kept.
    UNCHANGED = -1
    ASCII_ALONE = -1           # a byte is a code point
    COUNTED_BYTES = 256
    MAX_WORDS = 0x7FFFFFFF     # of a row


cdef struct piece_t:
    int64_t first              # words of the row: first to last, one past it
    int64_t last
    int64_t first_sentence
    int64_t last_sentence
    int64_t letters            # begin in the row's letters
    int64_t letters_size
    text_t text                # as it came
    int64_t origin             # of its cleaned bytes, or UNCHANGED; where origins are kept
    int64_t counts             # of its code points, or ASCII_ALONE; where it is unchanged
    int64_t index              # of a ground truth among those of its row
    bint refuses               # ... and whether it only refuses; where that is asked for


cdef struct row_words_t:
    cleaner_t cleaner
    word_cutter_t cutter       # has the spans of all words, each in its cleaned text
    lexicon_t lexicon
    sentences_t sentences      # their words counted from the piece's first
    lowered_t letters
    token_t* ids               # forms
    int64_t ids_capacity
    token_t* stems
    int64_t stems_capacity
    token_t* content_stems     # those of content words, without the stop words between them
    int64_t content_stems_capacity
    int64_t* content_before    # per word, and behind the last: content words before it
    int64_t content_before_capacity
    uint8_t* capitals
    int64_t capitals_capacity
    int64_t n_words
    int64_t* point_counts      # code points before each 256th byte of texts that are unchanged
    int64_t point_counts_capacity
    int64_t n_point_counts
    given_stems_t given_stems
    letter_counts_t counts
    int language
    bint keep_square


cdef inline void open_row_words(row_words_t* words, hash_t seed) noexcept nogil:
    open_lexicon(&words.lexicon, seed)
    open_word_cutter(&words.cutter)


cdef inline void close_row_words(row_words_t* words) noexcept nogil:
    close_cleaner(&words.cleaner)
    close_word_cutter(&words.cutter)
    close_lexicon(&words.lexicon)
    close_given_stems(&words.given_stems)
    free(words.sentences.items)
    free(words.letters.bytes)
    free(words.ids)
    free(words.stems)
    free(words.content_stems)
    free(words.content_before)
    free(words.capitals)
    free(words.point_counts)


cdef inline int begin_row(row_words_t* words, int64_t n_slots, bint keep_square) noexcept nogil:
    words.n_words = words.cutter.n_spans = words.sentences.size = words.letters.size = 0
    words.cleaner.origins.size = words.n_point_counts = 0
    words.keep_square = keep_square
    memset(&words.counts, 0, sizeof(letter_counts_t))
    return clear_lexicon(&words.lexicon, n_slots)


cdef inline int take_words(row_words_t* words, piece_t* piece) noexcept nogil:
    """Number the words just cut and add them to the row's; 0, or -1 without memory."""
    cdef int64_t first = words.n_words, n_words = words.cutter.n_words
    if first + n_words > MAX_WORDS:
        return -1
    if reserve(<void**> &words.ids, &words.ids_capacity, first + n_words, sizeof(token_t)):
        return -1
    if number_words(&words.lexicon, words.cutter.base, words.cutter.forms, n_words,
                    words.ids + first):
        return -1
    words.n_words = words.cutter.n_spans = piece.last = first + n_words
    piece.first = first
    return 0


cdef inline int take_letters(row_words_t* words, piece_t* piece) noexcept nogil:
    cdef lowered_t* taken = &words.letters
    piece.letters = taken.size
    piece.letters_size = words.cutter.letters.size
    if reserve(<void**> &taken.bytes, &taken.capacity,
               taken.size + piece.letters_size + LOWERED_MARGIN, 1):
        return -1
    if piece.letters_size:
        memcpy(taken.bytes + taken.size, words.cutter.letters.bytes, <size_t> piece.letters_size)
    taken.size += piece.letters_size
    return 0


cdef inline int take_sentences(row_words_t* words, text_t text, piece_t* piece) noexcept nogil:
    piece.first_sentence = words.sentences.size
    if cut_sentences(&words.sentences, text, words.cutter.spans + piece.first,
                     piece.last - piece.first):
        return -1
    piece.last_sentence = words.sentences.size
    return 0


cdef inline int take_capitals(row_words_t* words, text_t text, piece_t* piece,
                              bint by_sentence) noexcept nogil:
    """Mark capitalised words, of each sentence or of the whole text as one."""
    cdef int64_t i
    cdef sentence_t whole
    if piece.first == piece.last:
        return 0
    if reserve(<void**> &words.capitals, &words.capitals_capacity, piece.last, 1):
        return -1
    # In the store is the text with its letters of ASCII in lower case.
    if not words.cutter.seen.flags & FOLD_UPPER and memcmp(
            words.lexicon.store.bytes + words.cutter.base, text.bytes, <size_t> text.size) == 0:
        memset(words.capitals + piece.first, NOT_CAPITALISED, <size_t> (piece.last - piece.first))
        return 0
    if by_sentence:
        for i in range(piece.first_sentence, piece.last_sentence):
            mark_capitals(text, &words.sentences.items[i], True,
                          words.cutter.spans + piece.first, words.capitals + piece.first)
        return 0
    whole.begin = whole.first = 0
    whole.end = text.size
    whole.last = piece.last - piece.first
    # Names may open sentences: what else opens there tells nothing.
    mark_capitals(text, &whole, False, words.cutter.spans + piece.first,
                  words.capitals + piece.first)
    return 0


cdef inline int cut_cleaned(row_words_t* words, text_t text, text_t* cleaned) noexcept nogil:
    """Clean and cut a text, as if it were in NFC and once more if it is not; 0, or -1."""
    cdef lowered_t* store = &words.lexicon.store
    cdef int64_t before = store.size
    if clean_text(&words.cleaner, text, words.keep_square, cleaned):
        return -1
    if cut_words(&words.cutter, store, cleaned[0]):
        return -1
    if words.cutter.seen.is_composed or cleaned.bytes != text.bytes:
        return 0
    store.size = before
    if clean_composed(&words.cleaner, text, words.keep_square, cleaned):
        return -1
    return cut_words(&words.cutter, store, cleaned[0])


cdef inline int64_t code_points(const uint8_t* bytes_, int64_t size) noexcept nogil:
    """How many begin among some bytes."""
    cdef int64_t n = 0, i
    for i in range(size):
        n += bytes_[i] & 0xC0 != 0x80
    return n


cdef inline int keep_origin(row_words_t* words, text_t text, bint is_changed,
                            piece_t* piece) noexcept nogil:
    """Note how the code points of a text are found that its cleaned bytes stand for; 0, or -1."""
    cdef int64_t n = 0, i
    if is_changed:
        return 0
    piece.origin = UNCHANGED
    piece.counts = ASCII_ALONE
    if not has_high_byte(text.bytes, text.size):
        return 0
    piece.counts = words.n_point_counts
    if reserve(<void**> &words.point_counts, &words.point_counts_capacity,
               piece.counts + text.size // COUNTED_BYTES + 1, sizeof(int64_t)):
        return -1
    for i in range(text.size // COUNTED_BYTES + 1):
        words.point_counts[piece.counts + i] = n
        n += code_points(text.bytes + i * COUNTED_BYTES,
                         min(<int64_t> COUNTED_BYTES, text.size - i * COUNTED_BYTES))
    words.n_point_counts += text.size // COUNTED_BYTES + 1
    return 0


cdef inline int64_t points_before(const row_words_t* words, const piece_t* piece,
                                  int64_t at) noexcept nogil:
    """Code points before a byte of a text that is unchanged."""
    cdef int64_t number = at // COUNTED_BYTES, begin = number * COUNTED_BYTES
    if piece.counts == ASCII_ALONE:
        return at
    return words.point_counts[piece.counts + number] + code_points(
        piece.text.bytes + begin, at - begin)


cdef inline span_t original_span(const row_words_t* words, const piece_t* piece, int64_t begin,
                                 int64_t end) noexcept nogil:
    """Code points of the original string that the cleaned bytes ``[begin, end)`` stand for."""
    cdef const span_t* origins
    cdef span_t span
    if piece.origin == UNCHANGED:
        span.begin = points_before(words, piece, begin)
        span.end = points_before(words, piece, end)
    else:
        origins = words.cleaner.origins.spans + piece.origin
        span.begin = origins[begin].begin
        span.end = origins[end - 1].end
    return span


cdef inline int add_piece(row_words_t* words, text_t text, int wants,
                          piece_t* piece) noexcept nogil:
    """Clean and cut one text; 0, or -1 without memory."""
    cdef text_t cleaned
    memset(piece, 0, sizeof(piece_t))
    piece.text = text
    piece.origin = words.cleaner.origins.size
    words.cutter.wants_letters = wants & WANTS_LETTERS != 0
    if cut_cleaned(words, text, &cleaned) or take_words(words, piece):
        return -1
    if words.cleaner.keep_origins and keep_origin(words, text, cleaned.bytes != text.bytes, piece):
        return -1
    words.counts.plain += count_ascii_letters(cleaned.bytes, cleaned.size)
    words.counts.accented += <uint32_t> words.cutter.seen.letters
    words.counts.other += <int64_t> (words.cutter.seen.letters >> 32)
    if wants & WANTS_LETTERS and take_letters(words, piece):
        return -1
    if wants & WANTS_SENTENCES and take_sentences(words, cleaned, piece):
        return -1
    if wants & WANTS_CAPITALS:
        return take_capitals(words, cleaned, piece, wants & WANTS_SENTENCES != 0)
    return 0


cdef inline int list_stems(row_words_t* words) noexcept nogil:
    """Stems of all words and of the content words; 0, or -1 without memory."""
    # In locals: the compiler cannot know that no store of the loop changes them.
    cdef const token_t* ids = words.ids
    cdef const form_t* forms = words.lexicon.forms
    cdef const form_t* form
    cdef token_t* stems
    cdef token_t* content_stems
    cdef int64_t* content_before
    cdef int64_t n_words = words.n_words, n_content = 0, i
    cdef token_t stem
    if reserve(<void**> &words.stems, &words.stems_capacity, n_words + 1, sizeof(token_t)):
        return -1
    if reserve(<void**> &words.content_stems, &words.content_stems_capacity, n_words + 1,
               sizeof(token_t)):
        return -1
    if reserve(<void**> &words.content_before, &words.content_before_capacity, n_words + 1,
               sizeof(int64_t)):
        return -1
    stems = words.stems
    content_stems = words.content_stems
    content_before = words.content_before
    for i in range(n_words):
        form = &forms[ids[i]]
        stem = form.stem
        stems[i] = stem
        content_before[i] = n_content
        # Written always and kept where there is content.
        content_stems[n_content] = stem
        n_content += form.is_content
    content_before[n_words] = n_content
    return 0


cdef inline int read_words(row_words_t* words, int language) noexcept nogil:
    """Settle the language of the row and look each word up in it; 0, or -1 without memory."""
    if look_up_forms(&words.lexicon):
        return -1
    if language == DETECT:
        language = detect_language(&words.lexicon, words.ids, words.n_words, &words.counts)
        if language < 0:
            return -1
    words.language = language
    if read_forms(&words.lexicon, language, &words.given_stems):
        return -1
    return list_stems(words)


cdef inline token_t raw_of(const row_words_t* words, int64_t word) noexcept nogil:
    """A word's form, or the digits that it stands for."""
    return words.lexicon.raws[words.ids[word]]


cdef inline const word_facts_t* facts_of(const row_words_t* words, int64_t word) noexcept nogil:
    """What the lists say of a word, NULL for one that is in none."""
    return words.lexicon.facts[words.ids[word]]


cdef inline uint64_t roles_of(const row_words_t* words, int64_t word) noexcept nogil:
    """Bits ROLE_* of a word."""
    cdef const word_facts_t* facts = facts_of(words, word)
    # No branch on it: whether a list has a word cannot be guessed.
    return (<const word_facts_t*> (
        <size_t> facts | (<size_t> NO_FACTS & (0 - <size_t> (facts == NULL))))).roles


cdef inline int64_t count_content(const row_words_t* words, int64_t first,
                                  int64_t last) noexcept nogil:
    """How many of some words are content words."""
    return words.content_before[last] - words.content_before[first]


cdef inline bint is_content(const row_words_t* words, int64_t word) noexcept nogil:
    return count_content(words, word, word + 1) != 0


cdef inline const token_t* content_or_all(const row_words_t* words, int64_t first, int64_t last,
                                          int64_t* n) noexcept nogil:
    """Stems of the content words among some, of all words when there is none; and how many."""
    n[0] = count_content(words, first, last)
    if n[0]:
        return words.content_stems + words.content_before[first]
    n[0] = last - first
    return words.stems + first


cdef inline int64_t n_stems(const row_words_t* words) noexcept nogil:
    """Stems are below this."""
    return words.lexicon.vocabulary.n_tokens
