"""Tests of the query parser, with errors and their positions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.errors import InvalidInput
from tocsin.logic import ALWAYS, And, Not, Or
from tocsin.search.fields import WORD_COLUMNS
from tocsin.search.filters import filter_of
from tocsin.search.indexes import NOT_SEARCHED, SEARCHED, entity_types_of, index_of
from tocsin.search.nodes import IndexedFact, Node, Words
from tocsin.search.parse import parse
from tocsin.search.tokens import name_of, token_of, words_of


def anywhere(*words: str, is_prefix: bool = False) -> Node:
    return Words(WORD_COLUMNS, words, is_prefix)


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("", ALWAYS),
        ("*", ALWAYS),
        ("orders", anywhere("orders")),
        ("dimCustomer", anywhere("dim", "customer")),
        ("a b", And((anywhere("a"), anywhere("b")))),
        ("a AND b", And((anywhere("a"), anywhere("b")))),
        ("a && b || c", Or((And((anywhere("a"), anywhere("b"))), anywhere("c")))),
        ("a (b OR c)", And((anywhere("a"), Or((anywhere("b"), anywhere("c")))))),
        ("NOT a", Not(anywhere("a"))),
        ("+a -b", And((anywhere("a"), Not(anywhere("b"))))),
        ("a-b", anywhere("a", "b")),
        ("ord*", anywhere("ord", is_prefix=True)),
        ("*ord*", anywhere("ord", is_prefix=True)),
        ('"ord*"', anywhere("ord")),
        (r"a\:b", anywhere("a", "b")),
        ("android Oracle Notes", And((anywhere("android"), anywhere("oracle"), anywhere("notes")))),
        ("a:b", anywhere("a", "b")),
        ("http://x", anywhere("http", "x")),
        ("https://shop.example/orders?id=1", anywhere("https", "shop", "example", "orders", "id", "1")),
        ("urn:li:dataset", anywhere("urn", "li", "dataset")),
        ("a:-b", anywhere("a", "b")),
        ("-a:b", Not(anywhere("a", "b"))),
        ("colour:red name:x", And((anywhere("colour", "red"), Words(("name",), ("x",))))),
        ("colour:(red OR blue)", And((anywhere("colour"), Or((anywhere("red"), anywhere("blue")))))),
        ('a:"b c"', And((anywhere("a"), anywhere("b", "c")))),
        ("a: b", And((anywhere("a"), anywhere("b")))),
        ("a:", anywhere("a")),
        ("name:(a:b)", Words(("name",), ("a", "b"))),
        ("p%zz", anywhere("p", "zz")),
        ("tag:PII.Sensitive", IndexedFact(token_of("tags.tagFQN", "PII.Sensitive"))),
        ("email:a@b-c.org", IndexedFact(token_of("email", "a@b-c.org"))),
        ("name:ord*", Words(("name",), ("ord",), True)),
        ('name:"a b"', Words(("name",), ("a", "b"))),
    ],
)
def test_a_query_means(q: str, expected: Node) -> None:
    assert parse(q).node == expected


@pytest.mark.parametrize("negation", ["!", "-", "+!", "NOT "])
def test_any_number_of_negations_is_read(negation: str) -> None:
    assert parse(f"{negation * 999}a").node == Not(anywhere("a"))
    assert parse(f"{negation * 998}a").node == anywhere("a")


@pytest.mark.parametrize(
    ("q", "words"),
    [
        ("(a", "column 1: this bracket is not closed"),
        ("a)", "column 2: this bracket is not opened"),
        ("a AND", "column 6: unexpected end of the query"),
        ("a OR OR b", "column 6: unexpected 'OR'"),
        ('a "b', "column 3: the phrase has no closing quote"),
        ("a b\\", "column 4: nothing follows the backslash"),
        ("owner:ja*", "column 7: the field 'owner' matches only whole values"),
        ("name:", "column 1: a value must follow name:"),
        ("a~2", "column 1: fuzzy words"),
        ("updatedAt:[1 TO 2]", "column 11: fuzzy words"),
        ("o*d", "column 1: a star is allowed at the end"),
        ("name:(", "column 7: unexpected end of the query"),
        ("###", "column 1: '###' contains no letter"),
    ],
)
def test_what_cannot_be_read_is_refused_where_it_goes_wrong(q: str, words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse(q)
    assert words in refused.value.message


@given(st.text(alphabet=list('ab:*?"()\\ -+!&|~^[]{}.,ANDORT_\n\tß表')) | st.text(max_size=50))
def test_any_text_is_read_or_refused(q: str) -> None:
    try:
        parse(q)
    except InvalidInput as refused:
        assert refused.field == "q"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "bool must should must_not term terms match exists range prefix wildcard name field".split()
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(_JSON)
def test_any_filter_is_read_or_refused(body: object) -> None:
    import orjson

    try:
        filter_of(orjson.dumps(body, option=orjson.OPT_NON_STR_KEYS).decode())
    except InvalidInput as refused:
        assert refused.field == "query_filter"
    except TypeError:  # a number that JSON writers refuse
        pass


def test_should_counts_where_nothing_must() -> None:
    first, second = '{"term":{"tableType":"View"}}', '{"term":{"isBot":true}}'
    assert isinstance(filter_of(f'{{"bool":{{"should":[{first},{second}]}}}}'), Or)
    assert filter_of(f'{{"bool":{{"must":[{first}],"should":[{second}]}}}}') == IndexedFact(
        token_of("tableType", "View")
    )


def test_names_come_apart_without_accents() -> None:
    assert words_of("dimCustomer_ID") == ("dim", "customer", "id")
    assert words_of("Łódź-Ünïcode.HTTPServer") == ("lodz", "unicode", "http", "server")
    assert name_of("dim_customer") == name_of("dimCustomer") == name_of("Dim Customer")


def test_every_type_that_is_searched_has_one_index_of_its_own() -> None:
    assert len({index_of(name) for name in SEARCHED}) == len(SEARCHED)
    assert [entity_types_of(index_of(name))[0] for name in SEARCHED] == list(SEARCHED)  # type: ignore[index]
    assert not set(SEARCHED) & NOT_SEARCHED
    assert index_of("databaseSchema") == "database_schema_search_index"
    assert entity_types_of("table,topic_search_index") == ("table", "topic")
    with pytest.raises(InvalidInput):
        entity_types_of("nowhere")
