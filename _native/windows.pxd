"""The richest run of consecutive words: most of some wanted stems within a width."""
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from primitives cimport int32_t, int64_t, reserve, token_t

cdef enum:
    SIFT_FACTOR = 8      # passes over a place that merging takes, at most


cdef struct window_t:
    int64_t n_found      # distinct stems; 0 when nothing is found
    int64_t chunk
    int64_t first        # words of the tightest run that holds them
    int64_t last


cdef struct run_t:
    int64_t chunk
    int64_t n_found      # distinct stems in the richest run of the chunk, at least 1


cdef struct occurrences_t:
    const int64_t* hits        # all places listed, in order, as the caller holds them
    int64_t n_hits
    token_t* listed            # the stems that they have, numbered from 1
    int64_t listed_capacity
    int64_t n_listed
    int32_t* numbers           # per stem: its number, 0 for one that does not occur
    int64_t numbers_capacity
    int64_t* begins            # stem number n occurs at places[begins[n]:begins[n + 1]], in order
    int64_t begins_capacity
    int64_t* places
    int64_t places_capacity
    int64_t* sorted            # places of several stems together, in order
    int64_t sorted_capacity
    int64_t* merged
    int64_t merged_capacity
    int32_t* inside            # per stem: times within the run at hand; all 0 between calls
    int64_t inside_capacity
    run_t* runs                # of the chunks that have any of the stems asked for, in order
    int64_t runs_capacity
    int64_t n_runs


cdef inline void close_occurrences(occurrences_t* found) noexcept nogil:
    free(found.listed)
    free(found.numbers)
    free(found.begins)
    free(found.places)
    free(found.sorted)
    free(found.merged)
    free(found.inside)
    free(found.runs)


cdef inline int reserve_stems(occurrences_t* found, int64_t n_stems) noexcept nogil:
    """Room for stems below ``n_stems``, new room all 0; 0, or -1 without memory."""
    cdef int64_t before = found.inside_capacity
    if reserve(<void**> &found.inside, &found.inside_capacity, n_stems + 1, sizeof(int32_t)):
        return -1
    memset(found.inside + before, 0, <size_t> (found.inside_capacity - before) * sizeof(int32_t))
    before = found.numbers_capacity
    if reserve(<void**> &found.numbers, &found.numbers_capacity, n_stems + 1, sizeof(int32_t)):
        return -1
    memset(found.numbers + before, 0,
           <size_t> (found.numbers_capacity - before) * sizeof(int32_t))
    return 0


cdef inline void number_stems(occurrences_t* found, const token_t* stems) noexcept nogil:
    """Number the stems of the places listed and count them, two numbers on."""
    cdef int64_t n_listed = 0, i
    cdef int32_t number
    cdef token_t stem
    cdef bint fresh
    # What was listed before is forgotten stem by stem: there may be many more stems than places.
    for i in range(found.n_listed):
        found.numbers[found.listed[i]] = 0
    found.begins[0] = found.begins[1] = found.begins[2] = 0
    for i in range(found.n_hits):
        stem = stems[found.hits[i]]
        number = found.numbers[stem]
        # Written always and kept when fresh: no branch for the processor to guess wrong.
        fresh = number == 0
        found.listed[n_listed] = stem
        n_listed += fresh
        number = <int32_t> n_listed if fresh else number
        found.numbers[stem] = number
        found.begins[n_listed + 2] = 0 if fresh else found.begins[n_listed + 2]
        found.begins[number + 2] += 1
    found.n_listed = n_listed


cdef inline int list_occurrences(occurrences_t* found, const token_t* stems, const int64_t* hits,
                                 int64_t n_hits, int64_t n_stems) noexcept nogil:
    """List the places ``hits``, in order, by the stem that each has; 0, or -1 without memory."""
    cdef int64_t i
    cdef int32_t number
    if reserve_stems(found, n_stems):
        return -1
    if reserve(<void**> &found.listed, &found.listed_capacity, n_hits + 1, sizeof(token_t)):
        return -1
    if reserve(<void**> &found.begins, &found.begins_capacity, n_hits + 4, sizeof(int64_t)):
        return -1
    if reserve(<void**> &found.places, &found.places_capacity, n_hits + 1, sizeof(int64_t)):
        return -1
    found.hits = hits
    found.n_hits = n_hits
    number_stems(found, stems)
    # Counted two places on and filled one place on, as in probes.
    for i in range(1, found.n_listed + 1):
        found.begins[i + 2] += found.begins[i + 1]
    for i in range(n_hits):
        number = found.numbers[stems[hits[i]]]
        found.places[found.begins[number + 1]] = hits[i]
        found.begins[number + 1] += 1
    return 0


