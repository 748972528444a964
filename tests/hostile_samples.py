"""Nothing in; samples whose texts want to be more than text, out: for every output alike.

Each text stands as id, question, answer, context, ground truth, and as key and value of metadata,
once carried by its context and once not, so that it passes through scores, evidence and failures.
"""

from __future__ import annotations

from typing import Any, Final

Sample = dict[str, Any]

MARKUP: Final = {
    "script": "<script>window.__pwned=1</script>",
    "script in capitals": "</SCRIPT ><ScRiPt >window.__pwned=1</sCrIpT >",
    "image": "<img src=x onerror=window.__pwned=1>",
    "vector image": '<svg/onload="window.__pwned=1"><use href="data:image/svg+xml,x#y"/></svg>',
    "frame": '<iframe srcdoc="<script>parent.__pwned=1</script>"></iframe>',
    "style": "</style><style>*{display:none!important}</style>",
    "end of a text area": "</textarea></title></noscript></template><b>out</b>",
    "end of a script": '</script><script>window.__pwned=1</script>{"a": "</script>',
    "begin of a comment in a script": "<!--<script>window.__pwned=1",
    "end of a comment": "--><script>window.__pwned=1</script><!--",
    "end of character data": "]]><script>window.__pwned=1</script><![CDATA[",
    "entities": "&lt;script&gt; &amp;amp; &#60;b&#62; &#x1b; &nbsp;&zwj;",
    "document type": '<!DOCTYPE x [<!ENTITY y SYSTEM "file:///etc/passwd">]>&y;',
    "template": "{{7*7}} {% raw %} {{ ''.__class__ }} {# gone #} ${7*7} %(name)s {0.__class__}",
    "script address": "javascript:window.__pwned=1//",
    "data address": "data:text/html,<script>parent.__pwned=1</script>",
    "quotes": "\" onmouseover=\"window.__pwned=1\" ' onfocus='window.__pwned=1' ` autofocus",
    "separators of script lines": "a\u2028window.__pwned=1\u2029b",
    "base": '<base href="https://evil.example/"><meta http-equiv=refresh content="0;url=//evil">',
}

TERMINAL: Final = {
    "clear": "\x1b[2J\x1b[H\x1b[3Jgone",
    "colours": "\x1b[1;31mred\x1b[0m \x1b[8mhidden\x1b[28m",
    "link": "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "window title": "\x1b]0;owned\x07 and \x1b]2;owned\x1b\\",
    "clipboard": "\x1b]52;c;cm0gLXJmIH4K\x07",
    "device control": "\x1bP+q544e\x1b\\ \x1b_G\x1b\\ \x1b^x\x1b\\ \x1bX\x1b\\",
    "answer back": "\x05\x1b[c\x1b[6n\x1b[>q",
    "C1 sequences": "\x9b2J\x9d0;owned\x9c\x90q\x9c\x85next\x84",
    "all of C0": "".join(map(chr, range(0x20))) + "\x7f",
    "all of C1": "".join(map(chr, range(0x80, 0xA0))),
    "overwritten": "PASS  all is well\rFAIL\b\b\b\bPASS",
    "blanks in words": "a\tb\vc\fd\r\ne\nf",
    "rich markup": "[bold red]red[/bold red] [link=https://evil.example]x[/link] :skull: [/]",
}

UNICODE: Final = {
    "override": "user\u202e\u2066// admin only\u2069\u2066 txt.exe\u202c",
    "all directions": "a\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069b",
    "invisible": "in\u200bvis\u00adi\ufeffble\u2060\u180e\u034f\u115f\u3164\u2800",
    "tags": "flag\U000e0001\U000e0041\U000e007f",
    "lone surrogates": "\ud800 and \udfff and \udcff",
    "surrogates the wrong way": "\udc00\ud800",
    "no characters": "\ufffe\uffff\U0001fffe\U0010ffff\ufdd0",
    "private": "\ue000\U000f0000",
    "piled up": "Z" + "\u0351\u0321\u0300" * 200 + "algo",
    "right to left": "שלום (1) العربية ١٢٣ abc",
    "joined": "👩‍👩‍👧‍👦 क्‍ष می‌خواهم 🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "wide": "全角文字と半角 ｶﾞ Ｅｖｉｌ",
}

