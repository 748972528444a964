"""The short texts of a row (probes), indexed for comparison with its contexts.

A probe is the question, a sentence of the answer or a sentence of the ground truth. Up to eight
probes have a lane each in one word per n-gram: what a context shares with all of them is a sum, and
no branch depends on the text. For more probes there is per n-gram the list of those that hold it,
so a context costs its own length plus the matches, not its length times the number of probes.
"""
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from bigrams cimport bigrams_t, close_bigrams, seed_bigrams
from ngram_sets cimport (
    begin_tally, grams_t, join_grams, tally_ids, tally_t,
)
from primitives cimport hash_t, int32_t, int64_t, reserve, span_t, token_t, uint64_t

cdef enum:
    N_LANES = 8                # bytes of a word
    LANE_SUM = 255             # what a lane can hold
    NO_CONTEXT = -1            # in the place of the number of one


cdef struct overlap_sizes_t:
    # The n-gram sizes of the weighted overlap. A window of ``windows[i]`` tokens slides while
    # ``needs[i]`` tokens are left; the two differ only for sizes that are not whole.
    Py_ssize_t n_sizes
    const int64_t* windows
    const int64_t* needs
    const double* weights


cdef struct gram_kind_t:
    int64_t window
    int64_t need
    int64_t n_ids              # ids of probe n-grams lie below this
    int64_t* set_offsets       # probe p holds set_ids[set_offsets[p]:set_offsets[p + 1]]
    int64_t set_offsets_capacity
    token_t* set_ids
    int64_t set_ids_capacity
    uint64_t* lanes            # per n-gram: 1 in the byte of each probe that holds it; then a 0
    int64_t lanes_capacity
    int64_t* list_offsets      # n-gram i is in probes lists[list_offsets[i]:list_offsets[i + 1]]
    int64_t list_offsets_capacity
    int32_t* lists
    int64_t lists_capacity
    int32_t* shared            # per probe: n-grams shared with the context at hand
    int64_t shared_capacity
    int64_t n_context          # distinct n-grams of the context at hand


cdef struct shorter_t:
    int64_t n_tokens
    int64_t context


cdef struct probes_t:
    int64_t n_probes
    bint in_lanes              # they are few: ``lanes`` stand in place of ``lists``
    int64_t n_weighted         # the first ones, compared by weighted overlap as well
    span_t* spans              # tokens of probe p: ids[spans[p].begin:spans[p].end]
    int64_t spans_capacity
    int64_t longest            # tokens of the longest weighted probe
    int64_t shortest_context   # tokens, over the contexts seen
    bint any_context
    bint dense                 # probes that share nothing with a context matter too
    Py_ssize_t n_kinds         # kind 0 is unigrams; kind i + 1 is size i
    gram_kind_t* kinds
    token_t* touched           # probes that share a token with the context at hand
    int64_t touched_capacity
    int64_t n_touched
    double* best_weighted      # per probe, over the contexts seen
    int64_t best_weighted_capacity
    double* best_unigram
    int64_t best_unigram_capacity
    bint notes_contexts        # the first context with the best overlap is wanted, too
    double* noted_overlap      # per probe, up to the context that is noted
    int64_t noted_overlap_capacity
    int64_t* noted_context     # NO_CONTEXT where none overlaps
    int64_t noted_context_capacity
    shorter_t* shorter         # contexts with fewer tokens than all before them
    int64_t shorter_capacity
    int64_t n_shorter
    token_t* grams             # n-gram ids of the probes, then of the context at hand
    int64_t grams_capacity
    token_t* joined            # ... of the size at hand
    int64_t joined_capacity
    token_t* known             # n-grams of the context at hand that a probe has
    int64_t known_capacity
    bigrams_t bigrams          # of the context at hand


