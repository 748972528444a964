"""How far the chunks of a row carry its claims: the sentences of the answer and of the truths.

Per sentence: the share of its content stems within one window of a chunk, the share of its pairs
of neighbouring stems that a chunk has, the shares of its numbers and of its names that a chunk or
the question has.
"""
from libc.stdlib cimport free
from libc.string cimport memset

from claim_sentences cimport CAPITALISED, NOT_CAPITALISED, sentence_t
from lexicon cimport IS_LONG, IS_NUMBER, IS_STOP_WORD, form_t
from ngram_sets cimport (
    begin_tally, clear_grams, find_gram, gram_pair, grams_t, number_gram, tally_ids, tally_t,
    widen_tally,
)
from primitives cimport hash_t, int64_t, reserve, token_t, uint8_t, uint64_t
from row_words cimport n_stems, piece_t, row_words_t, take_content
from stopping cimport is_stopped
from windows cimport (
    best_window, close_occurrences, list_occurrences, occurrences_t, window_t,
)

cdef extern from *:
    """
    static const double WINDOW_WEIGHT = 0.40, BIGRAM_WEIGHT = 0.35, NUMBER_WEIGHT = 0.10,
        NAME_WEIGHT = 0.15, SENTENCE_CUT = 0.60;
    """
    const double WINDOW_WEIGHT
    const double BIGRAM_WEIGHT
    const double NUMBER_WEIGHT
    const double NAME_WEIGHT
    const double SENTENCE_CUT

cdef enum:
    MIN_WINDOW = 30
    WINDOW_FACTOR = 3
    # What is known of a stem or a raw form, by its id.
    STEM_IN_CLAIM = 1
    STEM_WANTED = 2            # its places in the chunks are listed
    STEM_IN_CHUNK = 4
    RAW_IN_CHUNK = 8
    STEM_IN_QUESTION = 16
    RAW_IN_QUESTION = 32


cdef struct claim_t:
    int64_t types              # distinct content stems: begin in ``types``, and how many
    int64_t n_types
    int64_t n_content          # with repeats
    int64_t pairs              # distinct bigrams: begin in ``pairs``, and how many
    int64_t n_pairs


cdef struct support_t:
    double score
    double window              # share of the content stems in the best window
    window_t where


cdef struct counted_t:
    int64_t n_found            # numbers, distinct in their sentence, or names with repeats
    int64_t n_missing          # ... that neither a chunk nor the question has


cdef struct claims_t:
    claim_t* claims            # one per sentence of the row
    int64_t claims_capacity
    support_t* supports        # ... and how far each is carried
    int64_t supports_capacity
    token_t* types
    int64_t types_capacity
    int64_t n_types
    token_t* pairs
    int64_t pairs_capacity
    int64_t n_pairs
    token_t* content           # of the sentence at hand
    int64_t content_capacity
    grams_t grams
    tally_t tally
    uint8_t* pair_found        # per bigram of a claim: a chunk has it
    int64_t pair_found_capacity
    int64_t n_pairs_found      # ... which they are, in ``neighbours``
    int64_t first_marked       # words of the chunks that are marked
    int64_t last_marked
    uint8_t* marks             # per id
    int64_t marks_capacity
    occurrences_t occurrences
    int64_t* hits
    int64_t hits_capacity
    int64_t* neighbours        # words that, with the next, may be a claim's bigram
    int64_t neighbours_capacity
    counted_t numbers          # of the text whose support was scored last
    counted_t names
    const uint8_t* stop        # set when nobody waits for the scores any more


cdef inline void close_claims(claims_t* claims) noexcept nogil:
    free(claims.claims)
    free(claims.supports)
    free(claims.types)
    free(claims.pairs)
    free(claims.content)
    free(claims.grams.slots)
    free(claims.tally.cells)
    free(claims.pair_found)
    free(claims.marks)
    close_occurrences(&claims.occurrences)
    free(claims.hits)
    free(claims.neighbours)


cdef inline int begin_claims(claims_t* claims, const row_words_t* words,
                             int64_t n_slots) noexcept nogil:
    """Forget the row before; 0, or -1 without memory."""
    cdef int64_t n_sentences = words.sentences.size
    claims.n_types = claims.n_pairs = claims.first_marked = claims.last_marked = 0
    if reserve(<void**> &claims.claims, &claims.claims_capacity, n_sentences, sizeof(claim_t)):
        return -1
    if reserve(<void**> &claims.supports, &claims.supports_capacity, n_sentences,
               sizeof(support_t)):
        return -1
    if reserve(<void**> &claims.marks, &claims.marks_capacity, n_stems(words) + 1, 1):
        return -1
    memset(claims.marks, 0, <size_t> n_stems(words))
    return clear_grams(&claims.grams, n_slots)


