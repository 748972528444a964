"""What a row claims, sentence by sentence of answer and truths, and where chunks have it.

Of a sentence: its distinct content stems, pairs of neighbouring stems, pairs of neighbouring
content stems.
"""
from libc.stdlib cimport free
from libc.string cimport memset

from capitals cimport NOT_CAPITALISED
from claim_sentences cimport sentence_t
from lexicon cimport IS_LONG, IS_STOP_WORD
from ngram_sets cimport (
    begin_tally, clear_grams, find_gram, gram_pair, gram_slot, gram_slot_t, grams_t,
    number_gram_at_sight, tally_ids, tally_t,
)
from primitives cimport int64_t, reserve, token_t, uint8_t, uint64_t
from stopping cimport stop_t
from row_words cimport (
    content_or_all, count_content, n_stems, piece_t, raw_of, row_words_t,
)
from windows cimport (
    chunk_of, close_occurrences, list_occurrences, occurrences_t, place_of, window_t, word_of,
)

cdef enum:
    SKIPPED = 1                # content stems that may stand between the two of a skip pair
    # What a chunk has of a pair.
    AS_NEIGHBOURS = 1
    AS_SKIP_PAIR = 2
    # What a sentence may lack of the chunks, in the order of rag_eval.kernels.settings.
    WINDOW_LOSS = 0
    BIGRAM_LOSS
    SKIP_LOSS
    NUMBER_LOSS
    NAME_LOSS
    NEAR_LOSS
    CONTRADICTION
    NEW_NAME
    N_LOSSES
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
    int64_t skips              # distinct pairs of neighbouring content stems, in ``pairs``, too
    int64_t n_skips


cdef struct support_t:
    double score
    double window              # share of the content stems in the best window
    double[8] losses
    window_t where
    int64_t number             # a word that the chunk contradicts, or -1
    int64_t against            # ... and the number that stands there


cdef struct counted_t:
    int64_t n_found            # numbers, names, or pairs of names
    int64_t n_missing          # ... that nothing has; pairs that are far from each other


cdef struct counted_word_t:
    # Of a stem, by whether ordinals count it: how many numbers of a window do, and the first of
    # them that the sentence does not state, or -1.
    int64_t stamp              # of the sentence that asked
    int64_t[2] n_numbers
    int64_t[2] against


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
    grams_t grams
    tally_t tally
    uint8_t* pair_found        # per pair of a claim, how a chunk has it: bits AS_*
    int64_t pair_found_capacity
    token_t* pairs_found       # ... which they are
    int64_t pairs_found_capacity
    int64_t n_pairs_found
    int64_t first_marked       # words of the chunks that are marked
    int64_t last_marked
    uint8_t* marks             # per id
    int64_t marks_capacity
    occurrences_t occurrences
    int64_t* hits              # places of wanted stems
    int64_t hits_capacity
    int64_t* sought            # words of a chunk whose stems are wanted or in a claim
    int64_t sought_capacity
    uint64_t* neighbours       # pairs of the chunks that may be a claim's bigram
    int64_t neighbours_capacity
    int64_t* contents          # places of content words that may be in a claim's skip pair
    int64_t contents_capacity
    uint64_t* skips            # ... such pairs
    int64_t skips_capacity
    uint64_t* followers        # per stem of a claim: bits of those that follow it in a pair
    int64_t followers_capacity
    const piece_t* chunks      # held against the claims
    int64_t n_chunks
    const piece_t* question    # NULL without one
    bint has_chunk_raws        # the raw forms of the chunks are marked; once one is asked for
    grams_t chunk_values       # what numbers of the chunks are worth
    bint has_chunk_values      # ... once it is asked for
    grams_t question_values
    bint has_question_values
    grams_t stated             # values of the sentence at hand
    counted_word_t* counted    # per stem; allocated where a number is missing
    int64_t counted_capacity
    int64_t n_asked            # sentences that asked for it
    int64_t* names_known       # words: the names of the sentence at hand that a chunk has
    int64_t names_known_capacity
    counted_t numbers          # of the text whose support was scored last
    counted_t names
    stop_t stop


cdef inline void close_claims(claims_t* claims) noexcept nogil:
    free(claims.claims)
    free(claims.supports)
    free(claims.types)
    free(claims.pairs)
    free(claims.grams.slots)
    free(claims.tally.cells)
    free(claims.pair_found)
    free(claims.pairs_found)
    free(claims.marks)
    close_occurrences(&claims.occurrences)
    free(claims.hits)
    free(claims.sought)
    free(claims.neighbours)
    free(claims.contents)
    free(claims.skips)
    free(claims.followers)
    free(claims.chunk_values.slots)
    free(claims.question_values.slots)
    free(claims.stated.slots)
    free(claims.counted)
    free(claims.names_known)


