"""The richest run of consecutive words: most of some wanted stems within a width."""
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from primitives cimport int32_t, int64_t, reserve, token_t


cdef struct window_t:
    int64_t n_found      # distinct stems; 0 when nothing is found
    int64_t chunk
    int64_t first        # words of the tightest run that holds them
    int64_t last


cdef struct occurrences_t:
    int64_t* begins            # stem t occurs at places[begins[t]:begins[t + 1]], in order
    int64_t begins_capacity
    int64_t* places
    int64_t places_capacity
    int64_t* sorted            # places of several stems together, in order
    int64_t sorted_capacity
    int64_t* merged
    int64_t merged_capacity
    int32_t* inside            # per stem: times within the run at hand; all 0 between calls
    int64_t inside_capacity


cdef inline void close_occurrences(occurrences_t* found) noexcept nogil:
    free(found.begins)
    free(found.places)
    free(found.sorted)
    free(found.merged)
    free(found.inside)


cdef inline int list_occurrences(occurrences_t* found, const token_t* stems, const int64_t* hits,
                                 int64_t n_hits, int64_t n_stems) noexcept nogil:
    """List the places ``hits``, in order, by the stem that each has; 0, or -1 without memory."""
    cdef int64_t i, before = found.inside_capacity
    if reserve(<void**> &found.begins, &found.begins_capacity, n_stems + 2, sizeof(int64_t)):
        return -1
    if reserve(<void**> &found.places, &found.places_capacity, n_hits + 1, sizeof(int64_t)):
        return -1
    if reserve(<void**> &found.inside, &found.inside_capacity, n_stems + 1, sizeof(int32_t)):
        return -1
    memset(found.inside + before, 0, <size_t> (found.inside_capacity - before) * sizeof(int32_t))
    memset(found.begins, 0, <size_t> (n_stems + 2) * sizeof(int64_t))
    # Counted two places on and filled one place on, as in probes.
    for i in range(n_hits):
        found.begins[stems[hits[i]] + 2] += 1
    for i in range(n_stems):
        found.begins[i + 2] += found.begins[i + 1]
    for i in range(n_hits):
        found.places[found.begins[stems[hits[i]] + 1]] = hits[i]
        found.begins[stems[hits[i]] + 1] += 1
    return 0


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


cdef inline int64_t gather_places(occurrences_t* found, const token_t* types,
                                  int64_t n_types) noexcept nogil:
    """All places of some stems in order, in ``sorted``; how many, or -1 without memory."""
    cdef int64_t n_places = 0, n, i
    for i in range(n_types):
        n_places += found.begins[types[i] + 1] - found.begins[types[i]]
    if n_places > found.sorted_capacity:
        # Of one size, for they are swapped.
        n = found.merged_capacity = found.sorted_capacity
        if reserve(<void**> &found.sorted, &found.sorted_capacity, n_places, sizeof(int64_t)):
            return -1
        if reserve(<void**> &found.merged, &n, found.sorted_capacity, sizeof(int64_t)):
            found.sorted_capacity = found.merged_capacity
            return -1
        found.merged_capacity = n
    n_places = 0
    for i in range(n_types):
        n = found.begins[types[i] + 1] - found.begins[types[i]]
        if n == 0:
            continue
        memcpy(found.sorted + n_places, found.places + found.begins[types[i]],
               <size_t> n * sizeof(int64_t))
        n_places += n
    order_places(found, n_places)
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


cdef inline int first_place(const occurrences_t* found, token_t stem, const int64_t* chunk_begins,
                            window_t* best) noexcept nogil:
    if found.begins[stem] == found.begins[stem + 1]:
        return 0
    best.n_found = 1
    best.first = best.last = found.places[found.begins[stem]]
    while chunk_begins[best.chunk + 1] <= best.first:
        best.chunk += 1
    return 0


cdef inline int best_window(occurrences_t* found, const token_t* stems, const token_t* types,
                            int64_t n_types, int64_t width, const int64_t* chunk_begins,
                            int64_t n_chunks, int64_t* richest, window_t* best) noexcept nogil:
    """The first chunk with the richest run of some stems; 0, or -1 without memory.

    ``chunk_begins`` are places, one more than chunks. ``richest``, if not NULL, gets the number of
    stems in the best run of every chunk.
    """
    cdef int64_t n_places, i = 0, end, chunk = 0
    cdef window_t window
    memset(best, 0, sizeof(window_t))
    best.last = -1
    if richest == NULL and n_types == 1:
        # Found or not, without a look at all its places.
        return first_place(found, types[0], chunk_begins, best)
    n_places = gather_places(found, types, n_types)
    if n_places < 0:
        return -1
    if richest != NULL:
        memset(richest, 0, <size_t> n_chunks * sizeof(int64_t))
    while i < n_places:
        while chunk_begins[chunk + 1] <= found.sorted[i]:
            chunk += 1
        end = i + 1
        while end < n_places and found.sorted[end] < chunk_begins[chunk + 1]:
            end += 1
        window = slide(found.inside, stems, found.sorted + i, end - i, width, n_types)
        if richest != NULL:
            richest[chunk] = window.n_found
        if window.n_found > best.n_found:
            best[0] = window
            best.chunk = chunk
            if richest == NULL and window.n_found == n_types:
                return 0
        i = end
    return 0
