"""Drafts of assets during generation of the history, and the operations that edit them.

An edit is the JSON Patch that the stored entity gets; the draft changes by the same patch. What is not applicable has
no operations. Next: ``sample/edits.py``, which chooses edits.
"""

from __future__ import annotations

from typing import Any

from tocsin.flow.capture.json_patch import apply_to_copy
from tocsin.model.entity import Document
from tocsin.sample.assets import Asset
from tocsin.sample.columns import column, tag_label

Operations = tuple[Document, ...]


class AssetDraft:
    """Current state of an asset during generation of the history; ``document`` is never changed, but replaced."""

    def __init__(self, asset: Asset) -> None:
        self.asset = asset
        self.document = asset.request

    def apply(self, operations: Operations) -> Operations:
        """Change the draft by operations, and return them."""
        self.document = apply_to_copy(self.document, operations)
        return operations

    @property
    def tags(self) -> list[str]:
        """The FQNs of its tags."""
        return [label["tagFQN"] for label in self.document["tags"]]

    @property
    def columns(self) -> list[Document]:
        """The columns of a table; none of other assets."""
        return self.document.get("columns") or []

    def column_at(self, name: str) -> int | None:
        """Return the index of the column of that name."""
        return next((place for place, one in enumerate(self.columns) if one["name"] == name), None)


def put(key: str, value: Any) -> Operations:  # Any: the value of any key
    """Give the asset another value of a key."""
    return ({"op": "add", "path": f"/{key}", "value": value},)


def retag(tags: list[str]) -> Operations:
    """Give the asset exactly these tags."""
    return put("tags", [tag_label(tag) for tag in tags])


def add_task(draft: AssetDraft, name: str) -> Operations:
    """Add a task at the end of a pipeline."""
    if any(task["name"] == name for task in draft.document["tasks"]):
        return ()
    return put("tasks/-", {"name": name, "downstreamTasks": []})


def add_column(draft: AssetDraft, written: str) -> Operations:
    """Add a column at the end of a table."""
    new = column(written)
    return put("columns/-", new) if draft.column_at(new["name"]) is None else ()


def drop_column(draft: AssetDraft, name: str) -> Operations:
    """Drop a column."""
    place = draft.column_at(name)
    return () if place is None else ({"op": "remove", "path": f"/columns/{place}"},)


def retype_column(draft: AssetDraft, name: str, kind: Document) -> Operations:
    """Give a column another type: ``kind`` holds ``dataType`` and what belongs to it."""
    place = draft.column_at(name)
    if place is None or kind.items() <= draft.columns[place].items():
        return ()
    other_fields = {
        key: value for key, value in draft.columns[place].items() if key not in ("dataLength", "precision", "scale")
    }
    return ({"op": "replace", "path": f"/columns/{place}", "value": {**other_fields, **kind}},)


def describe_column(draft: AssetDraft, name: str, text: str) -> Operations:
    """Say what a column means."""
    place = draft.column_at(name)
    return () if place is None else put(f"columns/{place}/description", text)


def tag_column(draft: AssetDraft, name: str, tag: str) -> Operations:
    """Tag a column."""
    place = draft.column_at(name)
    labels = [] if place is None else draft.columns[place].get("tags", [])
    if place is None or any(label["tagFQN"] == tag for label in labels):
        return ()
    return put(f"columns/{place}/tags", [*labels, tag_label(tag)])
