"""Tests of the text of values: never JSON, types with their sizes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.delivery.lines import SHOWN_LIMIT
from tocsin.delivery.wording.values import change_texts, type_of, types_of, value_text
from tocsin.model.address import MASK

_APPLIED = "applied date 2025-10-09 08:53 UTC; size 1760000000000"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        ("a", "a"),
        (True, "yes"),
        (1.5, "1.5"),
        ([], "none"),
        ({"id": "1", "type": "user", "name": "ann", "displayName": "Ann Lee"}, "Ann Lee"),
        ('[{"tagFQN": "PII.None"}, {"tagFQN": "A.b"}]', "PII.None, A.b"),
        ([{"name": "id", "dataType": "INT"}], "id INT"),
        ({"interval": 5, "unit": "days", "extra": None}, "interval 5; unit days"),
        ({"columns": [{"column": "day"}]}, "columns (column day)"),
        ({"relationType": "synonym", "term": {"name": "Sale"}}, "Sale (relation type synonym)"),
        ({"tagLabel": {"tagFQN": "Certification.Gold"}}, "Gold"),
        ({"appliedDate": 1_760_000_000_000, "size": 1_760_000_000_000}, _APPLIED),
        ("<#E::table::a.b.orders::columns::email>", "orders.email"),
        ("<#E::table", "<#E::table"),
        ("{not json", "{not json"),
        ("https://ann:s3cret@a.example.org/x?y=1", f"https://{MASK}@a.example.org/x?y=1"),
        ("of redis://:p@ss@a, ann@a.example.org", f"of redis://{MASK}@a, ann@a.example.org"),
        ([{"name": "x://k4n4rie@a"}, {"url": "x://k4n4rie@b/"}], f"x://{MASK}@a, (url x://{MASK}@b/)"),
        ("[" * 900 + "]" * 900, "…"),
        ([[[[[1]]]]], "1"),
        (list(range(12)), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … and 2 more"),
    ],
)
def test_a_value_is_said_in_words(value: Any, text: str | None) -> None:
    assert value_text(value) == text


def test_no_part_of_a_long_address_shows_its_login() -> None:
    login = "ann:" + "k4n4rie" * 9
    texts = change_texts(f"https://{login}1@a/x", f"https://{login}2@b/x")
    assert texts == (f"https://{MASK}@a/x", f"https://{MASK}@b/x")


def test_times_in_a_value_are_in_the_zone_of_its_reader() -> None:
    validity = {"start": 1_760_000_000_000, "ranges": [{"end": 1_760_000_000_000}]}
    text = "start 2025-10-09 10:53 CEST; ranges (end 2025-10-09 10:53 CEST)"
    assert value_text(validity, "Europe/Berlin") == text
    assert change_texts(None, validity, "Europe/Berlin") == (None, text)


def test_a_time_that_is_a_whole_value_is_known_by_the_key_of_the_value() -> None:
    at = 1_760_000_000_000
    assert value_text(at, "Europe/Berlin", "expires") == "2025-10-09 10:53 CEST"
    assert change_texts(at, at + 60_000, key="expires") == ("2025-10-09 08:53 UTC", "2025-10-09 08:54 UTC")
    assert change_texts(at, at + 1, key="size") == (str(at), str(at + 1))


_LONG = "Every order. " * 10


@pytest.mark.parametrize(
    ("old", "new", "texts"),
    [
        ("a", "b", ("a", "b")),
        (None, {"a": 1}, (None, "a 1")),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4}, ("b 2", "b 3; c 4")),
        ({"a": {"b": [1]}, "c": 1}, {"a": {"b": [1, 2]}, "c": 1}, ("a (b 1)", "a (b 1, 2)")),
        (
            [{"name": "R 1", "effect": "allow"}, {"name": "R 2"}],
            [{"name": "R 1", "effect": "deny"}, {"name": "R 3"}],
            ("R 2, R 1 (effect allow)", "R 3, R 1 (effect deny)"),
        ),
        ({"name": "a", "x": 1}, {"name": "b", "x": 1}, ("a", "b")),
        (list(range(20)), [*range(1, 20), 99], ("0", "99")),
        (f"{_LONG}Daily.", f"{_LONG}Hourly.", ("… order. Every order. Every order. Daily.", None)),
    ],
)
def test_of_structures_and_long_texts_what_differs_is_said(old: Any, new: Any, texts: tuple[str | None, ...]) -> None:
    before, after = change_texts(old, new)
    assert before == texts[0]
    assert after == (texts[1] or "… order. Every order. Every order. Hourly.")


@pytest.mark.parametrize(
    ("member", "text"),
    [
        ({"dataType": "VARCHAR", "dataLength": 16}, "VARCHAR(16)"),
        ({"dataType": "INT", "dataLength": 1}, "INT"),
        ({"dataType": "DECIMAL", "precision": 10, "scale": 2}, "DECIMAL(10,2)"),
        ({"dataType": "DECIMAL", "precision": 10}, "DECIMAL(10)"),
        ({"dataType": "ARRAY", "arrayDataType": "INT"}, "ARRAY<INT>"),
        ({"dataTypeDisplay": "varchar(16)"}, "varchar(16)"),
        ({}, ""),
    ],
)
def test_a_type_is_said_with_its_size(member: dict[str, Any], text: str) -> None:
    assert type_of(member) == text


def test_types_that_differ_in_their_parts_are_said_as_the_source_displays_them() -> None:
    before, after = ({"dataType": "STRUCT", "dataTypeDisplay": f"struct<a:{kind}>"} for kind in ("int", "text"))
    assert types_of(before, after) == ("struct<a:int>", "struct<a:text>")
    assert types_of({"dataType": "INT"}, {"dataType": "INT"}) == ("INT", "INT")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=600),
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=30,
)


@given(_JSON)
def test_every_value_is_a_short_line(value: Any) -> None:
    text = value_text(value)
    assert text is None or (len(text) <= SHOWN_LIMIT and "\n" not in text)


@pytest.mark.parametrize(
    ("text", "says"), [("P90D", "90 days"), ("P1Y", "1 year"), ("p2w", "2 weeks"), ("P1DT2H", "P1DT2H"), ("", "")]
)
def test_retention_periods_are_said_in_words(text: str, says: str) -> None:
    assert value_text(text, key="retentionPeriod") == says
    assert value_text(text, key="description") == text
