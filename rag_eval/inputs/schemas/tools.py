"""Where each known schema keeps our fields, and which of them a source has.

In: the paths of a source's columns.  Out: the paths of our fields, by each form of each schema.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from rag_eval.inputs.schemas.paths import EACH

_ONLY_MEMBER: Final = ".*"


class Columns:
    """The paths of a source; which of them hold values, and which only other paths."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = dict.fromkeys(paths)
        self._objects: set[str] = set()
        self._lists: set[str] = set()  # of objects
        for path in self.paths:
            for end, character in enumerate(path):
                if path.startswith(EACH, end):
                    self._lists.add(path[:end])
                elif character == "." and not path.endswith(EACH, 0, end):
                    self._objects.add(path[:end])

    def __iter__(self) -> Iterator[str]:
        return iter(self.paths)

    def hold(self, path: str, name: str) -> bool:
        """Whether the path may be that of the field: objects in a list are contexts, no text."""
        return (
            path in self.paths
            and path not in self._objects
            and (path not in self._lists or name == "contexts")
        )

    def only_member(self, parent: str, taken: Collection[str]) -> str | None:
        """The one member of an object that could be a text, if there is just one."""
        members = [
            path
            for path in self.paths
            if path.startswith(f"{parent}.")
            and "." not in path[len(parent) + 1 :]
            and path not in taken
            and self.hold(path, "")
        ]
        return members[0] if len(members) == 1 else None


@dataclass(frozen=True, slots=True)
class Shape:
    """One form of a schema's rows.

    Attributes
    ----------
    paths : dict
        Native field -> paths to look for, the first that is there counts; no path is that of two
        fields. ``inputs.*`` is the one member of ``inputs``, when it has no more than one.
    marker : str
        A column that nothing else has: with it, rows have this form and no other; without it, they
        do not. Empty when there is no such column.
    others : tuple of str
        Columns that are not our fields, whatever their names are.
    """

    paths: dict[str, tuple[str, ...]]
    marker: str = ""
    others: tuple[str, ...] = ()

    def found(self, columns: Columns, given: Collection[str] = ()) -> dict[str, str]:
        """Where the fields are that were not given; empty when the rows have another form."""
        found: dict[str, str] = {}
        if self.marker and self.marker not in columns.paths:
            return found
        wanted = [name for name in self.paths if name not in given]
        for name in wanted:
            for path in self.paths[name]:
                if columns.hold(path, name):
                    found[name] = path
                    break
        # Not before: a member can be the only one left because another is known for contexts.
        for name in wanted:
            for path in self.paths[name]:
                if name not in found and path.endswith(_ONLY_MEMBER):
                    member = columns.only_member(path.removesuffix(_ONLY_MEMBER), found.values())
                    if member is not None:
                        found[name] = member
        return found


def known_paths(schema: str, *fields: str) -> list[str]:
    """The paths that a schema may have the fields under, each once."""
    paths = (
        path for shape in SHAPES[schema] for name in fields for path in shape.paths.get(name, ())
    )
    return list(dict.fromkeys(path for path in paths if not path.endswith(_ONLY_MEMBER)))


def _shape(marker: str = "", others: str = "", **paths: str) -> Shape:
    listed = {field: tuple(names.split()) for field, names in paths.items()}
    return Shape(listed, marker, tuple(others.split()))