cdef inline int open_probes(probes_t* probes, const overlap_sizes_t* sizes,
                            hash_t seed) noexcept nogil:
    """Empty probes for the n-gram sizes of a call; 0, or -1 without memory."""
    cdef Py_ssize_t i
    memset(probes, 0, sizeof(probes_t))
    seed_bigrams(&probes.bigrams, seed)
    probes.kinds = <gram_kind_t*> calloc(<size_t> sizes.n_sizes + 1, sizeof(gram_kind_t))
    if probes.kinds == NULL:
        return -1
    probes.n_kinds = sizes.n_sizes + 1
    probes.kinds[0].window = probes.kinds[0].need = 1
    for i in range(sizes.n_sizes):
        probes.kinds[i + 1].window = sizes.windows[i]
        probes.kinds[i + 1].need = sizes.needs[i]
        # A negative weight can make sharing worse than not sharing; a window of no token is
        # shared by all. Both are rare: every pair is then looked at.
        if sizes.weights[i] < 0 or sizes.windows[i] == 0:
            probes.dense = True
    return 0


cdef inline void close_probes(probes_t* probes) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(probes.n_kinds):
        free(probes.kinds[i].set_offsets)
        free(probes.kinds[i].set_ids)
        free(probes.kinds[i].lanes)
        free(probes.kinds[i].list_offsets)
        free(probes.kinds[i].lists)
        free(probes.kinds[i].shared)
    free(probes.kinds)
    free(probes.spans)
    free(probes.touched)
    free(probes.best_weighted)
    free(probes.best_unigram)
    free(probes.noted_overlap)
    free(probes.noted_context)
    free(probes.shorter)
    free(probes.grams)
    free(probes.joined)
    free(probes.known)
    close_bigrams(&probes.bigrams)


cdef inline int64_t probe_tokens(const probes_t* probes, int64_t probe) noexcept nogil:
    return probes.spans[probe].end - probes.spans[probe].begin


cdef inline bint is_unigram(const gram_kind_t* kind) noexcept nogil:
    return kind.window == 1 and kind.need == 1


cdef inline bint is_bigram(const gram_kind_t* kind) noexcept nogil:
    return kind.window == 2 and kind.need == 2


cdef inline gram_kind_t* kind_of_size(const probes_t* probes, Py_ssize_t size) noexcept nogil:
    """The kind of the ``size``-th size: all sizes of one token share kind 0."""
    cdef gram_kind_t* kind = &probes.kinds[size + 1]
    return &probes.kinds[0] if is_unigram(kind) else kind


cdef inline void clear_probes(probes_t* probes) noexcept nogil:
    probes.n_probes = probes.n_weighted = 0
    probes.longest = probes.shortest_context = 0
    probes.any_context = False


cdef inline int add_probe(probes_t* probes, int64_t begin, int64_t end,
                          bint weighted) noexcept nogil:
    """Add the probe of tokens ``[begin, end)``; weighted ones come first. 0, or -1."""
    cdef int64_t probe = probes.n_probes
    if reserve(<void**> &probes.spans, &probes.spans_capacity, probe + 1, sizeof(span_t)):
        return -1
    probes.spans[probe].begin = begin
    probes.spans[probe].end = end
    probes.n_probes = probe + 1
    if weighted:
        probes.n_weighted = probe + 1
        probes.longest = max(probes.longest, end - begin)
    return 0


# ----------------------------------------------------------------------- lanes or inverted lists

cdef inline int collect_sets(probes_t* probes, gram_kind_t* kind, int64_t n_probes,
                             const token_t* ids, int64_t n_ids, tally_t* tally) noexcept nogil:
    """Distinct n-grams of each probe. ``ids`` holds them at the places of the tokens."""
    cdef int64_t probe, n_windows, n_set = 0, n_tokens = 0
    for probe in range(n_probes):
        n_tokens += probe_tokens(probes, probe)
    if reserve(<void**> &kind.set_offsets, &kind.set_offsets_capacity, n_probes + 1,
               sizeof(int64_t)):
        return -1
    if reserve(<void**> &kind.set_ids, &kind.set_ids_capacity, n_tokens + 1, sizeof(token_t)):
        return -1
    kind.n_ids = n_ids
    kind.set_offsets[0] = 0
    for probe in range(n_probes):
        if begin_tally(tally, n_ids):
            return -1
        n_windows = max(<int64_t> 0, probe_tokens(probes, probe) - kind.need + 1)
        n_set += tally_ids(tally, ids + probes.spans[probe].begin, n_windows,
                           kind.set_ids + n_set)
        kind.set_offsets[probe + 1] = n_set
    return 0