cdef inline int begin_claims(claims_t* claims, const row_words_t* words,
                             int64_t n_slots) noexcept nogil:
    """Forget the row before; 0, or -1 without memory."""
    cdef int64_t n_sentences = words.sentences.size, capacity = claims.followers_capacity
    claims.n_types = claims.n_pairs = claims.first_marked = claims.last_marked = 0
    claims.has_chunk_values = claims.has_question_values = claims.has_chunk_raws = False
    claims.question = NULL
    if reserve(<void**> &claims.claims, &claims.claims_capacity, n_sentences, sizeof(claim_t)):
        return -1
    if reserve(<void**> &claims.supports, &claims.supports_capacity, n_sentences,
               sizeof(support_t)):
        return -1
    if reserve(<void**> &claims.marks, &claims.marks_capacity, n_stems(words) + 1, 1):
        return -1
    memset(claims.marks, 0, <size_t> n_stems(words))
    if reserve(<void**> &claims.followers, &capacity, n_stems(words) + 1, sizeof(uint64_t)):
        return -1
    memset(claims.followers + claims.followers_capacity, 0,
           <size_t> (capacity - claims.followers_capacity) * sizeof(uint64_t))
    claims.followers_capacity = capacity
    return clear_grams(&claims.grams, n_slots)


# ------------------------------------------------------------------------------- what is claimed

cdef inline int64_t add_types(claims_t* claims, const row_words_t* words, const token_t* content,
                              int64_t n_content) noexcept nogil:
    """Add the distinct stems of some content to ``types`` and want their places; how many."""
    cdef int64_t n, i
    if begin_tally(&claims.tally, n_stems(words)):
        return -1
    if reserve(<void**> &claims.types, &claims.types_capacity, claims.n_types + n_content + 1,
               sizeof(token_t)):
        return -1
    n = tally_ids(&claims.tally, content, n_content, claims.types + claims.n_types)
    for i in range(claims.n_types, claims.n_types + n):
        claims.marks[claims.types[i]] |= STEM_WANTED
    claims.n_types += n
    return n


cdef inline uint64_t follower_bit(token_t stem) noexcept nogil:
    """The bit of a stem among the followers of another: one of 64."""
    return <uint64_t> 1 << (stem & 63)


cdef inline int64_t add_pairs(claims_t* claims, const token_t* stems,
                              int64_t n_words) noexcept nogil:
    """Add the distinct pairs of neighbours to ``pairs``; how many, or -1 without memory."""
    cdef int64_t id, n = 0, i
    if reserve(<void**> &claims.pairs, &claims.pairs_capacity, claims.n_pairs + n_words,
               sizeof(token_t)):
        return -1
    if begin_tally(&claims.tally, claims.grams.n_grams + n_words):
        return -1
    for i in range(n_words - 1):
        id = number_gram_at_sight(&claims.grams, gram_pair(<uint64_t> stems[i], stems[i + 1]))
        if id < 0:
            return -1
        claims.followers[stems[i]] |= follower_bit(stems[i + 1])
        # Written always and kept when fresh.
        claims.pairs[claims.n_pairs + n] = <token_t> id
        n += claims.tally.cells[id] < claims.tally.stamp
        claims.tally.cells[id] = claims.tally.stamp
    claims.n_pairs += n
    return n


cdef inline void mark_claim(claims_t* claims, const token_t* stems,
                            int64_t n_words) noexcept nogil:
    """Mark the stems of a sentence; those that no earlier sentence has lose old followers."""
    cdef uint8_t* marks = claims.marks
    cdef int64_t i
    cdef uint8_t mark
    for i in range(n_words):
        mark = marks[stems[i]]
        claims.followers[stems[i]] &= 0 - <uint64_t> (mark & STEM_IN_CLAIM)
        marks[stems[i]] = mark | STEM_IN_CLAIM


cdef inline int add_claims(claims_t* claims, const row_words_t* words,
                           const piece_t* piece) noexcept nogil:
    """Set out what the sentences of a text claim; 0, or -1 without memory."""
    cdef const sentence_t* sentence
    cdef const token_t* content
    cdef claim_t* claim
    cdef int64_t i, first, last
    for i in range(piece.first_sentence, piece.last_sentence):
        sentence = &words.sentences.items[i]
        claim = &claims.claims[i]
        first = piece.first + sentence.first
        last = piece.first + sentence.last
        claim.types = claims.n_types
        content = content_or_all(words, first, last, &claim.n_content)
        claim.n_types = add_types(claims, words, content, claim.n_content)
        mark_claim(claims, words.stems + first, last - first)
        claim.pairs = claims.n_pairs
        claim.n_pairs = add_pairs(claims, words.stems + first, last - first)
        claim.skips = claims.n_pairs
        claim.n_skips = 0
        if claim.n_types < 0 or claim.n_pairs < 0:
            return -1
        if count_content(words, first, last):
            claim.n_skips = add_pairs(claims, content, claim.n_content)
            if claim.n_skips < 0:
                return -1
    return 0