cdef inline int64_t count_places(const occurrences_t* found, token_t stem) noexcept nogil:
    cdef int32_t number = found.numbers[stem]
    return found.begins[number + 1] - found.begins[number]


# ------------------------------------------------------------------------- places of several stems

cdef inline int64_t ascent_end(const int64_t* places, int64_t begin, int64_t end) noexcept nogil:
    """Past the ascending run that begins at ``begin``."""
    begin += 1
    while begin < end and places[begin - 1] < places[begin]:
        begin += 1
    return begin


cdef inline void merge_runs(const int64_t* left, int64_t n_left, const int64_t* right,
                            int64_t n_right, int64_t* out) noexcept nogil:
    cdef int64_t i = 0, j = 0
    cdef bint first
    while i < n_left and j < n_right:
        # Without a branch: which comes first is a toss-up.
        first = left[i] < right[j]
        out[i + j] = left[i] if first else right[j]
        i += first
        j += not first
    memcpy(out + i + j, left + i, <size_t> (n_left - i) * sizeof(int64_t))
    memcpy(out + n_left + j, right + j, <size_t> (n_right - j) * sizeof(int64_t))


cdef inline void order_places(occurrences_t* found, int64_t n_places) noexcept nogil:
    """Merge ascending runs, two and two, until one is left."""
    cdef int64_t begin, middle, end, n_runs = 2
    cdef int64_t* swapped
    while n_runs > 1:
        begin = n_runs = 0
        while begin < n_places:
            middle = ascent_end(found.sorted, begin, n_places)
            end = ascent_end(found.sorted, middle, n_places) if middle < n_places else middle
            merge_runs(found.sorted + begin, middle - begin, found.sorted + middle, end - middle,
                       found.merged + begin)
            begin = end
            n_runs += 1
        swapped = found.sorted
        found.sorted = found.merged
        found.merged = swapped


cdef inline int reserve_places(occurrences_t* found, int64_t n_places) noexcept nogil:
    """Room in ``sorted`` and ``merged``, of one size, for they are swapped; 0, or -1."""
    cdef int64_t n = found.sorted_capacity
    if n_places <= n:
        return 0
    if reserve(<void**> &found.sorted, &found.sorted_capacity, n_places, sizeof(int64_t)):
        return -1
    if reserve(<void**> &found.merged, &n, found.sorted_capacity, sizeof(int64_t)):
        found.sorted_capacity = found.merged_capacity
        return -1
    found.merged_capacity = n
    return 0


cdef inline void merge_places(occurrences_t* found, const token_t* types, int64_t n_types,
                              int64_t n_places) noexcept nogil:
    cdef int64_t at = 0, n, i
    for i in range(n_types):
        n = count_places(found, types[i])
        if n == 0:
            continue
        memcpy(found.sorted + at, found.places + found.begins[found.numbers[types[i]]],
               <size_t> n * sizeof(int64_t))
        at += n
    order_places(found, n_places)


cdef inline void sift_places(occurrences_t* found, const token_t* stems, const token_t* types,
                             int64_t n_types) noexcept nogil:
    """Pick the places of some stems out of all that are listed."""
    cdef int64_t n = 0, i
    for i in range(n_types):
        found.inside[types[i]] = 1
    for i in range(found.n_hits):
        found.sorted[n] = found.hits[i]
        n += found.inside[stems[found.hits[i]]]
    for i in range(n_types):
        found.inside[types[i]] = 0


cdef inline int64_t gather_places(occurrences_t* found, const token_t* stems,
                                  const token_t* types, int64_t n_types) noexcept nogil:
    """All places of some stems in order, in ``sorted``; how many, or -1 without memory."""
    cdef int64_t n_places = 0, i
    for i in range(n_types):
        n_places += count_places(found, types[i])
    # One more, written and not kept.
    if reserve_places(found, n_places + 1):
        return -1
    # Where they are no small part of all, a pass over all is shorter than merging them.
    if found.n_hits <= SIFT_FACTOR * n_places:
        sift_places(found, stems, types, n_types)
    else:
        merge_places(found, types, n_types, n_places)
    return n_places


# ---------------------------------------------------------------------------------- sliding

cdef inline window_t slide(int32_t* inside, const token_t* stems, const int64_t* places,
                           int64_t n_places, int64_t width, int64_t goal) noexcept nogil:
    """The richest run among the places of one chunk.

    Of equals the one whose right end comes first, its left end moved right as far as it may;
    ``goal`` stems are not to be outdone.
    """
    cdef window_t best
    cdef int64_t n_inside = 0, left = 0, i
    cdef token_t stem
    memset(&best, 0, sizeof(window_t))
    best.last = -1
    for i in range(n_places):
        stem = stems[places[i]]
        inside[stem] += 1
        n_inside += inside[stem] == 1
        while places[left] <= places[i] - width or inside[stems[places[left]]] > 1:
            stem = stems[places[left]]
            inside[stem] -= 1
            n_inside -= inside[stem] == 0
            left += 1
        if n_inside > best.n_found:
            best.n_found = n_inside
            best.first = places[left]
            best.last = places[i]
            if n_inside == goal:
                break
    for i in range(left, n_places):
        inside[stems[places[i]]] = 0
    return best


