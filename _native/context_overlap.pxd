"""One context after the other against a row's probes: shared n-grams, best overlaps."""
from bigrams cimport bigrams_t, count_bigrams, find_known, sift_bigrams
from ngram_sets cimport begin_tally, grams_t, jaccard, join_grams, tally_ids, tally_t
from primitives cimport int32_t, int64_t, reserve, token_t, uint64_t
from probes cimport (
    LANE_SUM, gram_kind_t, is_bigram, is_unigram, kind_of_size, overlap_sizes_t, probe_tokens,
    probes_t, reserve_grams, shorter_t, widest_window,
)
from token_counts cimport counts_t


cdef inline void add_lanes(probes_t* probes, gram_kind_t* kind, uint64_t sums) noexcept nogil:
    """Count what each lane has summed up."""
    cdef int64_t probe
    for probe in range(probes.n_probes):
        kind.shared[probe] += <int32_t> (sums >> (8 * probe) & LANE_SUM)


cdef inline void share_lanes(probes_t* probes, gram_kind_t* kind, const token_t* distinct,
                             Py_ssize_t n_distinct) noexcept nogil:
    cdef const uint64_t* lanes = kind.lanes
    cdef token_t id, n_ids = <token_t> kind.n_ids
    cdef uint64_t sums
    cdef Py_ssize_t end, i = 0
    while i < n_distinct:
        end = min(i + LANE_SUM, n_distinct)
        sums = 0
        while i < end:
            id = distinct[i]
            sums += lanes[id if id < n_ids else n_ids]
            i += 1
        add_lanes(probes, kind, sums)


cdef inline int share_lists(probes_t* probes, gram_kind_t* kind, const token_t* distinct,
                            Py_ssize_t n_distinct, bint touch) noexcept nogil:
    cdef Py_ssize_t n_known = 0, i
    cdef token_t n_ids = <token_t> kind.n_ids
    if reserve(<void**> &probes.known, &probes.known_capacity, n_distinct + 1, sizeof(token_t)):
        return -1
    # Sifted first, without a branch: half of the n-grams are in no probe, and which is a toss-up.
    for i in range(n_distinct):
        probes.known[n_known] = distinct[i]
        n_known += distinct[i] < n_ids
    for i in range(n_known):
        if touch:
            touch_probes(probes, kind, probes.known[i])
        share_id(kind, probes.known[i])
    return 0


cdef inline void touch_probes(probes_t* probes, const gram_kind_t* kind, token_t id) noexcept nogil:
    """List the probes that share something for the first time: all are not looked at."""
    cdef int64_t at
    for at in range(kind.list_offsets[id], kind.list_offsets[id + 1]):
        # Written always and kept when this is the probe's first.
        probes.touched[probes.n_touched] = kind.lists[at]
        probes.n_touched += kind.shared[kind.lists[at]] == 0


cdef inline void share_id(gram_kind_t* kind, token_t id) noexcept nogil:
    cdef int64_t at
    for at in range(kind.list_offsets[id], kind.list_offsets[id + 1]):
        kind.shared[kind.lists[at]] += 1


cdef inline int share(probes_t* probes, gram_kind_t* kind, const token_t* distinct,
                      Py_ssize_t n_distinct) noexcept nogil:
    """Count, per probe, the context's distinct n-grams that the probe has; 0, or -1."""
    if not probes.in_lanes:
        return share_lists(probes, kind, distinct, n_distinct, False)
    share_lanes(probes, kind, distinct, n_distinct)
    return 0


cdef inline int share_tokens(probes_t* probes, const counts_t* context) noexcept nogil:
    """Count the distinct tokens that each probe shares, and list the probes that share any."""
    cdef int64_t probe
    probes.kinds[0].n_context = context.n_distinct
    if not probes.in_lanes:
        return share_lists(probes, &probes.kinds[0], context.distinct, context.n_distinct, True)
    share_lanes(probes, &probes.kinds[0], context.distinct, context.n_distinct)
    for probe in range(probes.n_probes):
        # Written always and kept where something is shared.
        probes.touched[probes.n_touched] = <token_t> probe
        probes.n_touched += probes.kinds[0].shared[probe] != 0
    return 0


cdef inline int share_bigrams(
    probes_t* probes, gram_kind_t* kind, const token_t* tokens, int64_t n_tokens,
    const tally_t* counts, const grams_t* grams, tally_t* tally,
) noexcept nogil:
    """The context's distinct bigrams and those that each probe has; 0, or -1 without memory."""
    cdef bigrams_t* bigrams = &probes.bigrams
    cdef int64_t n_known
    if sift_bigrams(bigrams, tokens, n_tokens, counts, <token_t> probes.kinds[0].n_ids):
        return -1
    kind.n_context = count_bigrams(bigrams, n_tokens)
    n_known = find_known(bigrams, grams, tally)
    if kind.n_context < 0 or n_known < 0:
        return -1
    return share(probes, kind, bigrams.known, n_known)


