"""Writes the requested report files and CI outputs of a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from rag_eval.errors import InputError
from rag_eval.jobs.options import check_folder, check_target
from rag_eval.plumbing.durable_files import atomic_file, followed
from rag_eval.views.outcomes import Outcome, run_outcomes, run_properties
from rag_eval.views.run_view import RunView

# The name of each format and its file extensions.
_FORMS: Final = {
    "html": ("an HTML page", (".html", ".htm", ".xhtml")),
    "junit": ("JUnit XML", (".xml",)),
    "gitlab": ("JSON", (".json",)),
    "markdown": ("Markdown", (".md", ".markdown", ".mdx")),
}
_OTHER_ENDINGS: Final = frozenset(
    {".pdf", ".doc", ".docx", ".odt", ".png", ".svg", ".csv", ".tsv", ".xlsx", ".jsonl", ".yaml"}
    | {".yml", ".toml", ".parquet", ".arrow", ".zip", ".gz", ".zst"}
    | {ending for _, endings in _FORMS.values() for ending in endings}
)


def check_ending(form: str, path: Path, asked: str) -> None:
    """Raise for an extension that belongs to another format; unknown extensions are accepted.

    ``asked`` is the flag or the method that the message names.
    """
    what, endings = _FORMS[form]
    ending = path.suffix.lower()
    if ending not in _OTHER_ENDINGS or ending in endings:
        return
    hint = " (for a PDF, print the page from a browser)" if ending == ".pdf" else ""
    raise InputError(
        f"{asked} writes {what}, but {path} ends in {ending}: use a name that ends in "
        f"{endings[0]}{hint if form == 'html' else ''}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFiles:
    """Which reports to write, and where.

    Attributes
    ----------
    html, junit, gitlab, markdown : Path or None
        HTML report, JUnit XML, GitLab code quality JSON, Markdown summary for a pull request.
    github : bool
        Annotations on standard error, and the summary in the file named by GITHUB_STEP_SUMMARY.
    """

    html: Path | None = None
    junit: Path | None = None
    gitlab: Path | None = None
    markdown: Path | None = None
    github: bool = False

    @property
    def paths(self) -> list[Path]:
        """The files to write."""
        return [path for _, path in self._named()]

    def _named(self) -> list[tuple[str, Path]]:
        forms = {"html": self.html, "junit": self.junit, "gitlab": self.gitlab}
        given = {**forms, "markdown": self.markdown}
        return [(form, path) for form, path in given.items() if path is not None]

    @property
    def wanted(self) -> bool:
        """Whether there is any report to write."""
        return self.github or bool(self.paths)

    def check(self, sources: Iterable[str | Path] = (), others: Iterable[str | Path] = ()) -> None:
        """Raise before any work if a file cannot be written or would overwrite another.

        Parameters
        ----------
        sources : iterable of path
            The sample or result files that are read.
        others : iterable of path
            Other files that the command reads or writes, existing or not.

        Raises
        ------
        InputError
            For a path that is given twice or is one of these files, a missing folder, a missing
            package, or an extension that belongs to another format.
        """
        read = list(sources)
        taken = {followed(Path(other)) for other in others}
        for path in self.paths:
            check_target(path, read)
            if followed(path) in taken:
                raise InputError(f"{path} is given twice: each report needs its own file")
            taken.add(followed(path))
        for form, path in self._named():
            check_ending(form, path, f"--{form}")
            check_folder(path)
        if self.html is not None:
            from rag_eval.reports.page.templating import environment

            environment()

    def write(self, view: RunView, *, name: str = "rag-eval") -> None:
        """Write all reports, each file atomically."""
        # Findings of thousands of rows take seconds.
        wanted = self.junit is not None or self.gitlab is not None or self.github
        outcomes = run_outcomes(view) if wanted else []
        if self.html is not None:
            from rag_eval.reports.page.page import write_page

            write_page(view, self.html)

        def markdown() -> str:
            from rag_eval.reports.run_markdown import run_markdown

            return run_markdown(view)

        self.write_outcomes(outcomes, markdown, name, run_properties(view))

    def write_outcomes(
        self,
        outcomes: Sequence[Outcome],
        markdown: Callable[[], str],
        name: str = "rag-eval gate",
        properties: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Write the reports that can show a verdict without rows: all except the HTML page."""
        if self.junit is not None:
            from rag_eval.reports.junit import junit_xml

            _write(self.junit, junit_xml(outcomes, name=name, properties=properties))
        if self.gitlab is not None:
            from rag_eval.reports.code_hosts import code_quality

            _write(self.gitlab, code_quality(outcomes))
        text = markdown() if self.markdown is not None or self.github else ""
        if self.markdown is not None:
            _write(self.markdown, text.encode())
        if self.github:
            from rag_eval.reports.code_hosts import write_github

            # Standard output is for data, and GitHub reads commands from both.
            for note in write_github(text, outcomes, stream=sys.stderr):
                print(f"note: {note}", file=sys.stderr)


def _write(path: Path, data: bytes) -> None:
    with atomic_file(path) as file:
        file.write(data)