cdef inline void mark_words(claims_t* claims, const row_words_t* words, int64_t first,
                            int64_t last, uint8_t stem_mark, uint8_t raw_mark) noexcept nogil:
    """Mark the stems and raw forms of some words."""
    cdef int64_t i
    for i in range(first, last):
        claims.marks[words.stems[i]] |= stem_mark
        claims.marks[raw_of(words, i)] |= raw_mark


# --------------------------------------------------------------------------- what the chunks have

cdef inline void forget_chunks(claims_t* claims, const row_words_t* words) noexcept nogil:
    """Undo what the chunks before left, in the time that it took: they may be many."""
    cdef int64_t i
    for i in range(claims.first_marked, claims.last_marked):
        claims.marks[words.stems[i]] &= ~<uint8_t> (STEM_IN_CHUNK | RAW_IN_CHUNK)
        claims.marks[raw_of(words, i)] &= ~<uint8_t> (STEM_IN_CHUNK | RAW_IN_CHUNK)
    for i in range(claims.n_pairs_found):
        claims.pair_found[claims.pairs_found[i]] = 0
    claims.n_pairs_found = claims.first_marked = claims.last_marked = 0
    claims.has_chunk_values = claims.has_chunk_raws = False


cdef inline void mark_chunk_raws(claims_t* claims, const row_words_t* words) noexcept nogil:
    """Mark the raw forms of the chunks' words, unless that is done."""
    cdef const token_t* ids = words.ids
    cdef const token_t* raws = words.lexicon.raws
    cdef uint8_t* marks = claims.marks
    cdef int64_t last = claims.last_marked, i
    if claims.has_chunk_raws:
        return
    claims.has_chunk_raws = True
    for i in range(claims.first_marked, last):
        marks[raws[ids[i]]] |= RAW_IN_CHUNK


cdef inline int reserve_sifted(claims_t* claims, int64_t n_words) noexcept nogil:
    """Room for what chunks of so many words may share with the claims; 0, or -1."""
    # One more: behind the pairs of claims stand all others.
    cdef int64_t before = claims.pair_found_capacity, n_pairs = claims.grams.n_grams + 1
    if reserve(<void**> &claims.pair_found, &claims.pair_found_capacity, n_pairs, 1):
        return -1
    if claims.pair_found_capacity > before:
        memset(claims.pair_found + before, 0, <size_t> (claims.pair_found_capacity - before))
    if reserve(<void**> &claims.pairs_found, &claims.pairs_found_capacity, n_pairs + 1,
               sizeof(token_t)):
        return -1
    if reserve(<void**> &claims.hits, &claims.hits_capacity, n_words + 1, sizeof(int64_t)):
        return -1
    if reserve(<void**> &claims.sought, &claims.sought_capacity, n_words + 1, sizeof(int64_t)):
        return -1
    if reserve(<void**> &claims.contents, &claims.contents_capacity, n_words + 1,
               sizeof(int64_t)):
        return -1
    if reserve(<void**> &claims.skips, &claims.skips_capacity, 2 * (n_words + 1),
               sizeof(uint64_t)):
        return -1
    return reserve(<void**> &claims.neighbours, &claims.neighbours_capacity, n_words + 1,
                   sizeof(uint64_t))


cdef inline void find_pair(claims_t* claims, uint64_t pair, uint8_t how) noexcept nogil:
    """Note that a chunk has a pair, should it be one of a claim's."""
    cdef const grams_t* grams = &claims.grams
    cdef const gram_slot_t* home = &grams.slots[gram_slot(grams, pair)]
    # Of a slot that is free, far above all ids.
    cdef uint64_t id = <uint64_t> (<int64_t> home.serial - grams.first_serial)
    cdef uint64_t is_other = home.pair != pair
    if is_other & ~(id >> 63):
        id = <uint64_t> find_gram(grams, pair)
    # No branch on whether a claim has the pair, which cannot be guessed.
    id = min(id, <uint64_t> grams.n_grams)
    claims.pairs_found[claims.n_pairs_found] = <token_t> id
    claims.n_pairs_found += claims.pair_found[id] == 0
    claims.pair_found[id] |= how


cdef inline uint64_t may_follow(const uint64_t* followers, token_t left,
                                token_t right) noexcept nogil:
    """1 where a claim has a pair, and by chance where another stem follows the left one."""
    return followers[left] >> (right & 63) & 1


