"""Edits that people make to their assets, with the frequency of each kind.

An edit is the JSON Patch that the stored entity gets; its draft in the generation of the history changes by the same
patch. What is not applicable has no operations. Next: ``sample/history.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tocsin.flow.capture.json_patch import apply_to_copy
from tocsin.model.entity import Document
from tocsin.sample import rows
from tocsin.sample.assets import Asset, owner, title_of
from tocsin.sample.columns import PERSONAL, column, tag_label, wider
from tocsin.sample.company import PEOPLE

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


MODELLED = frozenset({"staging", "marts"})
SOURCES = frozenset({"public", "billing", "logistics", "support", "marketing", "rental"})
TABLES = MODELLED | SOURCES | {"raw"}
REPORTS = frozenset({"dashboard"})
PIPELINES = frozenset({"pipeline"})
ALL = TABLES | REPORTS | PIPELINES

NOTES = (
    "Complete after six in the morning.",
    "Cancelled orders are in it; filter on status.",
    "Ask in #data-help before you change it.",
    "Test accounts are left out.",
    "Times are UTC, days are the shop's own.",
    "Money is in cents and without tax unless it says otherwise.",
    "Kept for two years.",
    "Do not join on e-mail; use customer_id.",
    "History before 2019 was loaded from the old shop and has gaps.",
    "Feeds the report to the board.",
    "The three shops are in it since spring.",
    "Will be replaced next season.",
)
DEPRECATED = "Lifecycle.Deprecated"
TAGS = (
    "Quality.Certified",
    "Quality.NeedsReview",
    "Retention.TwoYears",
    "Retention.TenYears",
    "PersonalData.Personal",
    DEPRECATED,
)
PERSONAL_COLUMNS = frozenset(
    ["customer_id", "postcode", "city", "street", "ip_address", "iban", "phone", "full_name", "email", "birth_on"]
)
SCHEDULES = ("0 * * * *", "*/15 * * * *", "0 1 * * *", "30 4 * * *", "0 6 * * 1-5")
TASKS = ("notify_owners", "publish_metrics", "refresh_cache", "archive_old_rows", "check_freshness")

Make = Callable[[AssetDraft, Random], Operations]


@dataclass(frozen=True)
class Edit:
    """One kind of edit: its assets and its frequency, for most people and for data stewards."""

    make: Make
    layers: frozenset[str]
    weight: int
    governed: int


def edit(draft: AssetDraft, rng: Random, *, governs: bool) -> Operations:
    """Make one edit that fits the asset; nothing when three tries found none."""
    kinds = [kind for kind in EDITS if draft.asset.layer in kind.layers]
    weights = [kind.governed if governs else kind.weight for kind in kinds]
    for kind in rng.choices(kinds, weights, k=3):
        operations = kind.make(draft, rng)
        if operations:
            return draft.apply(operations)
    return ()


def _undescribed_columns(draft: AssetDraft) -> list[tuple[int, str]]:
    """Return the columns that are described nowhere yet, by index, and what they mean."""
    columns = [(place, one["name"]) for place, one in enumerate(draft.columns) if "description" not in one]
    descriptions = rows.column_descriptions()
    return [(place, descriptions[name]) for place, name in columns if name in descriptions]


def _describe_column(draft: AssetDraft, rng: Random) -> Operations:
    silent = _undescribed_columns(draft)
    if not silent:
        return ()
    place, text = rng.choice(silent)
    return put(f"columns/{place}/description", text)


def _describe_columns(draft: AssetDraft, rng: Random) -> Operations:
    """Describe all columns without a description in one edit."""
    edits = (put(f"columns/{place}/description", text) for place, text in _undescribed_columns(draft))
    return tuple(operation for operations in edits for operation in operations)


def _add_note(draft: AssetDraft, rng: Random) -> Operations:
    note = rng.choice(NOTES)
    description = draft.document["description"]
    return () if note in description else put("description", f"{description} {note}")


def _take_note_back(draft: AssetDraft, rng: Random) -> Operations:
    description = draft.document["description"]
    noted = [note for note in NOTES if f" {note}" in description]
    return put("description", description.replace(f" {rng.choice(noted)}", "")) if noted else ()


def _add_tag(draft: AssetDraft, rng: Random) -> Operations:
    """Add a tag in place of another of the same classification; what matters most is never on its way out."""
    tag = rng.choice(TAGS)
    if tag in draft.tags or (tag == DEPRECATED and "Tier.Tier1" in draft.tags):
        return ()
    classification = tag.partition(".")[0]
    other_tags = [one for one in draft.tags if one.partition(".")[0] != classification]
    return retag([*other_tags, tag])


def _remove_tag(draft: AssetDraft, rng: Random) -> Operations:
    removable = [tag for tag in draft.tags if not tag.startswith("Tier.")]
    if not removable:
        return ()
    tag_to_remove = rng.choice(removable)
    return retag([tag for tag in draft.tags if tag != tag_to_remove])


def _tag_column(draft: AssetDraft, rng: Random) -> Operations:
    columns = enumerate(draft.columns)
    personal = [place for place, one in columns if one["name"] in PERSONAL_COLUMNS and not one.get("tags")]
    return put(f"columns/{rng.choice(personal)}/tags", [tag_label(PERSONAL)]) if personal else ()


def _retier(draft: AssetDraft, rng: Random) -> Operations:
    """Rate an asset that was not rated, or one step differently; what matters most stays where it is."""
    rated = next((tag for tag in draft.tags if tag.startswith("Tier.")), None)
    if rated == "Tier.Tier1":
        return ()
    tier = rng.randint(3, 5) if rated is None else min(max(int(rated[-1]) + rng.choice((-1, 1)), 2), 5)
    other_tags = [tag for tag in draft.tags if tag != rated]
    return () if rated == f"Tier.Tier{tier}" else retag([f"Tier.Tier{tier}", *other_tags])


def _hand_over(draft: AssetDraft, rng: Random) -> Operations:
    """Replace the owner by a colleague; the team stays, and the most important assets keep their owners."""
    if "Tier.Tier1" in draft.tags:
        return ()
    old_owners = draft.document["owners"]
    teams = [one for one in old_owners if one["type"] == "team"]
    team_names = {one["name"] for one in teams}
    candidates = [person.name for person in PEOPLE if person.team in team_names]
    owners = [owner("user", rng.choice(candidates)), *teams] if candidates else old_owners
    return () if owners == old_owners else put("owners", owners)


def _drop_column(draft: AssetDraft, rng: Random) -> Operations:
    """Drop a column that came later; what the table began with is in use."""
    later = set(later_columns(draft.asset.domain))
    droppable = [one["name"] for one in draft.columns if one["name"] in later]
    return drop_column(draft, rng.choice(droppable)) if droppable else ()


def _widen_column(draft: AssetDraft, rng: Random) -> Operations:
    column = rng.choice(draft.columns)
    kind = wider(column)
    return retype_column(draft, column["name"], kind) if kind else ()


def _rename(draft: AssetDraft, rng: Random) -> Operations:
    plain = title_of(draft.asset.fqn.rpartition(".")[2])
    title = rng.choice((plain, f"{plain} (new)", f"{plain}, daily", f"{plain} 2"))
    return () if title == draft.document.get("displayName") else put("displayName", title)


def later_columns(domain: str) -> Sequence[str]:
    """Return the columns that tables of a domain may get in the course of the year."""
    return rows.later_columns()[domain]


EDITS = (
    Edit(_describe_column, TABLES, 22, 20),
    Edit(_describe_columns, TABLES, 4, 10),
    Edit(_add_note, ALL, 24, 14),
    Edit(_take_note_back, ALL, 6, 4),
    Edit(_add_tag, ALL, 7, 26),
    Edit(_remove_tag, ALL, 3, 8),
    Edit(_tag_column, TABLES, 2, 22),
    Edit(_retier, TABLES, 2, 10),
    Edit(_hand_over, ALL, 6, 16),
    Edit(lambda draft, rng: add_column(draft, rng.choice(later_columns(draft.asset.domain))), MODELLED, 26, 0),
    Edit(_drop_column, MODELLED, 6, 0),
    Edit(_widen_column, MODELLED, 7, 0),
    Edit(_rename, REPORTS, 12, 2),
    Edit(lambda _draft, rng: put("scheduleInterval", rng.choice(SCHEDULES)), PIPELINES, 14, 0),
    Edit(lambda draft, rng: add_task(draft, rng.choice(TASKS)), PIPELINES, 14, 0),
)
