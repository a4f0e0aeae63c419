"""Drafts of assets during generation of the history, and edits of them in two forms.

Each edit changes the draft and returns the JSON Patch operations that do the same to the stored entity, sharing
nothing with the draft; an edit that is not applicable returns none. Next: ``sample/edits.py``, which chooses edits.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

from tocsin.model.entity import Document
from tocsin.sample.assets import Asset
from tocsin.sample.columns import column, tag_label

Operations = tuple[Document, ...]


@dataclass
class AssetDraft:
    """Current state of an asset during generation of the history."""

    asset: Asset
    description: str
    title: str | None
    tags: list[str]
    owners: list[Document]
    columns: list[Document] = field(default_factory=list)
    tasks: list[Document] = field(default_factory=list)

    @classmethod
    def of(cls, asset: Asset) -> AssetDraft:
        """Return the draft of an asset as it is created."""
        request = copy.deepcopy(asset.request)
        return cls(
            asset=asset,
            description=request["description"],
            title=request.get("displayName"),
            tags=[label["tagFQN"] for label in request["tags"]],
            owners=request["owners"],
            columns=request.get("columns", []),
            tasks=request.get("tasks", []),
        )

    def column_at(self, name: str) -> int | None:
        """Return the index of the column of that name."""
        return next((place for place, one in enumerate(self.columns) if one["name"] == name), None)


def describe(draft: AssetDraft, text: str) -> Operations:
    """Give the asset another description."""
    draft.description = text
    return ({"op": "add", "path": "/description", "value": text},)


def rename(draft: AssetDraft, title: str) -> Operations:
    """Give the asset another title."""
    draft.title = title
    return ({"op": "add", "path": "/displayName", "value": title},)


def retag(draft: AssetDraft, tags: list[str]) -> Operations:
    """Give the asset exactly these tags."""
    draft.tags = tags
    return ({"op": "add", "path": "/tags", "value": [tag_label(tag) for tag in tags]},)


def hand_over(draft: AssetDraft, owners: list[Document]) -> Operations:
    """Give the asset exactly these owners."""
    draft.owners = owners
    return ({"op": "add", "path": "/owners", "value": owners},)


def reschedule(schedule: str) -> Operations:
    """Let a pipeline run at other times."""
    return ({"op": "add", "path": "/scheduleInterval", "value": schedule},)


def add_task(draft: AssetDraft, name: str) -> Operations:
    """Add a task at the end of a pipeline."""
    if any(task["name"] == name for task in draft.tasks):
        return ()
    task: Document = {"name": name, "downstreamTasks": []}
    draft.tasks.append(task)
    return ({"op": "add", "path": "/tasks/-", "value": dict(task)},)


def add_column(draft: AssetDraft, written: str) -> Operations:
    """Add a column at the end of a table."""
    new = column(written)
    if draft.column_at(new["name"]) is not None:
        return ()
    draft.columns.append(new)
    return ({"op": "add", "path": "/columns/-", "value": copy.deepcopy(new)},)


def drop_column(draft: AssetDraft, name: str) -> Operations:
    """Drop a column."""
    place = draft.column_at(name)
    if place is None:
        return ()
    del draft.columns[place]
    return ({"op": "remove", "path": f"/columns/{place}"},)


def retype_column(draft: AssetDraft, name: str, kind: Document) -> Operations:
    """Give a column another type: ``kind`` holds ``dataType`` and what belongs to it."""
    place = draft.column_at(name)
    if place is None or kind.items() <= draft.columns[place].items():
        return ()
    other_fields = {
        key: value for key, value in draft.columns[place].items() if key not in ("dataLength", "precision", "scale")
    }
    draft.columns[place] = {**other_fields, **kind}
    return ({"op": "replace", "path": f"/columns/{place}", "value": copy.deepcopy(draft.columns[place])},)


def describe_column(draft: AssetDraft, name: str, text: str) -> Operations:
    """Say what a column means."""
    place = draft.column_at(name)
    if place is None:
        return ()
    draft.columns[place]["description"] = text
    return ({"op": "add", "path": f"/columns/{place}/description", "value": text},)


def tag_column(draft: AssetDraft, name: str, tag: str) -> Operations:
    """Tag a column."""
    place = draft.column_at(name)
    if place is None:
        return ()
    labels = draft.columns[place].setdefault("tags", [])
    if any(label["tagFQN"] == tag for label in labels):
        return ()
    labels.append(tag_label(tag))
    return ({"op": "add", "path": f"/columns/{place}/tags", "value": list(labels)},)