cdef inline int64_t chunk_of_place(const int64_t* chunk_begins, int64_t n_chunks, int64_t chunk,
                                   int64_t place) noexcept nogil:
    """The chunk that holds a place, ``chunk`` or one after it.

    In steps that double, then halved: few of many chunks may hold what is looked for.
    """
    cdef int64_t step = 1, end, middle
    if place < chunk_begins[chunk + 1]:
        return chunk
    chunk += 1
    while chunk + step < n_chunks and chunk_begins[chunk + step] <= place:
        chunk += step
        step *= 2
    end = min(chunk + step, n_chunks)
    while end - chunk > 1:
        middle = chunk + (end - chunk) // 2
        if chunk_begins[middle] <= place:
            chunk = middle
        else:
            end = middle
    return chunk


cdef inline void first_place(const occurrences_t* found, token_t stem,
                             const int64_t* chunk_begins, int64_t n_chunks,
                             window_t* best) noexcept nogil:
    if count_places(found, stem) == 0:
        return
    best.n_found = 1
    best.first = best.last = found.places[found.begins[found.numbers[stem]]]
    best.chunk = chunk_of_place(chunk_begins, n_chunks, 0, best.first)


cdef inline int64_t count_found(const occurrences_t* found, const token_t* types,
                                int64_t n_types) noexcept nogil:
    """How many of some stems occur at all."""
    cdef int64_t n_found = 0, i
    for i in range(n_types):
        n_found += count_places(found, types[i]) > 0
    return n_found


cdef inline window_t next_run(occurrences_t* found, const token_t* stems, int64_t* at,
                              int64_t n_places, int64_t width, int64_t goal,
                              const int64_t* chunk_begins, int64_t n_chunks,
                              int64_t chunk) noexcept nogil:
    """The richest run of the next chunk from ``chunk`` on with a place gathered from ``at`` on."""
    cdef int64_t first = at[0], end = first + 1
    cdef window_t window
    chunk = chunk_of_place(chunk_begins, n_chunks, chunk, found.sorted[first])
    while end < n_places and found.sorted[end] < chunk_begins[chunk + 1]:
        end += 1
    window = slide(found.inside, stems, found.sorted + first, end - first, width, goal)
    window.chunk = chunk
    at[0] = end
    return window


cdef inline int best_window(occurrences_t* found, const token_t* stems, const token_t* types,
                            int64_t n_types, int64_t width, const int64_t* chunk_begins,
                            int64_t n_chunks, window_t* best) noexcept nogil:
    """The first chunk with the richest run of some stems; 0, or -1 without memory.

    ``chunk_begins`` are places, one more than chunks.
    """
    cdef int64_t n_places, goal, at = 0
    cdef window_t window
    memset(best, 0, sizeof(window_t))
    best.last = -1
    if n_types == 1:
        # Found or not, without a look at all its places.
        first_place(found, types[0], chunk_begins, n_chunks, best)
        return 0
    n_places = gather_places(found, stems, types, n_types)
    # No run has more than the stems that occur at all.
    goal = count_found(found, types, n_types)
    window.chunk = 0
    while at < n_places:
        window = next_run(found, stems, &at, n_places, width, goal, chunk_begins, n_chunks,
                          window.chunk)
        if window.n_found > best.n_found:
            best[0] = window
            if window.n_found == goal:
                break
    return -1 if n_places < 0 else 0


cdef inline int list_runs(occurrences_t* found, const token_t* stems, const token_t* types,
                          int64_t n_types, int64_t width, const int64_t* chunk_begins,
                          int64_t n_chunks) noexcept nogil:
    """Fill ``runs`` with the richest run of every chunk that has one of the stems; 0, or -1."""
    cdef int64_t n_places = gather_places(found, stems, types, n_types), at = 0
    cdef int64_t goal = count_found(found, types, n_types)
    cdef window_t window
    if reserve(<void**> &found.runs, &found.runs_capacity, min(n_places, n_chunks),
               sizeof(run_t)):
        return -1
    found.n_runs = 0
    window.chunk = 0
    while at < n_places:
        window = next_run(found, stems, &at, n_places, width, goal, chunk_begins, n_chunks,
                          window.chunk)
        found.runs[found.n_runs] = run_t(window.chunk, window.n_found)
        found.n_runs += 1
    return -1 if n_places < 0 else 0
