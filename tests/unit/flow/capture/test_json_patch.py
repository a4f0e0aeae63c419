"""Tests of JSON Patch on the document a client has read, and of its size limits."""

from __future__ import annotations

from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonpointer import JsonPointerException

from tocsin.errors import InvalidInput, TooLarge
from tocsin.flow.capture import json_patch
from tocsin.flow.capture.bounds import Bounds
from tocsin.model.entity import Document

_TAG = {"tagFQN": "PII.Sensitive"}
_TOO_DEEP = r"deeper than 64 levels|nests too deep"


def _table() -> Document:
    nested = {"name": "zip", "dataType": "INT"}
    return {"name": "t", "columns": [{"name": "a", "dataType": "STRUCT", "children": [nested]}]}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/owners/0", "value": {"id": "1", "type": "user"}},
        {"op": "add", "path": "/tags/0", "value": _TAG},
        {"op": "add", "path": "/tags/-", "value": _TAG},
        {"op": "add", "path": "/domains/0", "value": {"id": "1", "type": "domain"}},
        {"op": "add", "path": "/columns/0/tags/0", "value": _TAG},
        {"op": "add", "path": "/columns/0/children/0/tags/0", "value": _TAG},
        {"op": "add", "path": "/columns/0/children/0/description", "value": "x"},
        {"op": "add", "path": "/extension/key", "value": 1},
        {"op": "add", "path": "/description", "value": "x"},
        {"op": "test", "path": "/name", "value": "t"},
        {"op": "copy", "from": "/name", "path": "/displayName"},
        {"op": "move", "from": "/columns/0/children", "path": "/columns/0/tags"},
    ],
)
def test_what_the_official_client_sends_fits(operation: dict[str, Any]) -> None:
    json_patch.apply("table", _table(), [operation])


@pytest.mark.parametrize(
    "operations",
    [
        [{"op": "remove", "path": "/description"}],
        [{"op": "replace", "path": "/description", "value": "x"}],
        [{"op": "add", "path": "/tags/1", "value": _TAG}],
        [{"op": "add", "path": "/columns/7/description", "value": "x"}],
        [{"op": "add", "path": "/columns/x", "value": "x"}],
        [{"op": "add", "path": "description", "value": "x"}],
        [{"op": "add", "path": "/description"}],
        [{"op": "grow", "path": "/description"}],
        [{"path": "/description", "value": "x"}],
        [{"op": "test", "path": "/name", "value": "other"}],
        [{"op": "replace", "path": "", "value": [1]}],
        [{"op": "add", "path": "/name/x", "value": 1}],
        [{"op": "move", "path": "/a", "from": "/missing"}],
        [None],
        ["remove"],
    ],
)
def test_what_does_not_fit_is_refused(operations: list[Any]) -> None:
    with pytest.raises(InvalidInput):
        json_patch.apply("table", _table(), operations)


