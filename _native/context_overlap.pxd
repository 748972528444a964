"""One context after the other against a row's probes: shared n-grams, best overlaps."""
from ngram_sets cimport (
    begin_tally, find_gram, gram_pair, grams_t, jaccard, join_grams, number_gram, tally_ids,
    tally_t, widen_tally,
)
from primitives cimport int32_t, int64_t, reserve, token_t, uint64_t
from probes cimport (
    gram_kind_t, is_bigram, is_unigram, kind_of_size, overlap_sizes_t, probe_tokens, probes_t,
    reserve_grams, widest_window,
)
from token_counts cimport counts_t


cdef inline int share(probes_t* probes, gram_kind_t* kind, const token_t* distinct,
                      Py_ssize_t n_distinct, bint touch) noexcept nogil:
    """Count, per probe, the context's distinct n-grams that the probe has; 0, or -1."""
    cdef Py_ssize_t n_known = 0, i
    cdef int64_t at
    cdef token_t id, n_ids = <token_t> kind.n_ids
    cdef int32_t probe
    if reserve(<void**> &probes.known, &probes.known_capacity, n_distinct + 1, sizeof(token_t)):
        return -1
    # Sifted first, without a branch: half of the n-grams are in no probe, and which is a toss-up.
    for i in range(n_distinct):
        probes.known[n_known] = distinct[i]
        n_known += distinct[i] < n_ids
    for i in range(n_known):
        id = probes.known[i]
        for at in range(kind.list_offsets[id], kind.list_offsets[id + 1]):
            probe = kind.lists[at]
            if touch:
                # Written always and kept when this is the probe's first.
                probes.touched[probes.n_touched] = probe
                probes.n_touched += kind.shared[probe] == 0
            kind.shared[probe] += 1
    return 0


cdef inline void share_id(probes_t* probes, gram_kind_t* kind, token_t id) noexcept nogil:
    cdef int64_t at
    for at in range(kind.list_offsets[id], kind.list_offsets[id + 1]):
        kind.shared[kind.lists[at]] += 1


cdef inline Py_ssize_t sift_bigrams(
    probes_t* probes, gram_kind_t* kind, const token_t* tokens, int64_t n_tokens,
    const tally_t* counts,
) noexcept nogil:
    """List in ``known`` the bigrams that need a table; how many there are.

    A bigram with a token that occurs once in the text occurs once itself. So only bigrams of two
    repeated tokens have to be told apart, and those that a probe could have to be found. No
    branch: which is which cannot be guessed. ``kind.n_context`` counts those that occur once for
    sure, which are listed as ~i, others as i.
    """
    cdef const uint64_t* cells = counts.cells
    cdef uint64_t once = counts.stamp + 1
    cdef token_t* known = probes.known
    cdef token_t n_probe_tokens = <token_t> probes.kinds[0].n_ids, right = tokens[0]
    cdef int left_repeats, right_repeats = cells[right] > once, single
    cdef int left_probed, right_probed = right < n_probe_tokens
    cdef int64_t i, n_single = 0
    cdef Py_ssize_t n_sifted = 0
    for i in range(n_tokens - 1):
        left_repeats = right_repeats
        left_probed = right_probed
        right = tokens[i + 1]
        right_repeats = cells[right] > once
        right_probed = right < n_probe_tokens
        single = (left_repeats & right_repeats) ^ 1
        n_single += single
        known[n_sifted] = <token_t> i ^ -single
        n_sifted += (left_probed & right_probed) | (single ^ 1)
    kind.n_context = n_single
    return n_sifted


cdef inline int share_bigrams(
    probes_t* probes, gram_kind_t* kind, const token_t* tokens, int64_t n_tokens,
    const tally_t* counts, grams_t* grams, tally_t* tally,
) noexcept nogil:
    """The context's distinct bigrams and those that each probe has; 0, or -1 without memory."""
    cdef Py_ssize_t n_sifted, i
    cdef int64_t id, at
    if reserve(<void**> &probes.known, &probes.known_capacity, n_tokens + 1, sizeof(token_t)):
        return -1
    n_sifted = sift_bigrams(probes, kind, tokens, n_tokens, counts)
    for i in range(n_sifted):
        at = probes.known[i]
        if at < 0:
            id = find_gram(grams, gram_pair(<uint64_t> tokens[~at], tokens[~at + 1]))
        else:
            id = number_gram(grams, gram_pair(<uint64_t> tokens[at], tokens[at + 1]))
            if id < 0 or widen_tally(tally, grams.n_grams):
                return -1
            if tally.cells[id] >= tally.stamp:
                continue
            tally.cells[id] = tally.stamp
            kind.n_context += 1
        if 0 <= id < kind.n_ids:
            share_id(probes, kind, <token_t> id)
    return 0


cdef inline int share_kind(probes_t* probes, gram_kind_t* kind, const token_t* ids,
                           int64_t n_ids, counts_t* counts, tally_t* tally) noexcept nogil:
    """Count the shared n-grams of a kind, of which ``ids`` has one for each token; 0, or -1."""
    if begin_tally(tally, n_ids):
        return -1
    kind.n_context = tally_ids(tally, ids, counts.total - kind.need + 1, counts.distinct)
    return share(probes, kind, counts.distinct, kind.n_context, False)


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
    if begin_tally(tally, grams.n_grams):
        return -1
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