cdef inline void find_skip_pairs(claims_t* claims, const row_words_t* words,
                                 int64_t n_contents) noexcept nogil:
    """Find pairs of content words that have at most one other between them."""
    cdef const uint64_t* followers = claims.followers
    cdef uint64_t* skips = claims.skips
    # Places among the content words, and stems, of the word at hand and the two before it.
    cdef int64_t place, last_place = -2 * (1 + SKIPPED), first_place = last_place, word
    cdef int64_t n_skips = 0, i
    cdef token_t stem, last_stem = 0, first_stem = 0
    for i in range(n_contents):
        word = word_of(claims.contents[i])
        # The last word of a chunk and the first of the next are no pair.
        place = words.content_before[word] + (1 + SKIPPED) * chunk_of(claims.contents[i])
        stem = words.stems[word]
        # Written always and kept where there is a pair: no branch on what cannot be guessed.
        skips[n_skips] = gram_pair(<uint64_t> last_stem, stem)
        n_skips += (place - last_place <= 1 + SKIPPED) & may_follow(followers, last_stem, stem)
        # The word between them is in a claim, too.
        skips[n_skips] = gram_pair(<uint64_t> first_stem, stem)
        n_skips += (place - first_place == 1 + SKIPPED) & may_follow(followers, first_stem, stem)
        first_place = last_place
        first_stem = last_stem
        last_place = place
        last_stem = stem
    for i in range(n_skips):
        find_pair(claims, skips[i], AS_SKIP_PAIR)


cdef inline int sift_chunks(claims_t* claims, const row_words_t* words, const piece_t* chunks,
                            int64_t n_chunks) noexcept nogil:
    """Find what the chunks share with the claims and the questions; 0, or -1 without memory.

    Chunks lie end to end. A pass without a branch marks their stems and keeps the places of those
    that are wanted or in a claim; another, over these alone, keeps the places of wanted stems,
    neighbours that may be a claim's, and the places of content words that stand in one.
    """
    cdef int64_t first = chunks[0].first if n_chunks else 0
    cdef int64_t last = chunks[n_chunks - 1].last if n_chunks else 0
    cdef int64_t n_hits = 0, n_neighbours = 0, n_contents = 0, n_sought, chunk, before, k, i
    # In locals: the compiler cannot know that no store of the loop changes them.
    cdef const token_t* stems = words.stems
    cdef const int64_t* content_before = words.content_before
    cdef uint8_t* marks = claims.marks
    cdef int64_t* hits
    cdef uint64_t* neighbours
    cdef int64_t* contents
    cdef int64_t* sought
    cdef const uint64_t* followers = claims.followers
    cdef token_t stem, last_stem
    cdef uint8_t mark
    forget_chunks(claims, words)
    claims.chunks = chunks
    claims.n_chunks = n_chunks
    if reserve_sifted(claims, last - first):
        return -1
    hits = claims.hits
    neighbours = claims.neighbours
    contents = claims.contents
    sought = claims.sought
    claims.first_marked = first
    claims.last_marked = last
    for chunk in range(n_chunks):
        n_sought = 0
        for i in range(chunks[chunk].first, chunks[chunk].last):
            stem = stems[i]
            mark = marks[stem]
            marks[stem] = mark | STEM_IN_CHUNK
            sought[n_sought] = i
            n_sought += mark & (STEM_IN_CLAIM | STEM_WANTED) != 0
        # The word behind the last one that is in a claim.
        before = -1
        last_stem = 0
        for k in range(n_sought):
            i = sought[k]
            stem = stems[i]
            mark = marks[stem]
            hits[n_hits] = place_of(chunk, i)
            n_hits += mark & STEM_WANTED != 0
            mark &= STEM_IN_CLAIM
            neighbours[n_neighbours] = gram_pair(<uint64_t> last_stem, stem)
            n_neighbours += mark & (before == i) & may_follow(followers, last_stem, stem)
            contents[n_contents] = place_of(chunk, i)
            n_contents += mark & (content_before[i + 1] - content_before[i])
            before = i + 1 if mark else before
            last_stem = stem
    for i in range(n_neighbours):
        find_pair(claims, neighbours[i], AS_NEIGHBOURS)
    find_skip_pairs(claims, words, n_contents)
    return list_occurrences(&claims.occurrences, words.stems, claims.hits, n_hits,
                            n_stems(words))


# ---------------------------------------------------------------------------------------- its names

cdef inline double clamped(double value) noexcept nogil:
    return 0.0 if value < 0.0 else 1.0 if value > 1.0 else value


cdef inline bint is_name(const row_words_t* words, int64_t word) noexcept nogil:
    """Capitalised, of two letters or more, and no stop word."""
    cdef uint8_t flags = words.lexicon.forms[words.ids[word]].flags
    return (words.capitals[word] != NOT_CAPITALISED and flags & IS_LONG
            and not flags & IS_STOP_WORD)
