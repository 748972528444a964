"""Stems -> the sentences of one text that claim something of them."""
from libc.stdlib cimport free
from libc.string cimport memset

from claims cimport claim_t, claims_t
from primitives cimport int64_t, reserve
from row_words cimport n_stems, piece_t, row_words_t


cdef struct claim_lists_t:
    int64_t* begins            # stem s is in sentences[begins[s]:begins[s + 1]]
    int64_t begins_capacity
    int64_t* sentences
    int64_t sentences_capacity
    int64_t* looked_at         # per sentence of the text: when last
    int64_t looked_at_capacity
    int64_t n_looked_at        # texts they were held against


cdef inline void close_claim_lists(claim_lists_t* lists) noexcept nogil:
    free(lists.begins)
    free(lists.sentences)
    free(lists.looked_at)


cdef inline int list_claims(claim_lists_t* lists, const claims_t* claims,
                            const row_words_t* words, const piece_t* piece) noexcept nogil:
    """List the sentences of a text by the content stems that each has; 0, or -1."""
    cdef int64_t n_sentences = piece.last_sentence - piece.first_sentence, n_entries = 0, i, k, at
    cdef const claim_t* claim
    for i in range(piece.first_sentence, piece.last_sentence):
        n_entries += claims.claims[i].n_types
    if reserve(<void**> &lists.begins, &lists.begins_capacity, n_stems(words) + 2,
               sizeof(int64_t)):
        return -1
    if reserve(<void**> &lists.sentences, &lists.sentences_capacity, n_entries, sizeof(int64_t)):
        return -1
    if reserve(<void**> &lists.looked_at, &lists.looked_at_capacity, n_sentences,
               sizeof(int64_t)):
        return -1
    lists.n_looked_at = 0
    memset(lists.looked_at, 0, <size_t> n_sentences * sizeof(int64_t))
    memset(lists.begins, 0, <size_t> (n_stems(words) + 2) * sizeof(int64_t))
    # Counted two places on and filled one place on, as in probes.
    for i in range(piece.first_sentence, piece.last_sentence):
        claim = &claims.claims[i]
        for k in range(claim.types, claim.types + claim.n_types):
            lists.begins[claims.types[k] + 2] += 1
    for i in range(n_stems(words)):
        lists.begins[i + 2] += lists.begins[i + 1]
    for i in range(piece.first_sentence, piece.last_sentence):
        claim = &claims.claims[i]
        for k in range(claim.types, claim.types + claim.n_types):
            at = lists.begins[claims.types[k] + 1]
            lists.sentences[at] = i
            lists.begins[claims.types[k] + 1] = at + 1
    return 0