cdef inline int invert_sets(gram_kind_t* kind, int64_t n_probes) noexcept nogil:
    """Probe lists per n-gram from n-gram sets per probe, by counting; 0, or -1 without memory."""
    cdef int64_t n_entries = kind.set_offsets[n_probes], probe, i, at
    cdef int64_t* ends
    if reserve(<void**> &kind.list_offsets, &kind.list_offsets_capacity, kind.n_ids + 2,
               sizeof(int64_t)):
        return -1
    if reserve(<void**> &kind.lists, &kind.lists_capacity, n_entries, sizeof(int32_t)):
        return -1
    memset(kind.list_offsets, 0, <size_t> (kind.n_ids + 2) * sizeof(int64_t))
    # Counted two places on, summed, then filled one place on: each list's end becomes the
    # beginning of the next, and no second array is needed.
    for i in range(n_entries):
        kind.list_offsets[kind.set_ids[i] + 2] += 1
    for i in range(kind.n_ids):
        kind.list_offsets[i + 2] += kind.list_offsets[i + 1]
    ends = kind.list_offsets + 1
    for probe in range(n_probes):
        for i in range(kind.set_offsets[probe], kind.set_offsets[probe + 1]):
            at = ends[kind.set_ids[i]]
            kind.lists[at] = <int32_t> probe
            ends[kind.set_ids[i]] = at + 1
    return 0


cdef inline int set_out_lanes(gram_kind_t* kind, int64_t n_probes) noexcept nogil:
    """A lane of each probe from n-gram sets per probe; 0, or -1 without memory."""
    cdef int64_t probe, i
    if reserve(<void**> &kind.lanes, &kind.lanes_capacity, kind.n_ids + 1, sizeof(uint64_t)):
        return -1
    memset(kind.lanes, 0, <size_t> (kind.n_ids + 1) * sizeof(uint64_t))
    for probe in range(n_probes):
        for i in range(kind.set_offsets[probe], kind.set_offsets[probe + 1]):
            kind.lanes[kind.set_ids[i]] |= <uint64_t> 1 << (8 * probe)
    return 0


cdef inline int clear_shared(probes_t* probes) noexcept nogil:
    """Nothing shared yet, for every kind and probe; 0, or -1 without memory."""
    cdef gram_kind_t* kind
    cdef Py_ssize_t i
    for i in range(probes.n_kinds):
        kind = &probes.kinds[i]
        if reserve(<void**> &kind.shared, &kind.shared_capacity, probes.n_probes,
                   sizeof(int32_t)):
            return -1
        memset(kind.shared, 0, <size_t> probes.n_probes * sizeof(int32_t))
    return 0


cdef inline int index_kind(probes_t* probes, gram_kind_t* kind, int64_t n_probes,
                           const token_t* ids, int64_t n_ids, tally_t* tally) noexcept nogil:
    if collect_sets(probes, kind, n_probes, ids, n_ids, tally):
        return -1
    return set_out_lanes(kind, n_probes) if probes.in_lanes else invert_sets(kind, n_probes)


cdef inline int reserve_grams(probes_t* probes, int64_t n_tokens) noexcept nogil:
    """Room for the n-grams of so many tokens, half as long and of the size at hand; 0, or -1."""
    if reserve(<void**> &probes.grams, &probes.grams_capacity, n_tokens + 1, sizeof(token_t)):
        return -1
    return reserve(<void**> &probes.joined, &probes.joined_capacity, n_tokens + 1,
                   sizeof(token_t))


cdef inline int64_t widest_window(const probes_t* probes, int64_t longest) noexcept nogil:
    """The widest window that any text of at most ``longest`` tokens can fill."""
    cdef int64_t widest = 1
    cdef Py_ssize_t i
    for i in range(1, probes.n_kinds):
        widest = max(widest, probes.kinds[i].window)
    return min(widest, longest)


