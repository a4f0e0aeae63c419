"""Tests of parsing entity links."""

from __future__ import annotations

import pytest

from tocsin.errors import InvalidInput
from tocsin.model.entity_link import EntityLink, join_steps, parse_link, steps_of


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("<#E::table::a.b>", EntityLink("table", "a.b")),
        (
            "<#E::table::a.b::columns::email::description>",
            EntityLink("table", "a.b", ("columns", "email", "description")),
        ),
        ('<#E::table::a."b>c">', EntityLink("table", 'a."b>c"')),
    ],
)
def test_a_link_is_read_and_written_alike(text: str, link: EntityLink) -> None:
    assert parse_link(text, "about") == link
    assert str(link) == text
    assert steps_of(join_steps(link.steps)) == link.steps


@pytest.mark.parametrize(
    "text",
    [
        None,
        7,
        "",
        "table",
        "<#E::table>",
        "<#E::table::>",
        "<#E::::a>",
        "<#E::t::a::b::c::d::e>",
        f"<#E::t::{'a' * 5000}>",
    ],
)
def test_anything_else_is_refused_with_its_place(text: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_link(text, "about")
    assert refused.value.field == "about"
