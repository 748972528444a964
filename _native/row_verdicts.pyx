"""Scores and limits -> which metrics of a row pass, its composite score, and whether it passes."""
from libc.math cimport NAN, isnan
from libc.stdint cimport int64_t, uint8_t

from outcomes cimport MISSING_FIELD, REFUSED

# What scores of a column are compared with, and what a row needs besides metrics that pass: in the
# order of rag_eval.kernels.verdicts.
cdef enum:
    UNLIMITED, AT_LEAST, AT_MOST

cdef enum:
    NEVER, COMPOSITE, LIMITED_SCORE, ANY_SCORE, NOTHING


def judge(const double[:, :] scores, const uint8_t[:, :] null_reasons, const double[::1] limits,
          const uint8_t[::1] kinds, const uint8_t[::1] reads_truth, const int64_t[::1] composed,
          const double[::1] weights, int need, double composite_limit,
          double[::1] composite, uint8_t[:, ::1] metric_passed, uint8_t[::1] passed):
    """Fill in the verdicts on R rows of M columns; ``kernels/verdicts.py`` says what is what.

    Without ``null_reasons`` no answer is a refusal.
    """
    cdef Py_ssize_t row, column, i
    cdef bint all_passed, has_limited, has_any, is_excused, has_refused, reached
    cdef double score, weight, total, weight_sum
    cdef uint8_t reason
    with nogil:
        for row in range(scores.shape[0]):
            all_passed = is_excused = True
            has_limited = has_any = has_refused = False
            for column in range(scores.shape[1]):
                score = scores[row, column]
                if isnan(score):
                    metric_passed[row, column] = False
                elif kinds[column] == UNLIMITED:
                    metric_passed[row, column] = True
                    has_any = True
                else:
                    metric_passed[row, column] = (score >= limits[column]
                                                  if kinds[column] == AT_LEAST
                                                  else score <= limits[column])
                    if not metric_passed[row, column]:
                        all_passed = False
                    has_any = has_limited = True
                if kinds[column] != UNLIMITED and null_reasons is not None:
                    reason = null_reasons[row, column]
                    if reason == REFUSED:
                        has_refused = True
                    elif reason != MISSING_FIELD or not reads_truth[column]:
                        is_excused = False
            # One after the other, metric by metric: the bits of a plain loop.
            total, weight_sum = -0.0, -0.0
            for i in range(composed.shape[0]):
                score = scores[row, composed[i]]
                weight = weights[i]
                if isnan(score):
                    score = weight = 0.0
                total += score * weight
                weight_sum += weight
            composite[row] = total / weight_sum if weight_sum > 0 else NAN
            if need == COMPOSITE:
                reached = composite[row] >= composite_limit
            elif need == LIMITED_SCORE:
                # What could fail is null because the answer claims nothing; a ground truth that is
                # not there takes nothing from it.
                reached = has_limited or (has_refused and is_excused)
            elif need == ANY_SCORE:
                reached = has_any
            else:
                reached = need == NOTHING
            passed[row] = all_passed and reached