# ------------------------------------------------------------------------------- what is claimed

cdef inline int64_t content_or_all(claims_t* claims, const row_words_t* words, int64_t first,
                                   int64_t last) noexcept nogil:
    """Stems of the content words, of all words when there is none; how many, or -1."""
    cdef int64_t n, i
    if reserve(<void**> &claims.content, &claims.content_capacity, last - first + 1,
               sizeof(token_t)):
        return -1
    n = take_content(words, first, last, claims.content)
    if n == 0:
        for i in range(first, last):
            claims.content[i - first] = words.stems[i]
        n = last - first
    return n


cdef inline int64_t add_types(claims_t* claims, const row_words_t* words,
                              int64_t n_content) noexcept nogil:
    """Add the distinct stems of ``content`` to ``types`` and want their places; how many."""
    cdef int64_t n, i
    if begin_tally(&claims.tally, n_stems(words)):
        return -1
    if reserve(<void**> &claims.types, &claims.types_capacity, claims.n_types + n_content + 1,
               sizeof(token_t)):
        return -1
    n = tally_ids(&claims.tally, claims.content, n_content, claims.types + claims.n_types)
    for i in range(claims.n_types, claims.n_types + n):
        claims.marks[claims.types[i]] |= STEM_WANTED
    claims.n_types += n
    return n


cdef inline int64_t add_pairs(claims_t* claims, const row_words_t* words, int64_t first,
                              int64_t last) noexcept nogil:
    """Add the distinct bigrams of some words to ``pairs``; how many, or -1 without memory."""
    cdef int64_t id, n = 0, i
    if reserve(<void**> &claims.pairs, &claims.pairs_capacity, claims.n_pairs + last - first,
               sizeof(token_t)):
        return -1
    if begin_tally(&claims.tally, claims.grams.n_grams):
        return -1
    for i in range(first, last):
        claims.marks[words.stems[i]] |= STEM_IN_CLAIM
    for i in range(first, last - 1):
        id = number_gram(&claims.grams, gram_pair(<uint64_t> words.stems[i],
                                                  words.stems[i + 1]))
        if id < 0 or widen_tally(&claims.tally, claims.grams.n_grams):
            return -1
        if claims.tally.cells[id] < claims.tally.stamp:
            claims.tally.cells[id] = claims.tally.stamp
            claims.pairs[claims.n_pairs + n] = <token_t> id
            n += 1
    claims.n_pairs += n
    return n


cdef inline int add_claims(claims_t* claims, const row_words_t* words,
                           const piece_t* piece) noexcept nogil:
    """Set out what the sentences of a text claim; 0, or -1 without memory."""
    cdef const sentence_t* sentence
    cdef claim_t* claim
    cdef int64_t i, first, last
    for i in range(piece.first_sentence, piece.last_sentence):
        sentence = &words.sentences.items[i]
        claim = &claims.claims[i]
        first = piece.first + sentence.first
        last = piece.first + sentence.last
        claim.types = claims.n_types
        claim.n_content = content_or_all(claims, words, first, last)
        if claim.n_content < 0:
            return -1
        claim.n_types = add_types(claims, words, claim.n_content)
        claim.pairs = claims.n_pairs
        claim.n_pairs = add_pairs(claims, words, first, last)
        if claim.n_types < 0 or claim.n_pairs < 0:
            return -1
    return 0


cdef inline void mark_words(claims_t* claims, const row_words_t* words, int64_t first,
                            int64_t last, uint8_t stem_mark, uint8_t raw_mark) noexcept nogil:
    """Mark the stems and raw forms of some words."""
    cdef const form_t* form
    cdef int64_t i
    for i in range(first, last):
        form = &words.lexicon.forms[words.ids[i]]
        claims.marks[form.stem] |= stem_mark
        claims.marks[form.raw] |= raw_mark


# --------------------------------------------------------------------------- what the chunks have

