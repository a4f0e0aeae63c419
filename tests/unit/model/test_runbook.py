"""Tests of runbooks: which are accepted, and which lead to a page."""

from __future__ import annotations

import pytest

from tocsin.errors import InvalidInput
from tocsin.model.runbook import LONGEST_RUNBOOK, check_new_runbook, check_runbook, link_of


@pytest.mark.parametrize(
    ("runbook", "link"),
    [
        ("https://wiki.example.com/run?a=1&b=2#orders", "https://wiki.example.com/run?a=1&b=2#orders"),
        (" HTTP://wiki.example.com/x ", "HTTP://wiki.example.com/x"),
        ("Restart load_orders, then ask @data", None),
        ("https://wiki.example.com/x and then call", None),
    ],
)
def test_an_address_leads_to_its_page_and_a_text_nowhere(runbook: str, link: str | None) -> None:
    check_runbook(runbook)
    assert link_of(runbook) == link


@pytest.mark.parametrize(
    "runbook",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,<script>",
        "file:///etc/passwd",
        "mailto:ann@example.com",
        "https://",
        "https:///path",
        "https://ann:secret@wiki.example.com/",
        "https://wiki.example.com@evil.example/",
        "https://[::1",
        'https://wiki.example.com/"><script>',
        "https://wiki.example.com\\@evil.example",
    ],
)
def test_other_addresses_are_refused_and_lead_nowhere(runbook: str) -> None:
    assert link_of(runbook) is None
    with pytest.raises(InvalidInput, match="must begin with http"):
        check_runbook(runbook)


@pytest.mark.parametrize("runbook", ["", "  ", "x" * (LONGEST_RUNBOOK + 1), 7, None, "a\x00b", "a\u2028b"])
def test_what_is_no_short_text_is_refused(runbook: object) -> None:
    with pytest.raises(InvalidInput):
        check_runbook(runbook)


def test_what_is_stored_already_may_stay() -> None:
    check_new_runbook({"runbook": "javascript:x"}, {"runbook": "javascript:x"})
    with pytest.raises(InvalidInput):
        check_new_runbook({"runbook": "javascript:x"}, {"runbook": "call ann"})
