"""Tests of mentions, and of messages as plain text."""

from __future__ import annotations

import time

import pytest

from tocsin.model.fqn import quote
from tocsin.model.mentions import Mention, mention_of, mentions_in, plain

ANN, SHOP = Mention("user", "ann"), Mention("team", "shop")


@pytest.mark.parametrize(
    ("text", "mentioned"),
    [
        ("nobody", ()),
        ("<#E::user::ann> and <#E::team::shop>", (ANN, SHOP)),
        ("<#E::user::ann|[@Ann](http://localhost:3000/users/ann)>", (ANN,)),
        ("[@Ann](http://localhost/users/ann) [@s](/settings/members/teams/shop)", (ANN, SHOP)),
        ("<#E::user::ann> <#E::user::ann>", (ANN,)),
        ('<#E::user::"john.doe">', (Mention("user", "john.doe"),)),
        ("[@j](http://x/users/john%20doe)", (Mention("user", "john doe"),)),
        ("<#E::table::a.b> [ann](http://x/users/ann) @ann", ()),
        ("<#E::user::> <#E::user::", ()),
    ],
)
def test_mentions_are_found_in_every_form(text: str, mentioned: tuple[Mention, ...]) -> None:
    assert mentions_in(text) == mentioned


def test_what_is_no_text_mentions_nobody() -> None:
    assert mentions_in(None, 7, "<#E::user::ann>") == (ANN,)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Hello <#E::user::ann|[@Ann](http://x/users/ann)>!", "Hello @ann!"),
        ("See <#E::table::shop.public.orders> and [the page](http://x)", "See shop.public.orders and the page"),
        ("**bold** `code`\n> quoted\n- one", "bold code quoted one"),
        ("a < b && c > d", "a < b && c > d"),
        ("<p>text</p><script>x</script>", "text x"),
    ],
)
def test_a_message_reads_as_plain_text(text: str, read: str) -> None:
    assert plain(text) == read


@pytest.mark.parametrize(
    "piece", ["<#E::user::", "[@a](", "[@", "<#E::user::a|[@", "<a ", "![", "<#E::", "[@a](x/users/"]
)
def test_a_message_made_to_be_slow_is_not(piece: str) -> None:
    started = time.process_time()
    mentions_in(piece * 6_000)
    plain(piece * 6_000)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "name", ["ann", "john.doe", "ann>ben", "<b>ann</b>", "a|b", "a]b|c", 'a"b>', "a b>c", "50%>", "é>"]
)
def test_a_mention_that_is_written_names_this_user_alone(name: str) -> None:
    assert mentions_in(f"{mention_of(quote(name))} hello") == (Mention("user", name),)