cdef inline void forget_chunks(claims_t* claims, const row_words_t* words) noexcept nogil:
    """Undo what the chunks before left, in the time that it took: they may be many."""
    cdef const form_t* form
    cdef int64_t i
    for i in range(claims.first_marked, claims.last_marked):
        form = &words.lexicon.forms[words.ids[i]]
        claims.marks[form.stem] &= ~<uint8_t> (STEM_IN_CHUNK | RAW_IN_CHUNK)
        claims.marks[form.raw] &= ~<uint8_t> (STEM_IN_CHUNK | RAW_IN_CHUNK)
    for i in range(claims.n_pairs_found):
        claims.pair_found[claims.neighbours[i]] = False
    claims.n_pairs_found = claims.first_marked = claims.last_marked = 0


cdef inline int reserve_pairs(claims_t* claims) noexcept nogil:
    """Room to mark the bigrams of all claims, none of which is; 0, or -1 without memory."""
    cdef int64_t before = claims.pair_found_capacity
    if reserve(<void**> &claims.pair_found, &claims.pair_found_capacity, claims.grams.n_grams, 1):
        return -1
    if claims.pair_found_capacity > before:
        memset(claims.pair_found + before, 0, <size_t> (claims.pair_found_capacity - before))
    return 0


cdef inline int sift_chunks(claims_t* claims, const row_words_t* words, const piece_t* chunks,
                            int64_t n_chunks) noexcept nogil:
    """Find what the chunks share with the claims and the questions; 0, or -1 without memory.

    Chunks lie end to end. One pass without a branch keeps the places of wanted stems, and of
    neighbours that both stand in a claim.
    """
    cdef int64_t first = chunks[0].first if n_chunks else 0
    cdef int64_t last = chunks[n_chunks - 1].last if n_chunks else 0
    cdef int64_t n_hits = 0, n_neighbours = 0, chunk, i, id
    cdef uint8_t mark, before
    forget_chunks(claims, words)
    if reserve(<void**> &claims.hits, &claims.hits_capacity, last - first + 1, sizeof(int64_t)):
        return -1
    if reserve(<void**> &claims.neighbours, &claims.neighbours_capacity, last - first + 1,
               sizeof(int64_t)):
        return -1
    mark_words(claims, words, first, last, STEM_IN_CHUNK, RAW_IN_CHUNK)
    claims.first_marked = first
    claims.last_marked = last
    for chunk in range(n_chunks):
        before = 0
        for i in range(chunks[chunk].first, chunks[chunk].last):
            mark = claims.marks[words.stems[i]]
            claims.hits[n_hits] = i
            n_hits += mark & STEM_WANTED != 0
            claims.neighbours[n_neighbours] = i - 1
            n_neighbours += before & mark & STEM_IN_CLAIM
            before = mark
    if reserve_pairs(claims):
        return -1
    for i in range(n_neighbours):
        id = find_gram(&claims.grams, gram_pair(
            <uint64_t> words.stems[claims.neighbours[i]], words.stems[claims.neighbours[i] + 1]))
        if id >= 0:
            claims.pair_found[id] = True
            claims.neighbours[claims.n_pairs_found] = id
            claims.n_pairs_found += 1
    return list_occurrences(&claims.occurrences, words.stems, claims.hits, n_hits,
                            n_stems(words))


# ------------------------------------------------------------------------------------- support

cdef inline double share_found(int64_t n_found, int64_t n_missing) noexcept nogil:
    """1 where nothing was to be found."""
    return 1.0 - <double> n_missing / <double> n_found if n_found else 1.0


cdef inline double clamped(double value) noexcept nogil:
    return 0.0 if value < 0.0 else 1.0 if value > 1.0 else value


cdef inline bint is_missing_number(const claims_t* claims, const form_t* form) noexcept nogil:
    return not claims.marks[form.raw] & (RAW_IN_CHUNK | RAW_IN_QUESTION)


cdef inline bint is_name(const row_words_t* words, int64_t word) noexcept nogil:
    """Capitalised, of two letters or more, and no stop word."""
    cdef uint8_t flags = words.lexicon.forms[words.ids[word]].flags
    return (words.capitals[word] != NOT_CAPITALISED and flags & IS_LONG
            and not flags & IS_STOP_WORD)


cdef inline bint is_missing_name(const claims_t* claims, const form_t* form) noexcept nogil:
    return not claims.marks[form.stem] & (STEM_IN_CHUNK | STEM_IN_QUESTION)


