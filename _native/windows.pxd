"""The richest run of consecutive words: most of some wanted stems within a width.

A place is a word of the row, with the number of its chunk above: places of two chunks are farther
from each other than any width, and one pass goes over all chunks.
"""
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from primitives cimport int32_t, int64_t, reserve, token_t, uint32_t

cdef enum:
    SIFT_FACTOR = 16     # passes over a place that merging takes, at most
    WORD_BITS = 32       # of a place; a row has fewer words


cdef struct window_t:
    int64_t n_found      # distinct stems; 0 when nothing is found
    int64_t chunk
    int64_t first        # words of the tightest run that holds them
    int64_t last


cdef inline int64_t place_of(int64_t chunk, int64_t word) noexcept nogil:
    return chunk << WORD_BITS | word


cdef inline int64_t word_of(int64_t place) noexcept nogil:
    return <uint32_t> place


cdef inline int64_t chunk_of(int64_t place) noexcept nogil:
    return place >> WORD_BITS


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
    cdef int32_t fresh
    # What was listed before is forgotten stem by stem: there may be many more stems than places.
    for i in range(found.n_listed):
        found.numbers[found.listed[i]] = 0
    # Up to the number that the next fresh stem would get.
    found.begins[0] = found.begins[1] = found.begins[2] = found.begins[3] = 0
    for i in range(found.n_hits):
        stem = stems[word_of(found.hits[i])]
        number = found.numbers[stem]
        # Written always and kept when fresh: no branch for the processor to guess wrong.
        fresh = number == 0
        found.listed[n_listed] = stem
        n_listed += fresh
        found.begins[n_listed + 3] = 0
        number |= -fresh & <int32_t> n_listed
        found.numbers[stem] = number
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
        number = found.numbers[stems[word_of(hits[i])]]
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
        n += found.inside[stems[word_of(found.hits[i])]]
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

cdef inline int64_t add_place(int32_t* inside, const token_t* stems, const int64_t* places,
                              int64_t right, int64_t width, int64_t* left) noexcept nogil:
    """Let a run end with a place, and begin with the first that is within the width.

    By how much the distinct stems inside become more.
    """
    cdef token_t stem = stems[word_of(places[right])]
    cdef int64_t n_more = inside[stem] == 0
    inside[stem] += 1
    while places[left[0]] <= places[right] - width:
        stem = stems[word_of(places[left[0]])]
        inside[stem] -= 1
        n_more -= inside[stem] == 0
        left[0] += 1
    return n_more


cdef inline void empty_run(int32_t* inside, const token_t* stems, const int64_t* places,
                           int64_t first, int64_t end) noexcept nogil:
    cdef int64_t i
    for i in range(first, end):
        inside[stems[word_of(places[i])]] = 0


cdef inline int64_t tightest_left(int32_t* inside, const token_t* stems, const int64_t* places,
                                  int64_t right, int64_t n_found) noexcept nogil:
    """The last place from which on to ``right`` there are so many distinct stems."""
    cdef int64_t left = right + 1
    cdef token_t stem
    while n_found:
        left -= 1
        stem = stems[word_of(places[left])]
        n_found -= inside[stem] == 0
        inside[stem] = 1
    empty_run(inside, stems, places, left, right + 1)
    return left


cdef inline void first_place(const occurrences_t* found, token_t stem,
                             window_t* best) noexcept nogil:
    cdef int64_t place
    if count_places(found, stem) == 0:
        return
    place = found.places[found.begins[found.numbers[stem]]]
    best.n_found = 1
    best.first = best.last = word_of(place)
    best.chunk = chunk_of(place)


cdef inline int64_t count_found(const occurrences_t* found, const token_t* types,
                                int64_t n_types) noexcept nogil:
    """How many of some stems occur at all."""
    cdef int64_t n_found = 0, i
    for i in range(n_types):
        n_found += count_places(found, types[i]) > 0
    return n_found


cdef inline int64_t slide(occurrences_t* found, const token_t* stems, int64_t n_places,
                          int64_t width, int64_t goal, int64_t* right) noexcept nogil:
    """Distinct stems of the richest run of places gathered, and where it ends.

    Of equals the one that ends first; ``goal`` stems, at least 1, are not to be outdone.
    """
    # In locals: the compiler cannot know that no store of the loop changes them.
    cdef int32_t* inside = found.inside
    cdef const int64_t* places = found.sorted
    cdef int64_t left = 0, n_inside = 0, n_best = 0, end = n_places, i
    right[0] = 0
    for i in range(n_places):
        n_inside += add_place(inside, stems, places, i, width, &left)
        right[0] = i if n_inside > n_best else right[0]
        n_best = max(n_inside, n_best)
        if n_inside == goal:
            end = i + 1
            break
    empty_run(inside, stems, places, left, end)
    return n_best


cdef inline int best_window(occurrences_t* found, const token_t* stems, const token_t* types,
                            int64_t n_types, int64_t width, window_t* best) noexcept nogil:
    """The first of the richest runs of some stems, within a width and a chunk; 0, or -1 without
    memory.
    """
    cdef int64_t n_places, right, left
    memset(best, 0, sizeof(window_t))
    best.last = -1
    if n_types == 1:
        # Found or not, without a look at all its places.
        first_place(found, types[0], best)
        return 0
    n_places = gather_places(found, stems, types, n_types)
    if n_places <= 0:
        return <int> n_places
    # No run has more than the stems that occur at all.
    best.n_found = slide(found, stems, n_places, min(width, <int64_t> 1 << WORD_BITS),
                         count_found(found, types, n_types), &right)
    left = tightest_left(found.inside, stems, found.sorted, right, best.n_found)
    best.chunk = chunk_of(found.sorted[right])
    best.first = word_of(found.sorted[left])
    best.last = word_of(found.sorted[right])
    return 0


cdef inline int list_runs(occurrences_t* found, const token_t* stems, const token_t* types,
                          int64_t n_types, int64_t width, int64_t n_chunks) noexcept nogil:
    """Fill ``runs`` with the richest run of every chunk that has one of the stems; 0, or -1."""
    cdef int64_t n_places = gather_places(found, stems, types, n_types)
    cdef int64_t left = 0, n_inside = 0, n_runs = 0, n_best = 0, last_chunk = -1, chunk, i
    cdef const int64_t* places = found.sorted
    cdef run_t* runs
    cdef bint fresh
    if n_places < 0:
        return -1
    if reserve(<void**> &found.runs, &found.runs_capacity, min(n_places, n_chunks),
               sizeof(run_t)):
        return -1
    runs = found.runs
    for i in range(n_places):
        n_inside += add_place(found.inside, stems, places, i, width, &left)
        chunk = chunk_of(places[i])
        # Written always: the one before it is not touched when the chunk is another.
        fresh = chunk != last_chunk
        n_runs += fresh
        n_best = n_inside if fresh else max(n_inside, n_best)
        runs[n_runs - 1] = run_t(chunk, n_best)
        last_chunk = chunk
    empty_run(found.inside, stems, places, left, n_places)
    found.n_runs = n_runs
    return 0
