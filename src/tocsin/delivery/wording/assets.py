"""Changed assets as messages name them: what changed, where its page is, and the column that a test checks.

Next: ``delivery/wording/changes.py``.
"""

from __future__ import annotations

from typing import NamedTuple

from tocsin.delivery.lines import clean_line
from tocsin.errors import InvalidInput
from tocsin.model import fqn
from tocsin.model.change import VIOLATION, ChangeEvent, EventType
from tocsin.model.entity import Document
from tocsin.model.entity_link import EntityLink, parse_link
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import in_words
from tocsin.model.thread import THREAD

TEST_CASE, TEST_SUITE = "testCase", "testSuite"
ALERT = "eventsubscription"
_TYPE_WORDS = {ALERT: "alert"}


class ChangedAsset(NamedTuple):
    """A changed asset, or the one that a thread or a refused access is about: its type and id, and what people call it.

    ``page`` is the address of its page below that of the server; the first page for a type that has none, and that of
    the event if the asset was deleted permanently. ``checks`` is
    what a test checks, a table or one of its columns (``orders.email``), and empty of all else. ``full_name`` is the
    FQN if that is not the event's.
    """

    entity_type: str
    entity_id: str
    name: str
    page: str
    checks: str = ""
    full_name: str = ""

    @property
    def title(self) -> str:
        """Return what people call it, a test with what it checks: ``email_not_null of orders.email``."""
        if self.entity_type == ALERT:
            return f"{_TYPE_WORDS[ALERT]} {self.name}"
        return f"{self.name} of {self.checks}" if self.checks else self.name


def asset_of(event: ChangeEvent) -> ChangedAsset:
    """Return the asset that changed, or the one, or the part of one (``orders.email``), that a thread is about."""
    entity, entity_type, entity_id = event.entity or {}, event.entity_type, event.entity_id
    checks, refused_reference = "", refused_asset(event)
    if refused_reference is not None:
        entity_type, entity_id = str(refused_reference.get("type") or ""), str(refused_reference["id"])
        name = (
            refused_reference.get("displayName")
            or fqn.steps_of(str(refused_reference.get("fullyQualifiedName") or refused_reference["id"]))[-1]
        )
    elif entity_type == THREAD:
        about = entity.get("entityRef")
        reference = about if isinstance(about, dict) else {}
        name = reference.get("displayName") or reference.get("name") or event.entity_fully_qualified_name
        link = _link_in(entity, "about")
        steps = link.steps if link else ()
        name = f"{name or 'something'}.{steps[1]}" if len(steps) > 1 else name or "something"
        entity_type, entity_id = (about["type"], about["id"]) if about else (entity_type, entity_id)
    else:
        name = entity.get("displayName") or _table_of_suite(event) or entity.get("name")
        name = name or fqn.steps_of(event.entity_fully_qualified_name or entity_id)[-1]
        checks = _place_checked_by(entity) if entity_type == TEST_CASE else ""
    row = ENTITY_TYPES.get(entity_type)
    page = f"/#/{row.collection}/{entity_id}" if row else "/"
    if event.event_type is EventType.ENTITY_DELETED and entity_type == event.entity_type:
        page = f"/#/events/{event.id}"  # its own page is gone
    full_name = str(refused_reference.get("fullyQualifiedName") or "") if refused_reference else ""
    return ChangedAsset(entity_type, entity_id, clean_line(str(name)), page, checks, full_name)


def _table_of_suite(event: ChangeEvent) -> str:
    """Return the name of the table whose suite the event is about; empty for all else: other suites have own names."""
    table = (event.entity or {}).get("basicEntityReference") if event.entity_type == TEST_SUITE else None
    if not isinstance(table, dict):
        return ""
    return str(table.get("displayName") or fqn.steps_of(str(table.get("fullyQualifiedName") or ""))[-1])


def refused_asset(event: ChangeEvent) -> Document | None:
    """Return the reference to the asset on which an access was refused; None for other events, and for mere counts."""
    if event.event_type is not EventType.POLICY_VIOLATION or event.change_description is None:
        return None
    values = (change.new_value for change in event.change_description.fields_added if change.name == VIOLATION)
    assets = (value.get("entity") for value in values if isinstance(value, dict))
    return next((asset for asset in assets if isinstance(asset, dict) and asset.get("id")), None)


def type_text(entity_type: str) -> str:
    """Return an entity type as people call it: ``test case``, ``alert``."""
    return _TYPE_WORDS.get(entity_type) or in_words(entity_type)


def checked_table(event: ChangeEvent) -> str:
    """Return the name of the table that a test checks; empty where its link does not say."""
    link = _link_in(event.entity or {}, "entityLink")
    return clean_line(fqn.steps_of(link.fqn)[-1]) if link else ""


def _place_checked_by(test: Document) -> str:
    """Return the table or column that a test checks, as people call it; empty where its link does not say."""
    link = _link_in(test, "entityLink")
    if link is None:
        return ""
    table = fqn.steps_of(link.fqn)[-1]
    return clean_line(f"{table}.{link.steps[1]}" if len(link.steps) > 1 else table)


def _link_in(document: Document, key: str) -> EntityLink | None:
    try:
        return parse_link(document.get(key), key)
    except InvalidInput:
        return None
