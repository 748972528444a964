"""A folder to label in.  In: a name.  Out: files with comments that say what to write where."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from rag_eval.errors import InputError

_METADATA: Final = """\
# Who labels, when, and on what scale. Values in quotes are texts and must stay in quotes.
metadata:
  annotator: ""        # a person or a team; not the model that is the judge
  annotatedAt: ""      # for example "2026-01-31"
  version: "1"         # counts up when labels change
  scale: {min: 1, max: 5}
  # notes: "labelled blind, in random order"
"""

_ANNOTATIONS: Final = """\
# One entry for each sample. More files like this one may lie beside it; a sample comes once.
annotations: []
# annotations:
#   - {sample_id: "q-0001", score: 4, reason: "one claim is not in the contexts"}
#   - {sample_id: "q-0002", score: 1, reason: "answers another question"}
"""

_README: Final = """\
# Labels by a person

The scores that `rag-eval labels compare` and `rag-eval run --gold-dir` are held against.

1. Write who labels into `metadata.yaml`. One folder is one person's: a second person makes a folder
   of their own (`rag-eval labels init`) and does not look into this one.
2. Say in one sentence per score what it means, before the first label. Labels of one metric say
   something about that metric only.
3. Take samples at random (`rag-eval labels sample`). Those that look interesting, or that score
   worst, say nothing about the rest.
4. Label without seeing scores, and in random order. A model must not label what it judges.
5. Write a score per sample into `annotations.yaml`, with a reason where you hesitated.
6. Check: `rag-eval labels validate FOLDER`. Compare:
   `rag-eval labels compare FOLDER results.json --metric faithfulness`.

How many? Fifty labels give a first impression, with wide intervals; two people on the same samples
show how far agreement can go at all.
"""

FILES: Final = {
    "README.md": _README,
    "metadata.yaml": _METADATA,
    "annotations.yaml": _ANNOTATIONS,
}


def write_template(folder: str | Path) -> list[Path]:
    """Write the files of a new gold dataset into a folder, which is made where it is not there.

    Raises
    ------
    InputError
        When one of them is there already; nothing is written then.
    """
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise InputError(f"{folder} is a file; wanted a folder, or a name for a new one")
    targets = [path / name for name in FILES]
    # A link that leads nowhere is there, too.
    if taken := [str(target) for target in targets if os.path.lexists(target)]:
        raise InputError(f"{', '.join(taken)}: already there, and labels are never overwritten")
    path.mkdir(parents=True, exist_ok=True)
    for target, text in zip(targets, FILES.values(), strict=True):
        # "x": nor is what somebody else has written by now.
        with target.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    return targets
