"""Is a JSON Patch applied to the document a client would have read?"""

from __future__ import annotations

from typing import Any

import pytest

from tocsin.errors import InvalidInput
from tocsin.flow.capture import json_patch
from tocsin.model.entity import Document

_TAG = {"tagFQN": "PII.Sensitive"}


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
        ({"op": "test", "path": "/name", "value": "other"}, "what a test operation expects does not stand there"),
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
