"""Tests of splitting dotted names."""

from tocsin.conditions.paths import ancestor, parts, prefixes, suffixes, unquote
from tocsin.model.fqn import quote


def test_quotes_keep_a_part_together() -> None:
    assert parts('svc."a.b".c') == ["svc", '"a.b"', "c"]
    assert parts('svc."say ""a.b""".c') == ["svc", '"say ""a.b"""', "c"]


def test_prefixes_and_suffixes_end_with_the_whole() -> None:
    assert prefixes("a.b.c") == ("a", "a.b", "a.b.c")
    assert suffixes("a.b.c") == ("a.b.c", "b.c", "c")


def test_a_name_with_a_lone_quote_is_still_among_its_prefixes() -> None:
    assert 'a"b.c' in prefixes('a"b.c')


def test_quoting_and_unquoting_undo_each_other() -> None:
    for name in ("plain", "a.b", 'say "a"', '"'):
        assert unquote(quote(name)) == name


def test_an_ancestor_is_known_by_its_name_and_in_full() -> None:
    assert ancestor("shop.sales.public.orders", 2) == ("sales", "shop.sales")
    assert ancestor('shop."my.db"', 2) == ("my.db", 'shop."my.db"')
    assert ancestor("shop", 2) == ()
