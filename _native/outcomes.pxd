"""Metrics, null reasons and causes by number."""

# Metrics in the order of rag_eval.metrics.ids; the overlap profile has those up to the last of
# its own.
cdef enum:
    FAITHFULNESS, ANSWER_RELEVANCE, CONTEXT_PRECISION, CONTEXT_RECALL, CONTEXT_RELEVANCE
    ANSWER_CORRECTNESS, HALLUCINATION_RATE
    CONTEXT_UTILIZATION, NOISE_SENSITIVITY, CLAIM_RECALL, SELF_KNOWLEDGE
    UNSUPPORTED_NUMBERS, UNSUPPORTED_NAMES, N_ALL_METRICS

cdef enum:
    N_OVERLAP_METRICS = 7

# Why a score is null, in the order of rag_eval.samples.
cdef enum:
    MEASURED, MISSING_FIELD, NOTHING_TO_MEASURE
    REFUSED = 13

# Why a score of the grounded profile is null or 0 without counting, in the order of
# rag_eval.results.words_grounded.
cdef enum:
    COUNTED, NO_ANSWER, NO_CONTEXTS, NO_CONTEXT, NO_TRUTH, NO_QUESTION, EMPTY_ANSWER, REFUSAL
    NO_RELEVANT_CHUNK, NO_NUMBERS, NO_NAMES
