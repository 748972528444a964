"""How far the chunks of a row carry its claims, by what each sentence lacks of them.

Shares of its content stems within one window, of its pairs, of its numbers and names, of pairs of
names that stand near each other; a number that the chunk contradicts; a name that is new.
"""
from libc.string cimport memset

from claims cimport (
    AS_NEIGHBOURS, AS_SKIP_PAIR, BIGRAM_LOSS, CONTRADICTION, NAME_LOSS, NEAR_LOSS, NEW_NAME,
    NUMBER_LOSS, N_LOSSES, SKIP_LOSS, STEM_IN_CHUNK, WINDOW_LOSS, claim_t, claims_t, clamped,
    counted_t, support_t,
)
from name_support cimport check_names
from number_support cimport check_numbers
from primitives cimport int64_t, token_t, uint8_t
from row_words cimport piece_t, row_words_t
from stopping cimport is_stopped
from windows cimport best_window

cdef extern from *:
    """
    static const double SENTENCE_CUT = 0.60;
    /* Of the losses, in their order; those of the six shares add up to 1. */
    static const double shipped_weights[8] = {0.40, 0.20, 0.20, 0.08, 0.06, 0.06, 0.12, 0.06};
    """
    const double SENTENCE_CUT
    const double shipped_weights[8]

cdef enum:
    MIN_WINDOW = 30
    WINDOW_FACTOR = 3


cdef struct parts_t:
    double bigram              # shares of a sentence's pairs
    double skip
    counted_t numbers
    counted_t names
    counted_t pairs            # of names


cdef inline double share_found(const counted_t* counted) noexcept nogil:
    """1 where nothing was to be found."""
    if counted.n_found == 0:
        return 1.0
    return 1.0 - <double> counted.n_missing / <double> counted.n_found


cdef inline void add_counted(counted_t* total, const counted_t* counted) noexcept nogil:
    total.n_found += counted.n_found
    total.n_missing += counted.n_missing


cdef inline double weighted_score(const double* losses, const double* weights) noexcept nogil:
    """Written as what is left of 1, so that a full match is exactly 1; added in this order."""
    cdef double loss = 0.0
    cdef int i
    for i in range(N_LOSSES):
        loss += weights[i] * losses[i]
    return clamped(1.0 - loss)


cdef inline double share_of_pairs(const claims_t* claims, int64_t first, int64_t n_pairs,
                                  uint8_t how) noexcept nogil:
    """Share of some pairs of a claim that a chunk has."""
    cdef int64_t found = 0, i
    for i in range(first, first + n_pairs):
        found += claims.pair_found[claims.pairs[i]] & how != 0
    return <double> found / <double> n_pairs


cdef inline void find_pairs(const claims_t* claims, const claim_t* claim, token_t first_stem,
                            double window, parts_t* parts) noexcept nogil:
    """Shares of bigrams and skip pairs; a word alone is found or not, content without a pair is
    as the window.
    """
    if claim.n_pairs:
        parts.bigram = share_of_pairs(claims, claim.pairs, claim.n_pairs, AS_NEIGHBOURS)
    else:
        parts.bigram = 1.0 if claims.marks[first_stem] & STEM_IN_CHUNK else 0.0
    parts.skip = window
    if claim.n_skips:
        parts.skip = share_of_pairs(claims, claim.skips, claim.n_skips, AS_SKIP_PAIR)


cdef inline void list_losses(double* losses, double window, const parts_t* parts,
                             bint contradiction) noexcept nogil:
    losses[<int> WINDOW_LOSS] = 1.0 - window
    losses[<int> BIGRAM_LOSS] = 1.0 - parts.bigram
    losses[<int> SKIP_LOSS] = 1.0 - parts.skip
    losses[<int> NUMBER_LOSS] = 1.0 - share_found(&parts.numbers)
    losses[<int> NAME_LOSS] = 1.0 - share_found(&parts.names)
    losses[<int> NEAR_LOSS] = 1.0 - share_found(&parts.pairs)
    losses[<int> CONTRADICTION] = contradiction
    losses[<int> NEW_NAME] = parts.names.n_missing > 0


cdef inline int support_sentence(claims_t* claims, const row_words_t* words, const piece_t* piece,
                                 int64_t sentence, parts_t* parts) noexcept nogil:
    """Score one sentence of a text; 0, or -1 if ended early."""
    cdef const claim_t* claim = &claims.claims[sentence]
    cdef support_t* support = &claims.supports[sentence]
    cdef int64_t first = piece.first + words.sentences.items[sentence].first
    cdef int64_t last = piece.first + words.sentences.items[sentence].last
    if is_stopped(&claims.stop):
        return -1
    if best_window(&claims.occurrences, words.stems, claims.types + claim.types,
                   claim.n_types, max(<int64_t> MIN_WINDOW, WINDOW_FACTOR * (last - first)),
                   &support.where):
        return -1
    if check_numbers(claims, words, piece, first, last, support, &parts.numbers):
        return -1
    if check_names(claims, words, first, last, &parts.names, &parts.pairs):
        return -1
    support.window = <double> support.where.n_found / <double> claim.n_types
    find_pairs(claims, claim, words.stems[first], support.window, parts)
    list_losses(support.losses, support.window, parts, support.number >= 0)
    support.score = weighted_score(support.losses, shipped_weights)
    return 0


cdef inline bint is_too_short(const claim_t* claim, int64_t n_words) noexcept nogil:
    """A text of so many words, each of which may be a stem, a bigram and two skip pairs, cannot
    reach the cut.
    """
    cdef double n = <double> n_words, window = n / <double> claim.n_types, skip = window
    if claim.n_skips:
        skip = (1 + 1) * n / <double> claim.n_skips
    return (shipped_weights[<int> WINDOW_LOSS] * window
            + shipped_weights[<int> BIGRAM_LOSS] * n / <double> max(<int64_t> 1, claim.n_pairs)
            + shipped_weights[<int> SKIP_LOSS] * skip + shipped_weights[<int> NUMBER_LOSS]
            + shipped_weights[<int> NAME_LOSS]
            + shipped_weights[<int> NEAR_LOSS]) < SENTENCE_CUT - 0.01


cdef inline int support_piece(claims_t* claims, const row_words_t* words, const piece_t* piece,
                              double* losses) noexcept nogil:
    """Score the sentences of a text, of which there is one, and pool what they lack.

    Windows and pairs count by the content words of the sentences; numbers, names and pairs of names
    are those of all sentences together; a flag is up if a sentence has it up. 0, or -1 if ended
    early.
    """
    cdef double weight = 0.0, window = 0.0, n_content
    cdef bint contradiction = False
    cdef parts_t parts, total
    cdef int64_t i
    memset(&total, 0, sizeof(parts_t))
    for i in range(piece.first_sentence, piece.last_sentence):
        if support_sentence(claims, words, piece, i, &parts):
            return -1
        n_content = <double> claims.claims[i].n_content
        weight += n_content
        window += n_content * claims.supports[i].window
        total.bigram += n_content * parts.bigram
        total.skip += n_content * parts.skip
        add_counted(&total.numbers, &parts.numbers)
        add_counted(&total.names, &parts.names)
        add_counted(&total.pairs, &parts.pairs)
        contradiction |= claims.supports[i].number >= 0
    total.bigram = total.bigram / weight
    total.skip = total.skip / weight
    list_losses(losses, window / weight, &total, contradiction)
    claims.numbers = total.numbers
    claims.names = total.names
    return 0