cdef inline int join_probes(probes_t* probes, grams_t* grams, int64_t half, int64_t window,
                            token_t* joined) noexcept nogil:
    """n-grams of ``window`` tokens of the weighted probes from those of ``half``; 0, or -1."""
    cdef int64_t probe
    cdef span_t span
    for probe in range(probes.n_weighted):
        span = probes.spans[probe]
        if join_grams(grams, probes.grams + span.begin, window - half,
                      span.end - span.begin - window + 1, joined + span.begin):
            return -1
    return 0


cdef inline int index_longer(probes_t* probes, const token_t* tokens, int64_t n_token_ids,
                             grams_t* grams, tally_t* tally) noexcept nogil:
    """Sets, lanes and lists of all kinds but unigrams, over the weighted probes; 0, or -1.

    Two windows of half a size or more cover one of that size: one pass for each doubling.
    """
    cdef int64_t last = probes.spans[probes.n_weighted - 1].end, half = 1, i
    cdef int64_t widest = widest_window(probes, probes.longest)
    cdef gram_kind_t* kind
    if reserve_grams(probes, last):
        return -1
    for i in range(last):
        probes.grams[i] = tokens[i]
    for i in range(1, probes.n_kinds):
        kind = &probes.kinds[i]
        # A window of no token, or wider than any probe, has nothing to list.
        if kind.window == 1 and not is_unigram(kind):
            if index_kind(probes, kind, probes.n_weighted, tokens, n_token_ids, tally):
                return -1
        elif index_kind(probes, kind, 0, tokens, 0, tally):
            return -1
    while half < widest:
        for i in range(1, probes.n_kinds):
            kind = &probes.kinds[i]
            if not half < kind.window <= min(2 * half, widest):
                continue
            if join_probes(probes, grams, half, kind.window, probes.joined) or index_kind(
                    probes, kind, probes.n_weighted, probes.joined, grams.n_grams, tally):
                return -1
        if 2 * half < widest and join_probes(probes, grams, half, 2 * half, probes.grams):
            return -1
        half *= 2
    return 0


cdef inline int clear_notes(probes_t* probes) noexcept nogil:
    """No context is noted yet, for any probe; 0, or -1 without memory."""
    cdef int64_t n_probes = probes.n_probes, probe
    probes.n_shorter = 0
    if reserve(<void**> &probes.noted_overlap, &probes.noted_overlap_capacity, n_probes,
               sizeof(double)):
        return -1
    if reserve(<void**> &probes.noted_context, &probes.noted_context_capacity, n_probes,
               sizeof(int64_t)):
        return -1
    for probe in range(n_probes):
        probes.noted_overlap[probe] = 0.0
        probes.noted_context[probe] = NO_CONTEXT
    return 0


cdef inline int index_probes(probes_t* probes, const token_t* tokens, int64_t n_token_ids,
                             grams_t* grams, tally_t* tally) noexcept nogil:
    """Sets, and lanes or lists, of all kinds from the probes' tokens; 0, or -1 without memory.

    Call once per row, after the last probe and before the first context.
    """
    cdef int64_t n_probes = probes.n_probes
    probes.in_lanes = n_probes <= N_LANES
    if clear_shared(probes):
        return -1
    if index_kind(probes, &probes.kinds[0], n_probes, tokens, n_token_ids, tally):
        return -1
    if probes.n_weighted and index_longer(probes, tokens, n_token_ids, grams, tally):
        return -1
    if reserve(<void**> &probes.touched, &probes.touched_capacity, n_probes + 1, sizeof(token_t)):
        return -1
    if reserve(<void**> &probes.best_weighted, &probes.best_weighted_capacity, n_probes,
               sizeof(double)):
        return -1
    if reserve(<void**> &probes.best_unigram, &probes.best_unigram_capacity, n_probes,
               sizeof(double)):
        return -1
    memset(probes.best_weighted, 0, <size_t> n_probes * sizeof(double))
    memset(probes.best_unigram, 0, <size_t> n_probes * sizeof(double))
    return clear_notes(probes) if probes.notes_contexts else 0
