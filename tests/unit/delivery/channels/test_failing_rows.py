"""Golden mails with rows that failed a test: shown, masked, withheld, of hostile values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.delivery.channels import samples
from tests.unit.delivery.channels.kinds import CONTEXTS, message_about

from tocsin.access.sample_masks import MASK
from tocsin.delivery.channels.previews import PREVIEWS
from tocsin.delivery.dispatch import FailingRows
from tocsin.delivery.wording.failing_rows import excerpt_of, failing_rows_of
from tocsin.model.entity import Document
from tocsin.model.subscription import Channel

GOLDEN = Path(__file__).parent / "golden/failing_rows.json"
_ROWS: list[list[object]] = [
    [4711, None, "Rome, Via Appia 7", {"sku": "A-1", "count": 2, "parts": [{"id": 1}]}, True, "2025-10-09"],
    [4712, "", "x" * 1_000_000, ["A-1", "B-2"], False, "2025-10-09"],
    [4713, "ann@example.org", "line\nbreak\ttab", '{"sku": "C-3"}', 0.1, "2025-10-09"],
    [4714, "left out", "", None, None, ""],
]
_COLUMNS = ["id", "email", "address", "items", "paid", "ordered_at"]
_HOSTILE_CELL = f"{samples.HOSTILE}\x00\x1b[31m\u202egnp.exe\u2066\r\nBcc: all@example.com"
_SAMPLES: dict[str, Document] = {
    "shown": {"columns": _COLUMNS, "rows": _ROWS},
    "one small row": {"columns": ["id"], "rows": [[7]]},
    "hostile": {"columns": [_HOSTILE_CELL, "b"], "rows": [[_HOSTILE_CELL, '"><script>alert(1)</script>']]},
    "nested": {"columns": ["a", "b"], "rows": [["[" * 900 + "]" * 900, [[[[[[[["deep"]]]]]]]]]]},
}


def failing(name: str, *masked: str) -> FailingRows:
    def mask(excerpt: Document) -> Document:
        hidden = [column in masked for column in excerpt["columns"]]
        cells = ([MASK if hide else cell for hide, cell in zip(hidden, row, strict=True)] for row in excerpt["rows"])
        return {**excerpt, "rows": list(cells)}

    return failing_rows_of(excerpt_of(_SAMPLES[name]), mask)


FAILING: dict[str, FailingRows] = {
    **{name: failing(name) for name in _SAMPLES},
    "masked": failing("shown", "email", "address"),
    "withheld": FailingRows(are_withheld=True),
}


def mail(name: str) -> dict[str, str]:
    """Return a mail about a failed test with these rows."""
    message = message_about("failed_test", Channel.EMAIL)
    context = replace(CONTEXTS["failed_test"], failing_rows=FAILING[name])
    return PREVIEWS[Channel.EMAIL](replace(message, failure=context), samples.HOME)


def test_mails_show_failing_rows() -> None:
    texts = {name: mail(name) for name in FAILING}
    rendered = {name: {"subject": one["subject"], "text": one["text"].splitlines()} for name, one in texts.items()}
    samples.assert_golden(rendered, GOLDEN)


@pytest.mark.parametrize("name", ["hostile", "nested"])
def test_no_cell_and_no_name_of_a_column_is_markup(name: str) -> None:
    rendered = mail(name)
    assert not [markup for markup in ("<b>x", "<script", "<at>", "<https:") if markup in rendered["html"]]
    for text in rendered.values():
        assert not [sign for sign in ("\x00", "\x1b", "\u202e", "\u2066", "\r\nBcc", "\nBcc") if sign in text]


def test_mails_are_small_whatever_the_rows_hold() -> None:
    assert max(len(text) for name in FAILING for text in mail(name).values()) < 30_000