@pytest.mark.parametrize(
    ("operation", "says"),
    [
        ({"op": "replace", "path": "/missing/x", "value": 1}, "member 'missing' not found"),
        ({"op": "test", "path": "/name", "value": "other"}, "a test operation failed"),
    ],
)
def test_a_refusal_does_not_quote_the_document(operation: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        json_patch.apply("table", _table(), [operation])
    assert refused.value.message == f"the patch cannot be applied: {says}"


def test_the_document_itself_is_left_alone() -> None:
    document = _table()
    json_patch.apply("table", document, [{"op": "add", "path": "/columns/0/description", "value": "x"}])
    assert document == _table()


def test_users_get_no_lists_their_type_does_not_have() -> None:
    with pytest.raises(InvalidInput):
        json_patch.apply("user", {"name": "u"}, [{"op": "add", "path": "/tags/0", "value": _TAG}])


def _doubling_patch(times: int) -> list[dict[str, Any]]:
    copies = [{"op": "copy", "from": "/extension", "path": f"/extension/b{at}"} for at in range(times)]
    return [{"op": "add", "path": "/extension", "value": {"a": "x"}}, *copies]


def test_a_patch_that_doubles_the_document_is_refused_before_it_is_large() -> None:
    bounds = Bounds(document_bytes=10_000)
    result_document = json_patch.apply("table", _table(), _doubling_patch(9), bounds)
    assert len(str(result_document)) < 10_000
    for times in (11, 21, 60):
        with pytest.raises(TooLarge, match="copies more than 10000 bytes"):
            json_patch.apply("table", _table(), _doubling_patch(times), bounds)


def test_what_is_copied_counts_although_it_is_removed_again() -> None:
    again = [{"op": "copy", "from": "/extension", "path": "/x"}, {"op": "remove", "path": "/x"}]
    grown = [{"op": "add", "path": "/extension", "value": {"a": "x" * 4_000}}]
    json_patch.apply("table", _table(), grown + again * 2, Bounds(document_bytes=10_000))
    with pytest.raises(TooLarge):
        json_patch.apply("table", _table(), grown + again * 3, Bounds(document_bytes=10_000))


def test_a_patch_has_only_so_many_operations() -> None:
    operations = [{"op": "test", "path": "/name", "value": "t"}] * 11
    with pytest.raises(TooLarge, match="11 operations; the limit is 10"):
        json_patch.apply("table", _table(), operations, Bounds(patch_operations=10))


def test_values_of_a_patch_make_no_document_that_is_too_large_but_may_make_it_smaller() -> None:
    bounds = Bounds(document_bytes=1_000)
    with pytest.raises(TooLarge, match="bytes of JSON; the limit is 1000"):
        json_patch.apply("table", _table(), [{"op": "add", "path": "/description", "value": "x" * 1_000}], bounds)
    large = _table() | {"description": "x" * 2_000, "displayName": "y"}
    assert json_patch.apply("table", large, [{"op": "remove", "path": "/displayName"}], bounds)["name"] == "t"


@pytest.mark.parametrize("times", [70, 300, 2_000])
def test_moves_do_not_nest_a_document_deeper_than_a_body_may_be(times: int) -> None:
    spread = [{"op": "add", "path": f"/k{at}", "value": {}} for at in range(times + 1)]
    nest = [{"op": "move", "from": f"/k{at}", "path": f"/k{at + 1}/x"} for at in range(times)]
    with pytest.raises(InvalidInput, match=_TOO_DEEP):
        json_patch.apply("table", _table(), spread + nest)
    copied: list[Document] = [*spread, *nest, {"op": "copy", "from": f"/k{times}", "path": "/y"}]
    with pytest.raises(InvalidInput, match=_TOO_DEEP):
        json_patch.apply("table", _table(), copied)


def test_a_number_that_json_does_not_hold_is_refused_as_that() -> None:
    with pytest.raises(InvalidInput, match="cannot be written as JSON: Integer exceeds 64-bit range"):
        json_patch.apply("table", _table(), [{"op": "add", "path": "/description", "value": 2**70}])


_KEYS = st.sampled_from(["name", "", "a/b", "a~b", "new", "list", "x y"])
_PATHS = st.one_of(
    _KEYS.map(lambda key: f"/{key}"),
    _KEYS.map(lambda key: "/" + key.replace("~", "~0").replace("/", "~1")),
    st.sampled_from(["", "name", "//", "/list/0", "/list/-", "/missing/x"]),
)
_OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "replace", "remove", "ad"]), "path": _PATHS},
    optional={"value": st.one_of(st.none(), st.integers(-(2**63), 2**64 - 1), st.just({"k": [1]}))},
)


@given(operations=st.lists(_OPERATIONS, max_size=3))
def test_a_key_that_is_set_directly_becomes_what_the_library_makes_of_it(operations: list[dict[str, Any]]) -> None:
    document = {"name": "t", "": 0, "list": [1, 2], "a~b": None, "a/b": 3}
    outcomes: list[object] = []
    for apply in (
        lambda: json_patch.apply_to_copy(document, operations),
        lambda: jsonpatch.JsonPatch(operations).apply(document),
    ):
        try:
            outcomes.append(apply())
        except (InvalidInput, jsonpatch.JsonPatchException, JsonPointerException, TypeError, KeyError):
            outcomes.append("refused")
    assert outcomes[0] == outcomes[1] or not isinstance(outcomes[1], dict)
