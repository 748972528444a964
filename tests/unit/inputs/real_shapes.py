"""Rows as tools write them, in our own words; run, it prints the table of docs/files.md."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from rag_eval.errors import InputError
from rag_eval.inputs.schemas.fields import field_map, paths_of_rows
from rag_eval.inputs.schemas.maps import FoundFields

Q: Final = "How high is the tower?"
A: Final = "The tower is 31 m high."
C: Final = ["The tower, built of granite, is 31 m high.", "Its lamp was lit in 1887."]
G: Final = "It is 31 m high."


class RealShape(NamedTuple):
    """One row of a tool's file."""

    tool: str
    row: dict[str, Any]


def _documents(**names: str) -> list[dict[str, Any]]:
    [(text, other)] = names.items()
    return [{text: context, other: {"page": page}} for page, context in enumerate(C)]


SHAPES: Final = [
    RealShape("ragas 0.1", {"question": Q, "answer": A, "contexts": C, "ground_truth": G}),
    RealShape(
        "ragas before 0.1", {"question": Q, "answer": A, "contexts": C, "ground_truths": [G]}
    ),
    RealShape(
        "ragas 0.2 to 0.4",
        {"user_input": Q, "retrieved_contexts": C, "response": A, "reference": G},
    ),
    RealShape(
        "ragas, saved by pandas as CSV",
        {"user_input": Q, "retrieved_contexts": repr(C), "response": A, "reference": G},
    ),
    RealShape(
        "ragas, conversation",
        {
            "user_input": [{"content": Q, "type": "human"}, {"content": A, "type": "ai"}],
            "reference": G,
        },
    ),
    RealShape(
        "deepeval",
        {
            "input": Q,
            "actual_output": A,
            "retrieval_context": C,
            "expected_output": G,
            "context": ["What should have been retrieved."],
        },
    ),
    RealShape(
        "deepeval, camelCase",
        {"input": Q, "actualOutput": A, "retrievalContext": C, "expectedOutput": G},
    ),
    RealShape(
        "LangChain, retrieval chain",
        {"input": Q, "context": _documents(page_content="metadata"), "answer": A},
    ),
    RealShape(
        "LangChain, RetrievalQA",
        {"query": Q, "result": A, "source_documents": _documents(page_content="metadata")},
    ),
    RealShape(
        "LangChain documents, printed into a cell",
        {
            "question": Q,
            "answer": A,
            "source_documents": f"[Document(metadata={{'page': 1}}, page_content={C[0]!r})]",
        },
    ),
    RealShape(
        "LangSmith",
        {
            "inputs": {"question": Q},
            "outputs": {"answer": A, "documents": _documents(page_content="metadata")},
            "reference_outputs": {"answer": G},
        },
    ),
    RealShape(
        "LlamaIndex",
        {
            "query": Q,
            "response": A,
            "source_nodes": [{"node": {"text": text}, "score": 0.8} for text in C],
        },
    ),
    RealShape(
        "TruLens",
        {"input": Q, "output": A, "retrieval": {"retrieved_contexts": C}, "record_id": "r1"},
    ),
    RealShape(
        "MLflow",
        {
            "inputs": {"question": Q},
            "outputs": {"response": A, "context": C},
            "expectations": {"expected_response": G},
        },
    ),
    RealShape("Phoenix", {"input": Q, "output": A, "reference": C[0]}),
    RealShape(
        "promptfoo",
        {"vars": {"query": Q, "context": C[0]}, "response": {"output": A}, "expected": G},
    ),
    RealShape("prompt-flow", {"inputs.question": Q, "outputs.answer": A, "outputs.context": C[0]}),
    RealShape(
        "prompt-flow, evaluation", {"query": Q, "response": A, "context": C[0], "ground_truth": G}
    ),
    RealShape(
        "RAGChecker",
        {
            "query_id": "1",
            "query": Q,
            "gt_answer": G,
            "response": A,
            "retrieved_context": _documents(text="doc"),
        },
    ),
    RealShape(
        "Haystack",
        {"questions": Q, "contexts": C, "predicted_answers": A, "ground_truth_answers": G},
    ),
    RealShape(
        "open-rag-eval",
        {"query_id": "1", "query": Q, "passage": C[0], "generated_answer": A, "expected_answer": G},
    ),
    RealShape(
        "MT-RAG",
        {
            "input": [{"speaker": "user", "text": Q}],
            "contexts": [{"document_id": "1", "text": text} for text in C],
            "targets": [{"speaker": "agent", "text": G}],
            "predictions": [{"text": A}],
        },
    ),
    RealShape("autoevals", {"input": Q, "output": A, "expected": G, "context": C}),
    RealShape("home-made", {"question": Q, "generated_answer": A, "passages": C, "gold": G}),
    RealShape("home-made", {"prompt": Q, "model_answer": A, "chunks": C, "expected_answer": G}),
    RealShape("home-made", {"query": Q, "prediction": A, "docs": C, "target": G}),
    RealShape(
        "home-made", {"userInput": Q, "modelResponse": A, "retrievedChunks": C, "idealAnswer": G}
    ),
    RealShape("home-made", {"Question": Q, "Answer": A, "Context": C[0], "Ground Truth": G}),
    RealShape("home-made", {"question": Q, "llm_answer": A, "context_text": C[0], "reference": G}),
    RealShape("home-made", {"question": Q, "answer": A, "retrieved_docs": [C[:1], C[1:]]}),
    RealShape("home-made", {"query": Q, "answer": A, "contexts": str(C).replace("', '", "' '")}),
    RealShape(
        "home-made",
        {
            "messages": [{"role": "user", "content": Q}, {"role": "assistant", "content": A}],
            "documents": [{"text": text, "source": "a.pdf"} for text in C],
        },
    ),
    RealShape("home-made", {"question": Q, "answer": A, "docs": C, "chunks": C}),
    RealShape("home-made", {"question": Q, "answer": G, "model_answer": A}),
]


def found(row: dict[str, Any]) -> str:
    """What is said about the fields of a row."""
    try:
        fields = field_map(paths_of_rows([row]), first_rows=lambda _: [row])
    except InputError as error:
        return f"error: {error}"
    return str(FoundFields("", fields, fields.shapes(lambda _: [row])))


def table() -> str:
    """The table of docs/files.md."""
    lines = ["| written by | columns | what is recognised |", "|---|---|---|"]
    for shape in SHAPES:
        columns = ", ".join(f"`{name}`" for name in shape.row)
        # Brackets outside of code would be links.
        said = re.sub(r"(?<==)[^\s,]*\[[^\s,]*", r"`\g<0>`", found(shape.row))
        lines.append(f"| {shape.tool} | {columns} | {said.replace('|', chr(92) + '|')} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
