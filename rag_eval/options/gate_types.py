"""Options of the test of a run against another, and of the gate that the test decides."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypedDict

from rag_eval.options.declared import (
    DIFFERENCE,
    MARGIN,
    NAMES,
    SEED,
    SHARE,
    WHOLE_FROM_ONE,
    Option,
    choice,
    document,
)
from rag_eval.samples import POLICIES, Policy


class PairedTestOptions(TypedDict, total=False):
    """How two runs are tested row by row: of ``compare``, ``gate`` and of runs with a baseline."""

    gating: Annotated[
        Sequence[str] | None,
        Option(
            NAMES,
            "Metrics that decide the verdict.",
            unset="all except diagnostics, composite and passed",
            flag_help="Metric that decides the verdict (repeatable).",
            metavar="METRIC",
            noted=True,
        ),
    ]
    slices: Annotated[
        Sequence[str] | None,
        Option(
            NAMES,
            "Fields whose values are also tested one by one, in the same family.",
            flag="--slice",
            flag_help="Also test the rows with each value of this field separately (repeatable).",
            metavar="FIELD",
            noted=True,
        ),
    ]
    margin: Annotated[
        float | Mapping[str, float] | None,
        Option(
            MARGIN,
            "Largest accepted loss of the mean, for all metrics or for one.",
            takes="float or mapping of float",
            flag_help="Largest accepted loss of the mean, for all metrics or for one (repeatable).",
            noted=True,
        ),
    ]
    tolerance: Annotated[
        float | Mapping[str, float] | None,
        Option(
            MARGIN,
            "Significant drops up to this size pass as WITHIN TOLERANCE, for all metrics or "
            "for one.",
            unset="0.005",
            takes="float or mapping of float",
            flag_help="Significant drops up to this size pass as WITHIN TOLERANCE, for all metrics "
            "or for one (repeatable).",
            noted=True,
        ),
    ]
    alpha: Annotated[
        float | None,
        Option(
            SHARE,
            "Significance level: chance of a false alarm over all tests together.",
            default=0.05,
            noted=True,
        ),
    ]
    adjust: Annotated[
        Literal["max-t", "holm"] | None,
        Option(
            choice("max-t", "holm"),
            "How p values are adjusted for the number of tests: by Westfall and Young's step-down "
            "max-T, which finds more where metrics move together, or by Holm's method.",
            default="max-t",
            noted=True,
        ),
    ]
    n_resamples: Annotated[
        int | None,
        Option(
            WHOLE_FROM_ONE,
            "Minimum number of sign-flip resamples, rounded up to a power of two.",
            default=9999,
            flag="--resamples",
            noted=True,
        ),
    ]
    seed: Annotated[
        int | None,
        Option(SEED, "Seed of the sign patterns.", default=0, noted=True),
    ]
    edited: Annotated[
        Literal["drop", "keep"] | None,
        Option(
            choice("drop", "keep"),
            "Leave out, or keep, rows with the same id but another question, ground truth or "
            "relevant ids.",
            default="drop",
            noted=True,
        ),
    ]


class PolicyOptions(PairedTestOptions, total=False):
    """How a run is gated against a baseline."""

    policy: Annotated[
        Policy | None,
        Option(
            choice(*POLICIES),
            "Policy for the comparison with the baseline: no-regression, non-inferior, omk, "
            "regtrace or node; see rag-eval gate.",
            default="no-regression",
            metavar="POLICY",
            noted=True,
        ),
    ]
    max_null_rise: Annotated[
        float | None,
        Option(
            SHARE,
            "Largest accepted increase in a metric's share of null scores; a larger, statistically "
            "significant increase fails the gate.",
            unset="0.02",
            noted=True,
        ),
    ]
    max_missing_rows: Annotated[
        float | None,
        Option(
            SHARE,
            "Accepted share of the baseline's rows that are missing in the run.",
            unset="0.01",
            noted=True,
        ),
    ]
    care: Annotated[
        float | None,
        Option(
            DIFFERENCE,
            "Smallest drop of interest; the report says if there are too few rows to detect it.",
            default=0.05,
            noted=True,
        ),
    ]


document(PairedTestOptions)
document(PolicyOptions, PairedTestOptions)