# Of schemas that read the columns alike, the first lends its name. A schema claims rows by a
# question or an answer of its own, and what it does not name is looked for under native names.
SHAPES: Final[dict[str, tuple[Shape, ...]]] = {
    "native": (
        _shape(
            question="question",
            answer="answer",
            contexts="contexts",
            ground_truth="ground_truth groundTruth",
        ),
    ),
    "ragas": (
        _shape(
            question="user_input",
            answer="response",
            contexts="retrieved_contexts",
            ground_truth="reference",
        ),
    ),
    "ragas_v1": (
        _shape(
            question="question",
            answer="answer",
            contexts="contexts",
            ground_truth="ground_truth ground_truths",
        ),
    ),
    # `context` is what ideally would have been retrieved: our metrics do not read it.
    "deepeval": (
        _shape(
            others="context",
            question="input",
            answer="actual_output actualOutput",
            contexts="retrieval_context retrievalContext",
            ground_truth="expected_output expectedOutput",
            id="name",
            metadata="metadata additional_metadata additionalMetadata",
        ),
    ),
    "llamaindex": (
        _shape(
            question="query",
            answer="response",
            contexts="contexts source_nodes",
            ground_truth="reference_answer reference",
            id="query_id",
        ),
    ),
    "ragchecker": (
        _shape(
            question="query",
            answer="response",
            contexts="retrieved_context",
            ground_truth="gt_answer",
            id="query_id",
        ),
    ),
    "continuous_eval": (
        _shape(
            question="question",
            answer="answer",
            contexts="retrieved_context",
            ground_truth="ground_truth_answers",
            id="uid",
        ),
    ),
    "haystack": (
        _shape(
            question="questions",
            answer="predicted_answers",
            contexts="contexts documents",
            ground_truth="ground_truth_answers",
        ),
    ),
    "inspect": (
        _shape(
            question="input",
            answer="output.completion",
            contexts="metadata.contexts metadata.retrieved_contexts metadata.context",
            ground_truth="target",
        ),
    ),
    "autoevals": (
        _shape(question="input", answer="output", contexts="context", ground_truth="expected"),
    ),
    # `reference` is what was retrieved, not what the answer should have been.
    "phoenix": (
        _shape(
            question="input attributes.input.value",
            answer="output attributes.output.value",
            contexts="context reference attributes.retrieval.documents",
            ground_truth="expected",
            id="context.span_id",
        ),
    ),
    "langchain": (
        # A retrieval chain: `answer` is what it said.
        _shape(
            question="question input query",
            answer="answer",
            contexts="context source_documents documents",
            ground_truth="reference_outputs.answer",
        ),
        # A chain of questions over documents, and string evaluators: `answer` is what it should
        # have said.
        _shape(
            question="query input",
            answer="result output prediction",
            contexts="source_documents context documents",
            ground_truth="answer reference",
        ),
        # A run beside the example it answers.
        _shape(
            question="inputs.question inputs.query inputs.input inputs.* inputs "
            "run.inputs.question run.inputs.query run.inputs.input run.inputs.*",
            answer="outputs.answer outputs.result outputs.output outputs.response "
            "outputs.prediction outputs.* outputs "
            "run.outputs.answer run.outputs.result run.outputs.output run.outputs.*",
            contexts="outputs.contexts outputs.context outputs.documents outputs.source_documents "
            "inputs.contexts inputs.context "
            "run.outputs.contexts run.outputs.context run.outputs.documents "
            "run.outputs.source_documents context",
            ground_truth="reference_outputs.answer reference_outputs.output reference_outputs.* "
            "reference_outputs reference.answer reference.output reference.* "
            "example.outputs.answer example.outputs.output example.outputs.*",
            id="example_id run.reference_example_id",
        ),
        # An example by itself: its outputs are what should come out, nothing has been answered.
        _shape(
            "source_run_id",
            question="inputs.question inputs.query inputs.input inputs.*",
            ground_truth="outputs.answer outputs.output outputs.response outputs.*",
        ),
    ),
    # `expectations.expected_facts` is left out: all of them have to hold, where a list of ground
    # truths says that one is enough.
    "mlflow": (
        _shape(
            question="inputs.question inputs.query inputs.input inputs.request inputs.*",
            answer="outputs.answer outputs.response outputs.output outputs.* outputs",
            contexts="outputs.contexts outputs.context outputs.documents inputs.contexts "
            "inputs.context",
            ground_truth="expectations.expected_response",
            id="dataset_record_id",
        ),
        _shape(
            question="request",
            answer="response",
            contexts="retrieved_context",
            ground_truth="expected_response",
            id="request_id",
        ),
    ),
    "trulens": (
        _shape(
            question="record_root.input input query",
            answer="record_root.output output response",
            contexts="retrieval.retrieved_contexts",
            ground_truth="record_root.ground_truth_output expected_response",
            id="record_id input_id query_id",
        ),
    ),
    # `schema_documents.rows_of_document` sets `expected`, from assertions that hold an answer.
    "promptfoo": (
        _shape(
            question="vars.question vars.query vars.input",
            answer="response.output",
            contexts="vars.contexts vars.context vars.documents",
            ground_truth="expected vars.ground_truth vars.expected vars.reference",
        ),
    ),
}

#: Objects that hold fields, and the paths of these; others are called as a text may be.
OBJECTS: Final = {
    head: frozenset(
        path
        for shapes in SHAPES.values()
        for shape in shapes
        for paths in shape.paths.values()
        for path in paths
        if path.startswith(f"{head}.") and not path.endswith(_ONLY_MEMBER)
    )
    for head in (
        *("inputs", "outputs", "reference_outputs", "expectations", "run", "example", "vars"),
        *("record_root", "retrieval"),
    )
}

SCHEMA_NAMES: Final = tuple(SHAPES)
"""The known schemas, the native one first."""

# promptfoo's assertions whose value is an answer that would be right.
ANSWER_ASSERTIONS: Final = frozenset(
    {
        "bleu",
        "context-recall",
        "equals",
        "factuality",
        "gleu",
        "levenshtein",
        "meteor",
        "model-graded-factuality",
        "rouge-n",
        "similar",
    }
)
