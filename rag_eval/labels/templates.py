"""A name in; a folder for labels, with commented template files, out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from rag_eval.errors import InputError

_METADATA: Final = """\
# Who labels, when, and on what scale. Values in quotes are texts and must stay in quotes.
metadata:
  annotator: ""        # a person or a team, not the judge model
  annotatedAt: ""      # for example "2026-01-31"
  version: "1"         # increase it when labels change
  scale: {min: 1, max: 5}
  # notes: "labelled blind, in random order"
"""

_ANNOTATIONS: Final = """\
# One entry per sample. You may add more files like this one; each sample occurs only once.
annotations: []
# annotations:
#   - {sample_id: "q-0001", score: 4, reason: "one claim is not in the contexts"}
#   - {sample_id: "q-0002", score: 1, reason: "answers another question"}
"""

_README: Final = """\
# Labels by a person

`rag-eval labels compare` and `rag-eval run --gold-dir` compare scores with these labels.

1. Write your name into `metadata.yaml`. Each folder belongs to one person: a second person creates
   another folder (`rag-eval labels init`) and does not look into this one.
2. Before the first label, write one sentence per score that says what the score means. Labels for
   one metric apply to that metric only.
3. Choose samples at random (`rag-eval labels sample`). Samples that look interesting, or that have
   the worst scores, do not represent the rest.
4. Label in random order, without seeing the scores. A model must not label what it judges.
5. Write one score per sample into `annotations.yaml`, with a reason where you were unsure.
6. Check: `rag-eval labels validate FOLDER`. Compare:
   `rag-eval labels compare FOLDER results.json --metric faithfulness`.

How many? Label 100 to 300 samples; with fewer, confidence intervals are wide. If two people label
the same samples, their agreement shows what scores can reach.
"""

FILES: Final = {
    "README.md": _README,
    "metadata.yaml": _METADATA,
    "annotations.yaml": _ANNOTATIONS,
}


def write_template(folder: str | Path) -> list[Path]:
    """Write the files of a new gold dataset into a folder, which is created if necessary.

    Raises
    ------
    InputError
        If one of the files already exists; nothing is written then.
    """
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise InputError(f"{folder} is a file, not a folder")
    targets = [path / name for name in FILES]
    # A broken link exists, too.
    if taken := [str(target) for target in targets if os.path.lexists(target)]:
        raise InputError(f"labels are never overwritten; already there: {', '.join(taken)}")
    path.mkdir(parents=True, exist_ok=True)
    for target, text in zip(targets, FILES.values(), strict=True):
        # "x": also protects a file that another process has just written.
        with target.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    return targets
