"""Code that has changed is shown by the lines that differ, never whole."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.delivery.events import change_event, update_of

from tocsin.delivery.wording.changes import event_text
from tocsin.delivery.wording.code import excerpts_of
from tocsin.model.breaking import BreakingKind, BreakingReason

BODY = "\n".join(f"  SELECT {number};" for number in range(50))
OLD = f"CREATE PROCEDURE f(a INT) AS\nBEGIN\n{BODY}\nEND"


def code(text: str) -> dict[str, Any]:
    return {"language": "SQL", "code": text}


def test_a_changed_procedure_shows_its_signature_and_a_short_excerpt() -> None:
    new = OLD.replace("a INT", "a INT, b TEXT").replace("SELECT", "select")
    event = change_event(update_of("storedProcedureCode", code(OLD), code(new)))
    kind, values = BreakingKind.SIGNATURE_CHANGED, {"before": "(a INT)", "after": "(a INT, b TEXT)"}
    reason = BreakingReason(kind=kind, field="storedProcedureCode", **values)
    (line, *_) = event_text(event.model_copy(update={"breaking_reasons": (reason,)})).lines
    assert line.text.startswith("breaking: ")
    assert "(a INT)" in line.text
    assert line.old == "CREATE PROCEDURE f(a INT) AS ⏎ SELECT 0; ⏎ SELECT 1; … and 48 more lines"
    assert line.new == "CREATE PROCEDURE f(a INT, b TEXT) AS ⏎ select 0; ⏎ select 1; … and 48 more lines"


def test_lines_that_came_stand_alone() -> None:
    (line, *_) = event_text(change_event(update_of("sql", OLD, f"{OLD}\n-- end of f"))).lines
    assert (line.text, line.old, line.new) == ("sql changed", None, "-- end of f")


@pytest.mark.parametrize(("old", "new"), [("SELECT 1", "SELECT 2"), (None, "SELECT 2"), (code("a"), {"code": 7})])
def test_code_of_one_line_is_shown_as_other_values(old: Any, new: Any) -> None:
    assert excerpts_of(old, new) is None


def test_lines_in_another_order_are_no_difference() -> None:
    assert excerpts_of("a\nb", "b\na") == (None, None)


def test_an_excerpt_is_short_however_long_the_code_is() -> None:
    old, new = ("\n".join(f"{letter}{number} {'x' * 5_000}" for number in range(5_000)) for letter in "ab")
    assert all(text is not None and len(text) < 500 for text in excerpts_of(old, new) or ())