cdef inline int share_kind(probes_t* probes, gram_kind_t* kind, const token_t* ids,
                           int64_t n_ids, counts_t* counts, tally_t* tally) noexcept nogil:
    """Count the shared n-grams of a kind, of which ``ids`` has one for each token; 0, or -1."""
    if begin_tally(tally, n_ids):
        return -1
    kind.n_context = tally_ids(tally, ids, counts.total - kind.need + 1, counts.distinct)
    return share(probes, kind, counts.distinct, kind.n_context)


cdef inline int share_wide(
    probes_t* probes, const token_t* tokens, counts_t* counts, grams_t* grams, tally_t* tally,
) noexcept nogil:
    """Count the shared n-grams of any sizes but single tokens; 0, or -1 without memory."""
    cdef int64_t n_tokens = counts.total, half = 1, i
    cdef int64_t widest = widest_window(probes, min(probes.longest, n_tokens))
    cdef gram_kind_t* kind
    if reserve_grams(probes, n_tokens):
        return -1
    for i in range(n_tokens):
        probes.grams[i] = tokens[i]
    for i in range(1, probes.n_kinds):
        kind = &probes.kinds[i]
        if kind.window == 1 and kind.need <= n_tokens and not is_unigram(kind) and share_kind(
                probes, kind, tokens, counts.tally.capacity, counts, tally):
            return -1
    while half < widest:
        for i in range(1, probes.n_kinds):
            kind = &probes.kinds[i]
            if kind.need > n_tokens or not half < kind.window <= min(2 * half, widest):
                continue
            if join_grams(grams, probes.grams, kind.window - half, n_tokens - kind.window + 1,
                          probes.joined):
                return -1
            if share_kind(probes, kind, probes.joined, grams.n_grams, counts, tally):
                return -1
        if 2 * half < widest and join_grams(grams, probes.grams, half, n_tokens - 2 * half + 1,
                                            probes.grams):
            return -1
        half *= 2
    return 0


cdef inline int share_longer(
    probes_t* probes, const token_t* tokens, counts_t* counts, grams_t* grams, tally_t* tally,
) noexcept nogil:
    """Count the shared n-grams of all kinds but unigrams; 0, or -1 without memory.

    ``counts`` are the tokens'; their list of distinct ones is overwritten.
    """
    cdef int64_t n_tokens = counts.total
    if not (probes.n_kinds == 3 and is_unigram(&probes.kinds[1]) and is_bigram(&probes.kinds[2])):
        return share_wide(probes, tokens, counts, grams, tally)
    if n_tokens < 2:
        return 0
    return share_bigrams(probes, &probes.kinds[2], tokens, n_tokens, &counts.tally, grams, tally)


cdef inline double weighted_overlap(const probes_t* probes, const overlap_sizes_t* sizes,
                                    int64_t probe, int64_t n_tokens) noexcept nogil:
    """Weighted mean over the sizes of the Jaccard overlap of a probe and the context at hand."""
    cdef int64_t n_probe = probe_tokens(probes, probe), in_probe
    cdef double total = 0.0, weight_sum = 0.0, overlap
    cdef const gram_kind_t* kind
    cdef Py_ssize_t i
    for i in range(sizes.n_sizes):
        kind = kind_of_size(probes, i)
        if n_probe < kind.need or n_tokens < kind.need:
            overlap = 1.0 if n_probe < kind.need and n_tokens < kind.need else 0.0
        elif kind.window == 0:
            overlap = 1.0
        elif kind.shared[probe] == 0:
            overlap = 0.0
        else:
            in_probe = kind.set_offsets[probe + 1] - kind.set_offsets[probe]
            overlap = jaccard(in_probe, kind.n_context, kind.shared[probe])
        total += overlap * sizes.weights[i]
        weight_sum += sizes.weights[i]
    return 0.0 if weight_sum == 0.0 else total / weight_sum


cdef inline void note_pair(probes_t* probes, int64_t probe, double overlap,
                           int64_t context) noexcept nogil:
    if overlap > probes.noted_overlap[probe]:
        probes.noted_overlap[probe] = overlap
        probes.noted_context[probe] = context


cdef inline int note_context(probes_t* probes, const overlap_sizes_t* sizes, int64_t n_tokens,
                             int64_t context) noexcept nogil:
    """Note the context at hand, which is yet to be ranked, for the probes that it suits best.

    Of contexts that share nothing, the shorter ones are enough: see ``note_unshared``. 0, or -1
    without memory.
    """
    cdef const gram_kind_t* kind = &probes.kinds[0]
    cdef int64_t i, probe
    if probes.dense:
        for probe in range(probes.n_weighted):
            note_pair(probes, probe, weighted_overlap(probes, sizes, probe, n_tokens), context)
    for i in range(probes.n_touched):
        probe = probes.touched[i]
        if probe >= probes.n_weighted:
            note_pair(probes, probe,
                      jaccard(kind.set_offsets[probe + 1] - kind.set_offsets[probe],
                              kind.n_context, kind.shared[probe]), context)
        elif not probes.dense:
            note_pair(probes, probe, weighted_overlap(probes, sizes, probe, n_tokens), context)
    if probes.any_context and n_tokens >= probes.shortest_context:
        return 0
    if reserve(<void**> &probes.shorter, &probes.shorter_capacity, probes.n_shorter + 1,
               sizeof(shorter_t)):
        return -1
    probes.shorter[probes.n_shorter] = shorter_t(n_tokens, context)
    probes.n_shorter += 1
    return 0


