"""The name of a tool in; what is raised where its package is missing, out."""

from __future__ import annotations

from rag_eval.errors import MissingExtraError


def missing_package(tool: str, package: str) -> MissingExtraError:
    """The error of ``rag_eval.integrations.<tool>`` without the package that it is for."""
    return MissingExtraError(
        f"rag_eval.integrations.{tool} needs {package}: pip install {package!r}"
    )
