"""``rag-eval validate``: every line that could not be scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from rag_eval.cli.flags import flag_of
from rag_eval.cli.printing import Told, say
from rag_eval.cli.scoring_flags import reading_flags
from rag_eval.errors import InputChangedError, InputError, NotMeasuredError
from rag_eval.options.declared import declared
from rag_eval.options.file_types import ConfigOptions
from rag_eval.plumbing.spelling import counted

if TYPE_CHECKING:
    from rag_eval.samples import Profile


@click.command(
    "validate",
    epilog="Exit codes: 0 every sample is valid · 2 a sample is invalid, DATA cannot be read, "
    "or a metric "
    "cannot be measured in any sample",
)
@click.argument("data", metavar="DATA")
@flag_of(
    declared(ConfigOptions)["metrics"],
    help="Metrics whose fields must be present. [default: the seven]",
)
@flag_of(
    declared(ConfigOptions)["profile"],
    default="overlap",
    show_default=True,
    help="Profile that computes the metrics; with grounded, a missing field gives a null.",
)
@flag_of(
    declared(ConfigOptions)["scorer_options"],
    help='Options of a scorer that it needs: omk.contains={"value": "a"}.',
)
@reading_flags
def validate_command(
    data: str,
    metrics: list[str] | None,
    profile: Profile,
    scorer_options: dict[str, Any],
    **reading: Any,
) -> int:
    """List every sample in DATA that cannot be scored, each with its first fault.

    DATA is a file of samples: .jsonl, .json, .csv, .tsv, .xlsx, .parquet or .arrow; a quoted
    pattern such as "runs/*.jsonl"; or - for JSON lines on standard input. Text files may be
    compressed (.gz, .zst). Nothing is scored. Which fields are required depends on the metrics.
    This also prints the fields that were recognised, the metrics that they allow, and how many
    samples lack a field.

    \b
    Examples:
      rag-eval validate samples.jsonl
      zcat samples.jsonl.gz | rag-eval validate - --metrics faithfulness
    """
    from rag_eval.jobs.options import input_options
    from rag_eval.reports.plain_text import plain_text, without_python
    from rag_eval.results.batch import not_measured_text
    from rag_eval.scoring.faulty_rows import validate_file

    failure: InputError | None = None
    told = Told()
    try:
        found = validate_file(
            data,
            metrics,
            profile=profile,
            scorer_options=scorer_options,
            reading=input_options(reading),
            on_fault=lambda fault: print(plain_text(without_python(str(fault)))),
            allow_changed_input=bool(reading["allow_changed_input"]),
            allow_missing=bool(reading["allow_missing"]),
            on_found=told,
        )
    except (InputChangedError, NotMeasuredError) as error:
        found, failure = error.report, error
    lines = [not_measured_text(found.not_measured)]
    if found.metrics:
        lines.append(f"metrics: {', '.join(found.metrics)}")
    lines += [
        f"{counted(n, 'sample')} without {name.replace('_', ' ')}"
        for name, n in found.lacking.items()
    ]
    told.print_rest(filter(None, lines))
    print(f"{counted(found.n_rows, 'sample')}, {found.n_invalid:,} invalid")
    if found.repeated_ids:
        say(f"warning: {found.repeated_ids}")
    if failure is not None:
        raise failure
    for change in found.changed_input:
        say(f"note: {change}")
    return 2 if found.n_invalid else 0