cdef inline void rank_probe(probes_t* probes, const overlap_sizes_t* sizes, int64_t probe,
                            int64_t n_tokens) noexcept nogil:
    """Raise the probe's best overlaps to those with the context at hand."""
    cdef const gram_kind_t* kind = &probes.kinds[0]
    cdef double overlap
    if kind.shared[probe]:
        overlap = jaccard(kind.set_offsets[probe + 1] - kind.set_offsets[probe],
                          kind.n_context, kind.shared[probe])
        probes.best_unigram[probe] = max(probes.best_unigram[probe], overlap)
    if probe < probes.n_weighted:
        overlap = weighted_overlap(probes, sizes, probe, n_tokens)
        probes.best_weighted[probe] = max(probes.best_weighted[probe], overlap)


cdef inline void rank_probes(probes_t* probes, const overlap_sizes_t* sizes,
                             int64_t n_tokens) noexcept nogil:
    """Raise the best overlaps by the context at hand, then forget what it shares."""
    cdef int64_t i, probe
    cdef Py_ssize_t kind
    if probes.dense:
        for probe in range(probes.n_weighted):
            rank_probe(probes, sizes, probe, n_tokens)
    for i in range(probes.n_touched):
        probe = probes.touched[i]
        if not probes.dense or probe >= probes.n_weighted:
            rank_probe(probes, sizes, probe, n_tokens)
        probes.kinds[0].shared[probe] = 0
        if probe < probes.n_weighted:
            for kind in range(1, probes.n_kinds):
                probes.kinds[kind].shared[probe] = 0
    probes.n_touched = 0
    if not probes.any_context or n_tokens < probes.shortest_context:
        probes.shortest_context = n_tokens
    probes.any_context = True


cdef inline double unshared_overlap(const probes_t* probes, const overlap_sizes_t* sizes,
                                    int64_t n_tokens) noexcept nogil:
    """Weighted overlap of two texts that share nothing, the longer one of ``n_tokens``.

    Two texts shorter than a size both have no n-gram of it, and so overlap fully there.
    """
    cdef double total = 0.0, weight_sum = 0.0
    cdef Py_ssize_t i
    for i in range(sizes.n_sizes):
        if n_tokens < kind_of_size(probes, i).need:
            total += sizes.weights[i]
        weight_sum += sizes.weights[i]
    return 0.0 if weight_sum == 0.0 else total / weight_sum


cdef inline void finish_probes(probes_t* probes, const overlap_sizes_t* sizes) noexcept nogil:
    """Account for the contexts that share nothing with a probe, once all have been seen.

    Such a pair scores above 0 only where both texts are shorter than a size, and then the shortest
    context scores best (weights are not negative here) and never above a pair that shares.
    """
    cdef int64_t probe, n_tokens
    if not probes.any_context:
        return
    for probe in range(probes.n_probes):
        n_tokens = max(probe_tokens(probes, probe), probes.shortest_context)
        if n_tokens == 0:
            probes.best_unigram[probe] = 1.0
        if probe < probes.n_weighted and not probes.dense:
            probes.best_weighted[probe] = max(
                probes.best_weighted[probe], unshared_overlap(probes, sizes, n_tokens))


cdef inline double overlap_without_shared(const probes_t* probes, const overlap_sizes_t* sizes,
                                          int64_t probe, int64_t n_tokens) noexcept nogil:
    """What a probe has in common with a context of ``n_tokens`` that shares nothing with it."""
    cdef int64_t longer = max(probe_tokens(probes, probe), n_tokens)
    if probe < probes.n_weighted:
        return unshared_overlap(probes, sizes, longer)
    return 1.0 if longer == 0 else 0.0


cdef inline void note_unshared(probes_t* probes, const overlap_sizes_t* sizes) noexcept nogil:
    """Note the contexts that suit best without sharing anything, once all have been seen.

    That overlap falls as contexts get longer, so that the first to have the best is one that was
    shorter than all before it. If it does share something, it was noted with no less.
    """
    cdef int64_t probe, low, high, middle, context
    cdef double best
    if not probes.n_shorter:
        return
    for probe in range(probes.n_weighted if probes.dense else 0, probes.n_probes):
        best = overlap_without_shared(probes, sizes, probe, probes.shortest_context)
        if best == 0.0 or best < probes.noted_overlap[probe]:
            continue
        low, high = 0, probes.n_shorter - 1
        while low < high:
            middle = (low + high) // 2
            if overlap_without_shared(probes, sizes, probe, probes.shorter[middle].n_tokens) < best:
                low = middle + 1
            else:
                high = middle
        context = probes.shorter[low].context
        if best > probes.noted_overlap[probe] or context < probes.noted_context[probe]:
            probes.noted_context[probe] = context