PLACES: Final = {
    "workflow command": "::error file=a.py,line=1::owned",
    "workflow command in a line": "x\n::set-output name=x::a\r\n  ::add-mask::a\n::stop-commands::",
    "old workflow command": "##[error]owned ##[set-output name=x;]y ##vso[task.complete]z",
    "other builds' command": "##teamcity[testFailed name='x'] section_start:1:x[collapsed=true]",
    "command escapes": "100%0A::error::x %25 %0D",
    "Markdown image": "![x](http://evil.example/x.png) [y](http://evil.example) <http://evil.example>",
    "Markdown mention": "@everyone @octocat #1 GH-1 owner/repo#1 !1 ~bug %1 $1 &1 me@evil.example",
    "Markdown address": "http://evil.example www.evil.example https://evil.example:80/a_b_c",
    "commit": "da39a3ee5e6b4b0d3255bfef95601890afd80709 da39a3e owner/repo@da39a3e",
    "Markdown markup": "</details>\n\n<details open>\n# head\n- [ ] list\n> quote\n\n---\n***",
    "Markdown table": "a | b \\| c `code | x` \\",
    "Markdown fence": "```\nout of it\n~~~~\n`````` $$x$$ $`y`$",
    "Markdown reference": "[a]: http://evil.example 'b'\n[^1]: note\n[a] [^1] :skull: **b** _i_ ~s",
    "formula": '=HYPERLINK("http://evil.example","click")',
    "formula by a plus": "+1+cmd|' /C calc'!A0",
    "formula by a minus": "-2+3+cmd|' /C calc'!A0",
    "formula by an at": "@SUM(1+1)*cmd|' /C calc'!A0",
    "formula after a blank": "\t=1+1",
    "formula after a line": "\r=1+1",
    "cells": 'a,b;c\t"d" ""e""\n"f"\r\ng',
    "not XML": "a\x00b\x0bc\x0cd\x1fe\ufffef\uffffg\ud800h",
    "path": "../../../../etc/passwd\x00.html",
    "shell": "$(touch /tmp/pwned) `id` ; rm -rf ~ | x && y > z",
    "flag": "--help",
    "id of the page": "row-1",
    "prototype": "__proto__",
    "constructor": "constructor",
    "blank": "   ",
    "twice": "same id",
    "twice, other case": "SAME ID",
    "twice, with a blank of no width": "same\u200b id",
}

TEXTS: Final = {**MARKUP, **TERMINAL, **UNICODE, **PLACES}


def hostile_samples(long_word: int = 1_000_000) -> list[Sample]:
    """Samples of each text, and those whose shape is the trouble.

    Parameters
    ----------
    long_word : int
        Letters in a word without a blank.
    """
    found = [sample for text in TEXTS.values() for sample in (_carried(text), _invented(text))]
    return [*found, *_shapes(long_word)]


def _carried(text: str) -> Sample:
    """The contexts say what the answer says."""
    return {
        "id": text,
        "question": f"What does it say? {text}",
        "answer": f"The note on the door says {text} to all visitors.",
        "contexts": [f"The note on the door says {text} to all visitors.", text],
        "ground_truth": f"The note on the door says {text} to all visitors.",
        "metadata": {"kind": text, text: "carried", "__proto__": {text: [text]}},
    }


def _invented(text: str) -> Sample:
    """They do not: numbers and names are missing, and the text is in what failed."""
    return {
        "id": f"{text} (invented)",
        "question": f"{text}?",
        "answer": f"In 1987 Norwick paid {text} 4,000 crowns. {text}. Zelda Quux left {text}.",
        "contexts": [f"Nothing is known of it. {text[:4]}", ""],
        "ground_truth": f"Another {text}. It rained.",
        "metadata": {"kind": None, "constructor": text, "link": text},
    }


def _shapes(long_word: int) -> list[Sample]:
    deep: Any = "<b>deep</b>"
    for level in range(60):
        deep = {f"<i>{level}": [deep]}
    door = "The door is red. Ana Ortiz painted it in 1987."
    return [
        {
            "id": "long word",
            "question": "Why? " + "q" * 2_000,
            "answer": "W" * long_word + " is a word. The door is red.",
            "contexts": ["W" * long_word, "x<" * 50_000],
            "metadata": {"kind": "k" * 5_000, "k" * 5_000: 1},
        },
        {"id": "i" * 20_000, "question": "q", "answer": door, "contexts": [door]},
        {
            "id": "many contexts",
            "question": "Who painted the door?",
            "answer": door,
            "contexts": [f"<p>{n} The door is red." for n in range(1_500)],
        },
        {
            "id": "many sentences",
            "question": "Who?",
            "answer": " ".join(f"<b>{n}</b> doors are red." for n in range(300)),
            "contexts": [door],
        },
        {
            "id": "deep",
            "question": "How deep?",
            "answer": door,
            "contexts": [door],
            "metadata": {"kind": "deep", "deep": deep},
        },
        {"id": "empty", "question": "", "answer": "", "contexts": []},
        {"id": "", "question": "No id?", "answer": door, "contexts": [door]},
        {"question": "None at all?", "answer": door, "contexts": [door]},
        {"id": "same id", "question": "Again?", "answer": door, "contexts": [door]},
    ]
