"""The list of all messages has every text for readers, with placeholders, and nothing else."""

from __future__ import annotations

from tools.list_messages import (
    ROOT,
    files_with_messages,
    messages_of_file,
    messages_of_python,
    messages_of_script,
    messages_of_template,
)

MODULE = '''
"""A module of prose."""
import re

__all__ = ["Evaluator"]
KEY = "max_calls"
PATTERN = re.compile(r"not a text")
QUERY = "SELECT id FROM runs"
HEADINGS = ("pass rate", "null rate")


def check(name: "a type", value):
    """Say what is wrong."""
    raise ValueError(
        f"{name if name else 'this value'} must be a number, "
        f"got {value!r}" + (" of no kind" if value is None else "")
    )
'''


def test_messages_of_a_module_are_found_whole_and_keys_are_not() -> None:
    assert messages_of_python(MODULE) == [
        (9, "null rate"),
        (9, "pass rate"),
        (15, "this value"),
        (
            15,
            "{name if name else 'this value'} must be a number, "
            "got {value}{' of no kind' if value is None else ''}",
        ),
        (16, " of no kind"),
    ]


def test_docstrings_are_listed_where_they_are_asked_for() -> None:
    texts = [text for _, text in messages_of_python(MODULE, docstrings=True)]
    assert '"""Say what is wrong."""' in texts
    assert '"""A module of prose."""' in texts


def test_a_template_shows_its_text_and_titles_and_no_markup() -> None:
    page = (
        '{% if rows %}\n<th title="number of rows" class="wide">rows</th>\n{{ count }}\n{% endif %}'
    )
    assert messages_of_template(page) == [(2, "number of rows"), (2, "rows")]


def test_a_script_shows_its_strings_and_no_comments() -> None:
    script = "// no words here\nconst key = 'row-id';\nlabel.title = `${n} of these rows`;\n"
    assert messages_of_script(script) == [(3, "${n} of these rows")]


def test_every_kind_of_file_of_the_package_is_read() -> None:
    files = files_with_messages([ROOT / "rag_eval" / "reports"])
    found = {file.suffix: messages_of_file(file) for file in files}
    assert found.keys() == {".py", ".j2", ".js"}
    gating = messages_of_file(ROOT / "rag_eval" / "gating" / "against.py")
    assert any(text.startswith("policy {policy}") for _, text in gating)
