"""Tests and suites of a table, by which alerts watch it that hear of no change of the table itself.

Next: ``server/alerts/watching.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tocsin.model.entity import Document
from tocsin.model.entity_type import CHANGE_REQUESTS, EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.server.access.permissions import scope_on
from tocsin.server.entities.serialize import views_of
from tocsin.server.request import Caller
from tocsin.store.catalogue.entities.listing import Listing

MOST_TESTS = 100
"""Tests of a table that are looked at, the first by name."""

_TABLE, _TEST, _SUITE = (ENTITY_TYPES[name] for name in ("table", "testCase", "testSuite"))
_APART = {CHANGE_REQUESTS, "failedRowsSample", "inspectionQuery", "summary", "testCaseResultSummary", "tests"}
"""Keys of documents that no condition reads from an event."""


class WatchedAsset(NamedTuple):
    """An asset with its type, as the caller may see it."""

    kind: EntityType
    view: Document

    @property
    def reference(self) -> Document:
        """Return a reference to it."""
        keys = ("id", "name", "displayName", "fullyQualifiedName")
        return {"type": self.kind.name} | {key: self.view[key] for key in keys if key in self.view}


def watched_assets(kind: EntityType, documents: Sequence[Document], caller: Caller) -> list[WatchedAsset]:
    """Return entities of a type as conditions read them."""
    fields = kind.keys - _APART | {"followers"}
    return [WatchedAsset(kind, view) for view in views_of(kind, documents, caller, fields=fields)]


def tests_of(asset: WatchedAsset, caller: Caller) -> list[WatchedAsset]:
    """Return the tests of a table and of its columns, then the suites that these are in, those that may be seen."""
    if asset.kind is not _TABLE:
        return []
    of_table = (("entityFQN", asset.view["fullyQualifiedName"]), ("includeAllTests", "true"))
    listing = Listing(limit=MOST_TESTS, has_cursors=False, visible=scope_on(caller, _TEST.name), filters=of_table)
    tests = watched_assets(_TEST, caller.parts.catalogue.list_entities(_TEST.name, listing).documents, caller)
    suite_ids = {suite["id"] for test in tests for suite in _suites_in(test.view)}
    suites = caller.parts.catalogue.documents(_SUITE.name, suite_ids, scope_on(caller, _SUITE.name))
    return [*tests, *watched_assets(_SUITE, suites, caller)]


def _suites_in(test: Document) -> list[Document]:
    return [one for one in (test.get("testSuite"), *(test.get("testSuites") or ())) if one]
