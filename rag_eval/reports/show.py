"""Shows a row of a result file on a terminal or in a pipe.

Marks repeat what colours and underlines say, so that nothing is lost without them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from rich.console import Console
from rich.text import Text

from rag_eval.metrics.registry import higher_is_better
from rag_eval.plumbing.spelling import counted
from rag_eval.reports.console import print_line, print_notes, window_width
from rag_eval.reports.figures import NONE, limit_text, number_text
from rag_eval.reports.plain_text import plain_text
from rag_eval.reports.run import print_worst, signal_text
from rag_eval.reports.run_table import RunTable, print_table
from rag_eval.results.row import EvalResult, MetricResult
from rag_eval.results.words_grounded import missing_words
from rag_eval.stats.repeat_noise import noise_line
from rag_eval.views.findings import check_line
from rag_eval.views.result_rows import Overview
from rag_eval.views.run_view import ViewedRow
from rag_eval.views.sentences import (
    SentenceView,
    answer_sentences,
    shown_truth,
    truth_sentences,
)
from rag_eval.views.texts import ALTHOUGH, DECLINES, contexts_of, null_text, text_of

_LEAST_WIDTH: Final = 40
# Per text, unless --full is given.
_TEXT_LIMIT: Final = 1_000
_MOST_CHUNKS: Final = 20
_MOST_SENTENCES: Final = 50
# Characters shown on either side of a marked passage when a context is cut.
_MARGIN: Final = 150
_GAP: Final = " … "
_STYLES: Final = {"supported": "green", "weak": "yellow", "unsupported": "red"}


# Marks that a terminal or a file can hold.
_SIGNS: Final = {"supported": "✓", "weak": "~", "unsupported": "✗"}
_ASCII_SIGNS: Final = {"supported": "+", "weak": "~", "unsupported": "x"}


def print_overview(found: Overview, source: str, command: str, console: Console) -> None:
    """Print the statistics of a result file, its worst rows, and the next command."""
    summary = found.summary
    table = RunTable(summary=summary, thresholds=found.thresholds)
    print_table(table, console)
    rows = f"{counted(summary.n_rows, 'row')}, {summary.n_passed:,} passed"
    print_line(console, plain_text(f"{source}: {rows}{table.on_nulls}"))
    for row in found.worst:
        print_worst(row.viewed(), console, brief=True, without=summary.left_out)
    if found.worst:
        console.print()
    if found.interrupted:
        print_line(console, Text("INTERRUPTED  only some of the samples were scored", "yellow"))
    repeated = [noise_line(found.noise)] if found.noise else []
    print_notes([*summary.shown_notes, *repeated], console)
    if found.worst:
        print_line(console, Text(f"to show a row in full: {plain_text(command)}", "dim"))


def print_row(row: ViewedRow, console: Console, *, full: bool = False) -> None:
    """Print one row: texts with their support, scores with their reasons.

    Parameters
    ----------
    full : bool
        Print texts uncut; otherwise long texts are cut, and contexts to their marked passages.
    """
    _RowPage(row, console, full=full).print()


class _RowPage:
    """One row being printed."""

    def __init__(self, row: ViewedRow, console: Console, *, full: bool) -> None:
        self._row = row
        self._result: EvalResult = row.result
        self._console = console
        self._limit = None if full else _TEXT_LIMIT
        self._width = max(window_width(console), _LEAST_WIDTH)
        is_unicode = console.encoding.lower().startswith("utf")
        self._signs = _SIGNS if is_unicode else _ASCII_SIGNS
        self._marks = ("«", "»") if is_unicode else ("<<", ">>")
        self._answer = answer_sentences(row.result)
        self._truth = truth_sentences(row.result)

    def print(self) -> None:
        self._head()
        self._text("question", text_of(self._result, "question"))
        self._sentences("answer", text_of(self._result, "answer"), self._answer, "")
        self._sentences("ground truth", shown_truth(self._result), self._truth, "t")
        self._chunks()
        self._heading("metrics")
        for metric in self._result.metrics.values():
            self._metric(metric)

    def _head(self) -> None:
        result, signature = self._result, self._result.signature
        head = Text("").append(plain_text(self._row.name), "bold")
        head.append(f"  composite {number_text(result.composite_score)}  ", "default")
        head.append("PASS" if result.passed else "FAIL", "green" if result.passed else "bold red")
        if signature is not None:
            head.append(f"  profile {plain_text(signature.profile)}", "dim")
        if result.language is not None:
            head.append(f", language {plain_text(str(result.language))}", "dim")
        print_line(self._console, head)
        if result.refusal is not None:
            text = DECLINES + (ALTHOUGH if result.refusal.answerable else "")
            print_line(self._console, Text(text, "yellow"))

    # ------------------------------------------------------------------------------------- texts

    def _heading(self, name: str, remark: str = "") -> None:
        self._console.print()
        head = Text("").append(name, "bold")
        if remark:
            head.append(f"  {remark}", "dim")
        print_line(self._console, head)

    def _wrapped(self, text: Text, first: str | Text = "  ", indent: int = 2) -> None:
        """Print a text wrapped, with later lines indented."""
        begin = Text("").append(first)
        lines = text.wrap(self._console, max(20, self._width - indent), overflow="fold")
        for place, line in enumerate(lines or [Text("")]):
            line.rstrip()
            gutter = begin if place == 0 else Text(" " * indent)
            print_line(self._console, gutter + line)

    def _text(self, name: str, text: str) -> None:
        if text:
            self._heading(name)
            self._wrapped(Text(plain_text(text, self._limit)))

    def _sentences(
        self, name: str, text: str, sentences: Sequence[SentenceView], letter: str
    ) -> None:
        if not sentences:
            self._text(name, text)
            return
        legend = (
            "{supported} supported, {weak} weak, {unsupported} unsupported; [n] best context, "
            "counted from 0"
        )
        is_first = sentences is self._answer or not self._answer
        self._heading(name, legend.format(**self._signs) + self._origin if is_first else "")
        shown = sentences if self._limit is None else sentences[:_MOST_SENTENCES]
        for number, sentence in enumerate(shown, 1):
            self._sentence(f"{letter}{number}", sentence)
        self._more(len(sentences) - len(shown), "sentences")

    def _sentence(self, number: str, sentence: SentenceView) -> None:
        style = _STYLES[sentence.level]
        sign = self._signs[sentence.level]
        chunk = "" if sentence.chunk is None else f"[{sentence.chunk}]"
        gutter = Text(f"  {number:>3} ").append(f"{sign} {sentence.support:.2f}", style)
        gutter.append(f" {chunk:<4} ")
        self._wrapped(Text(plain_text(sentence.text, self._limit), style), gutter, len(gutter))
        missing = missing_words(sentence)
        if missing:
            text = Text(plain_text("; ".join(missing), self._limit), "red")
            self._wrapped(text, " " * len(gutter), len(gutter))

    @property
    def _origin(self) -> str:
        """Says so if the run did not keep the evidence of its sentences."""
        signature = self._result.signature
        is_grounded = signature is not None and signature.profile == "grounded"
        kept = any(metric.evidence for metric in self._result.metrics.values())
        return "; recomputed from the texts" if is_grounded and not kept else ""

    def _more(self, n_left: int, what: str) -> None:
        if n_left > 0:
            print_line(self._console, Text(f"  … {n_left:,} more {what}: use --full", "dim"))

    # ------------------------------------------------------------------------------------ chunks

    def _chunks(self) -> None:
        chunks = contexts_of(self._result)
        if not chunks:
            return
        carried: dict[int | None, list[str]] = defaultdict(list)
        passages: dict[int | None, list[Passage]] = defaultdict(list)
        for letter, sentences in (("", self._answer), ("t", self._truth)):
            for number, sentence in enumerate(sentences, 1):
                carried[sentence.chunk].append(f"{letter}{number}")
                if sentence.window is not None:
                    passage = Passage(*sentence.window, f"underline {_STYLES[sentence.level]}")
                    passages[sentence.chunk].append(passage)
        remark = "best match for a sentence".join(self._marks)
        self._heading("contexts", remark if passages else "")
        scores = (found.chunk_scores for found in self._result.metrics.values())
        relevance = next(filter(None, scores), ())
        shown = len(chunks) if self._limit is None else _MOST_CHUNKS
        for place, chunk in enumerate(chunks[:shown]):
            head = Text("").append(f"  [{place}]", "bold")
            said = [f"relevance {relevance[place]:.2f}"] if place < len(relevance) else []
            if carried[place]:
                said.append(f"best match for {', '.join(carried[place])}")
            print_line(self._console, head.append("  " + "; ".join(said), "dim") if said else head)
            text = passage_text(chunk, passages[place], marks=self._marks, limit=self._limit)
            self._wrapped(text, "      ", 6)
        self._more(len(chunks) - shown, "contexts")

    # ----------------------------------------------------------------------------------- metrics

    def _metric(self, metric: MetricResult) -> None:
        signs, passed = self._signs, metric.passed
        sign = NONE if passed is None else signs["supported" if passed else "unsupported"]
        style = "" if passed is None else "green" if passed else "red"
        line = Text("  ").append(f"{sign} ", style).append(metric.metric_id, "bold")
        reason = f"null ({null_text(metric)})"
        line.append(" ").append(reason if metric.score is None else f"{metric.score:.3f}", style)
        if metric.threshold is not None:
            way = "" if higher_is_better(metric.metric_id) else ", lower is better"
            line.append(f" (threshold {limit_text(metric.threshold)}{way})", "dim")
        if metric.probability is not None:
            line.append(f", probability of good {metric.probability:.2f}")
        print_line(self._console, line)
        if metric.explanation:
            self._wrapped(Text(plain_text(str(metric.explanation), self._limit)), "    ", 4)
        for signal in metric.signals:
            self._wrapped(signal_text(signal), "    - ", 6)
        # Only failed checks; all checks are in the JSON.
        failed = (found for found in metric.details or () if found.get("passed") is False)
        self._bullets(map(check_line, failed))
        self._bullets(_judge_lines(metric))

    def _bullets(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._wrapped(Text(plain_text(line, self._limit)), "    - ", 6)


def _judge_lines(metric: MetricResult) -> list[str]:
    judged = metric.judged
    if judged is None:
        return []
    who = "verifier" if judged.mode == "verifier" else "judge"
    parts = [
        f"{who} {number_text(judged.judge_score, 3)}",
        f"native {number_text(judged.native_score, 3)}",
    ]
    if judged.verifier_score is not None and who == "judge":
        parts.insert(1, f"verifier {number_text(judged.verifier_score, 3)}")
    if judged.spread is not None:
        parts.append(f"spread {judged.spread:.3f}")
    if judged.flaky:
        parts.append("flaky: repeats disagree on pass or fail")
    if judged.is_fallback:
        parts.append("the native score is used instead")
    lines = [", ".join(parts)]
    if judged.message:
        lines.append(f"{who}: {judged.message}")
    return [*lines, *map(_verdict_line, judged.details)]


def _verdict_line(verdict: Mapping[str, Any]) -> str:
    line = str(verdict.get("verdict", ""))
    if verdict.get("text"):
        line += f" “{verdict['text']}”"
    if verdict.get("chunk") is not None:
        line += f" [{verdict['chunk']}]"
    if verdict.get("quote"):
        where = "" if verdict.get("quoteFound") else " (not in the contexts)"
        line += f" quoting “{verdict['quote']}”{where}"
    return f"{line}: {verdict['reason']}" if verdict.get("reason") else line


# --------------------------------------------------------------------------------------- passages


class Passage(NamedTuple):
    """Part of a context, as a half-open range of code points, and its style."""

    begin: int
    end: int
    style: str


def passage_text(
    chunk: str, passages: Sequence[Passage], *, marks: tuple[str, str], limit: int | None
) -> Text:
    """A context with its passages marked; if it is over ``limit``, only the text around them.

    Overlapping passages are marked as one, in the style of the first.
    """
    apart = _merged(passages, len(chunk))
    shown = Text()
    reached = 0
    for begin, end, style in apart:
        _add_between(shown, chunk[reached:begin], limit, is_first=reached == 0, is_last=False)
        _join(shown, chunk[max(0, begin - 1) : begin])
        passage = plain_text(chunk[begin:end], limit)
        shown.append(marks[0]).append(passage, style).append(marks[1])
        reached = end
        _join(shown, chunk[end : end + 1])
    _add_between(shown, chunk[reached:], limit, is_first=not apart, is_last=True)
    return shown


def _merged(passages: Sequence[Passage], n: int) -> list[Passage]:
    merged: list[Passage] = []
    for begin, end, style in sorted(passages):
        begin, end = max(0, begin), min(n, end)
        if begin >= end:
            continue
        if merged and begin < merged[-1].end:
            last = merged[-1]
            merged[-1] = Passage(last.begin, max(last.end, end), last.style)
        else:
            merged.append(Passage(begin, end, style))
    return merged


def _add_between(
    shown: Text, text: str, limit: int | None, *, is_first: bool, is_last: bool
) -> None:
    """Text before, between or after passages; its middle or far end may be cut."""
    if limit is None or (is_first and is_last):
        shown.append(plain_text(text, limit))
        return
    if len(text) <= 2 * _MARGIN:
        shown.append(plain_text(text))
        return
    if not is_first:
        shown.append(plain_text(text[:_MARGIN])).append("…" if is_last else _GAP)
    if not is_last:
        shown.append("…" if is_first else "").append(plain_text(text[-_MARGIN:]))


def _join(shown: Text, character: str) -> None:
    """Add a space if the white space between two parts was trimmed."""
    if character.isspace() and shown.plain and not shown.plain.endswith(" "):
        shown.append(" ")