cdef inline int count_figures(claims_t* claims, const row_words_t* words, int64_t first,
                              int64_t last, counted_t* numbers,
                              counted_t* names) noexcept nogil:
    """Count distinct numbers and capitalised words of a sentence; 0, or -1 without memory."""
    cdef const form_t* form
    cdef int64_t i
    memset(numbers, 0, sizeof(counted_t))
    memset(names, 0, sizeof(counted_t))
    if begin_tally(&claims.tally, n_stems(words)):
        return -1
    for i in range(first, last):
        form = &words.lexicon.forms[words.ids[i]]
        if form.flags & IS_NUMBER and claims.tally.cells[form.raw] < claims.tally.stamp:
            claims.tally.cells[form.raw] = claims.tally.stamp
            numbers.n_found += 1
            numbers.n_missing += is_missing_number(claims, form)
        if words.capitals[i] == CAPITALISED and is_name(words, i):
            names.n_found += 1
            names.n_missing += is_missing_name(claims, form)
    return 0


cdef inline double bigram_share(const claims_t* claims, const claim_t* claim,
                                token_t first_stem) noexcept nogil:
    """Share of a sentence's bigrams that a chunk has; of a single word, whether one has it."""
    cdef int64_t found = 0, i
    if claim.n_pairs == 0:
        return 1.0 if claims.marks[first_stem] & STEM_IN_CHUNK else 0.0
    for i in range(claim.pairs, claim.pairs + claim.n_pairs):
        found += claims.pair_found[claims.pairs[i]]
    return <double> found / <double> claim.n_pairs


cdef struct parts_t:
    double bigram              # share of a sentence's bigrams
    counted_t numbers
    counted_t names


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
    if count_figures(claims, words, first, last, &parts.numbers, &parts.names):
        return -1
    support.window = <double> support.where.n_found / <double> claim.n_types
    parts.bigram = bigram_share(claims, claim, words.stems[first])
    support.score = clamped(
        WINDOW_WEIGHT * support.window + BIGRAM_WEIGHT * parts.bigram
        + NUMBER_WEIGHT * share_found(parts.numbers.n_found, parts.numbers.n_missing)
        + NAME_WEIGHT * share_found(parts.names.n_found, parts.names.n_missing))
    return 0


cdef inline bint is_too_short(const claim_t* claim, int64_t n_words) noexcept nogil:
    """A text of so many words, each of which may be a stem and a bigram, cannot reach the cut."""
    cdef double n = <double> n_words
    return (WINDOW_WEIGHT * n / <double> claim.n_types
            + BIGRAM_WEIGHT * n / <double> max(<int64_t> 1, claim.n_pairs)
            + NUMBER_WEIGHT + NAME_WEIGHT) < SENTENCE_CUT - 0.01


cdef inline int support_piece(claims_t* claims, const row_words_t* words, const piece_t* piece,
                              const int64_t* chunk_begins, int64_t n_chunks,
                              double* score) noexcept nogil:
    """Score a text and each of its sentences, of which there is one; 0, or -1 if ended early.

    The text's score takes windows and bigrams by the content words of the sentences, numbers and
    names of all sentences together.
    """
    cdef double weight = 0.0, window_sum = 0.0, bigram_sum = 0.0, n_content
    cdef int64_t i
    cdef parts_t parts
    cdef counted_t* all_numbers = &claims.numbers
    cdef counted_t* all_names = &claims.names
    memset(all_numbers, 0, sizeof(counted_t))
    memset(all_names, 0, sizeof(counted_t))
    for i in range(piece.first_sentence, piece.last_sentence):
        if support_sentence(claims, words, piece, i, chunk_begins, n_chunks, &parts):
            return -1
        n_content = <double> claims.claims[i].n_content
        weight += n_content
        window_sum += n_content * claims.supports[i].window
        bigram_sum += n_content * parts.bigram
        all_numbers.n_found += parts.numbers.n_found
        all_numbers.n_missing += parts.numbers.n_missing
        all_names.n_found += parts.names.n_found
        all_names.n_missing += parts.names.n_missing
    score[0] = clamped(
        WINDOW_WEIGHT * window_sum / weight + BIGRAM_WEIGHT * bigram_sum / weight
        + NUMBER_WEIGHT * share_found(all_numbers.n_found, all_numbers.n_missing)
        + NAME_WEIGHT * share_found(all_names.n_found, all_names.n_missing))
    return 0
