"""Tests of rich text: HTML becomes blocks, and nothing of it goes out but what the tables allow."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.delivery.rich_text import BlockKind, RichBlock, Span
from tocsin.delivery.templates.html_text import to_html, to_text
from tocsin.delivery.templates.rich_text import LONGEST_BLOCK, blocks_of

MESSAGE = """
<h2>Orders &amp; more</h2>
<p>Changed by <b>ann</b>, <i>now</i>:<br>see <a href="https://x.example/?a=1&amp;b=2">the <s>old</s> page</a></p>
<ul><li>one</li><li>two<ol><li>inner</li></ol></li></ul>
<blockquote>said</blockquote><pre>select *
  from t</pre><hr>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
"""


def test_html_becomes_blocks() -> None:
    assert [(one.kind, one.level, one.marker, one.text()) for one in blocks_of(MESSAGE)] == [
        (BlockKind.HEADING, 2, "", "Orders & more"),
        (BlockKind.PARAGRAPH, 0, "", "Changed by ann, now:\nsee the old page"),
        (BlockKind.POINT, 0, "•", "one"),
        (BlockKind.POINT, 0, "•", "two"),
        (BlockKind.POINT, 1, "1.", "inner"),
        (BlockKind.QUOTE, 0, "", "said"),
        (BlockKind.CODE, 0, "", "select *\n  from t"),
        (BlockKind.RULE, 0, "", ""),
        (BlockKind.PARAGRAPH, 0, "", "a | b"),
        (BlockKind.PARAGRAPH, 0, "", "1 | 2"),
    ]
    link = "https://x.example/?a=1&b=2"
    assert blocks_of(MESSAGE)[1].spans[-3:] == (
        Span("the ", link=link),
        Span("old", struck=True, link=link),
        Span(" page", link=link),
    )


def test_blocks_as_text() -> None:
    assert to_text(blocks_of(MESSAGE)) == (
        "Orders & more\n\nChanged by ann, now:\nsee the  (https://x.example/?a=1&b=2)old (https://x.example/?a=1&b=2)"
        " page (https://x.example/?a=1&b=2)\n\n- one\n- two\n    1. inner\n\n> said\n\n    select *\n      from t\n\n"
        "----------------------------------------\n\na | b\n\n1 | 2"
    )


def test_blocks_as_html() -> None:
    html = to_html(blocks_of(MESSAGE))
    assert '<h2 style="font-size: 16px">Orders &amp; more</h2>' in html
    struck = '<s class="diff" style="background-color: #eceff3; text-decoration: line-through">old</s>'
    assert f'<a class="link" href="https://x.example/?a=1&amp;b=2" style="color: #3b5bdb">{struck}</a>' in html
    assert '<ol>\n<li style="margin-left: 24px">inner</li>\n</ol>' in html
    assert blocks_of(html)[:4] == blocks_of(MESSAGE)[:4]


@pytest.mark.parametrize(
    "html",
    [
        "<script>alert(1)</script>ok",
        "<style>p{}</style>ok",
        "<iframe src='https://x'></iframe>ok",
        "<img src=x onerror=alert(1)>ok",
        "<svg onload=alert(1)></svg>ok",
        "<!-- <b> -->ok",
        "<object><p>x</p></object>ok",
        "<form action='https://x'><input name=a>ok</form>",
        '<a href="javascript:alert(1)">ok</a>',
        '<a href="JaVaScRiPt:alert(1)">ok</a>',
        '<a href="java\nscript:alert(1)">ok</a>',
        '<a href="data:text/html,x">ok</a>',
        '<a href="//x.example">ok</a>',
        "<p onclick='x' style='background:url(https://x)'>ok</p>",
        "ok<!-- open",
        "<title>x</title>ok",
    ],
)
def test_what_is_dangerous_is_left_out(html: str) -> None:
    assert blocks_of(html) == (RichBlock(BlockKind.PARAGRAPH, (Span("ok"),)),)


def test_a_long_block_becomes_several() -> None:
    blocks = blocks_of(f"<li>{'x' * LONGEST_BLOCK}<b>{'y' * 10}</b></li>")
    assert [len(one.text()) for one in blocks] == [LONGEST_BLOCK, 10]
    assert blocks[1].spans == (Span("y" * 10, bold=True),)


@pytest.mark.parametrize(
    "piece", ["<", "<a ", "<!--", "<a href='", "</", "&", "&amp", "<b>", "<li>", "<ul>", "</b>", "<p><b>x"]
)
def test_reading_takes_time_in_proportion(piece: str) -> None:
    began = time.process_time()
    to_text(blocks_of(piece * 20_000))
    assert time.process_time() - began < 4


_ALLOWED = re.compile(
    r"</?(?:p|ul|ol|li|h[1-6]|blockquote|pre|code|b|i|s)>|<(?:br|hr)>|</a>"
    r"|<a class=\"link\" href=\"(?:https?://|mailto:)[^\"<>]*\" style=\"color: #3b5bdb\">"
    r"|<h[1-6] style=\"font-size: \d+px\">|<li style=\"margin-left: \d+px\">",
    re.IGNORECASE,
)
_PIECES = st.sampled_from(
    "<b> </b> <p> <a href=\"https://x\"> <a href='javascript:x'> </a> <li> <ul> </ul> <script> </script> <img src=x> & "
    "&lt; < > \" ' text <td> <tr> <pre> <!-- --> <h1> </h1> <hr> <br/> &#x3c;b&#x3e; \n".split(" ")
)


@given(st.lists(_PIECES | st.text(max_size=5), max_size=30))
def test_no_other_tag_ever_goes_out(pieces: list[str]) -> None:
    html = to_html(blocks_of(" ".join(pieces)))
    remaining = _ALLOWED.sub("", html)
    assert "<" not in remaining
    assert ">" not in remaining
