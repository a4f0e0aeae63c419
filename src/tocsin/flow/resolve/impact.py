"""Impact of a change: downstream assets, narrowed to the affected columns and counted.

``store/recipients/impact.py`` walks the graph, ``server/routes/lineage/impact.py`` answers. Notifications
find downstream assets by ``reach`` in ``store/recipients/relations_over_time.py``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tocsin.model import fqn as names
from tocsin.model.entity import Document
from tocsin.model.lineage import Edge


@dataclass(frozen=True)
class Reached:
    """An asset downstream, at its shortest distance.

    Attributes
    ----------
    asset : the reference to it
    level : number of edges from the start of the walk
    via : the asset one level nearer that feeds it, or whose data it moves
    pipeline : what moves the data from there, if the edge says so and it is not the asset itself
    """

    asset: Document
    level: int
    via: Document
    pipeline: Document | None


@dataclass(frozen=True)
class Walk:
    """All downstream assets, nearest first; ``is_cut`` says that there are more."""

    reached: tuple[Reached, ...]
    edges: tuple[Edge, ...]
    is_cut: bool


@dataclass(frozen=True)
class _Use:
    """One line of column lineage: who uses a column, and what is made of it."""

    user_ids: tuple[str, ...]
    to_id: str
    to_column: str | None


_Uses = tuple[Mapping[str, Sequence[_Use]], Mapping[str, Sequence[_Use]]]
"""The uses of every column, and of every column inside it."""


def used_columns(edges: Iterable[Edge], changed: Collection[str]) -> dict[str, set[str]]:
    """Return, by asset id, the columns derived from the changed columns by column lineage.

    A column inside or around a changed one counts as changed. An asset that uses one for something else
    than a column has an empty set.
    """
    return _columns_made(_uses(edges), changed)


def users_by_column(edges: Iterable[Edge], columns: Iterable[str]) -> dict[str, set[str]]:
    """Return the ids of the assets that use each of these columns by column lineage, also through other assets."""
    uses = _uses(edges)
    return {column: set(_columns_made(uses, (column,))) for column in columns}


def _columns_made(uses: _Uses, changed: Collection[str]) -> dict[str, set[str]]:
    exactly, uses_around = uses
    columns_by_asset: dict[str, set[str]] = defaultdict(set)
    visited_columns, columns_to_visit = set(changed), list(changed)
    while columns_to_visit:
        column = columns_to_visit.pop()
        for use in (
            *uses_around.get(column, ()),
            *(use for name in _outwards(column) for use in exactly.get(name, ())),
        ):
            for user_id in use.user_ids:
                columns_by_asset[user_id].update([use.to_column] if use.to_column and user_id == use.to_id else [])
            if use.to_column and use.to_column not in visited_columns:
                visited_columns.add(use.to_column)
                columns_to_visit.append(use.to_column)
    return dict(columns_by_asset)


def readers_of(walk: Walk, root_id: str, columns: Collection[str]) -> dict[str, bool]:
    """Return the assets that a walk reached and that read these columns, each with whether column lineage says so.

    What an edge without column lineage leads to may read all columns, and so may all that is made from it. Without
    ``columns`` all assets that were reached read something, by lineage of assets.
    """
    reached_ids = [step.asset["id"] for step in walk.reached]
    if not columns:
        return dict.fromkeys(reached_ids, False)
    certain = used_columns(walk.edges, columns)
    leaving: dict[str, list[Edge]] = defaultdict(list)
    for edge in walk.edges:
        leaving[edge.from_["id"]].append(edge)
    uncertain: set[str] = set()
    waiting = [root_id, *certain]
    while waiting:
        asset_id = waiting.pop()
        for edge in leaving[asset_id]:
            if edge.details.get("columnsLineage") and asset_id not in uncertain:
                continue  # its columns are known, and so is which of them are read
            pipeline = edge.details.get("pipeline")
            new_ids = {edge.to["id"], *([pipeline["id"]] if pipeline else [])} - uncertain
            uncertain |= new_ids
            waiting += new_ids
    return {asset_id: asset_id in certain for asset_id in reached_ids if asset_id in certain or asset_id in uncertain}


def counts(reached: Sequence[Reached]) -> Document:
    """Return how many assets a walk reached: in all, by type, by level, and by type and level."""
    by_type: dict[str, Counter[str]] = defaultdict(Counter)
    for step in reached:
        by_type[step.asset["type"]][str(step.level)] += 1
    return {
        "total": len(reached),
        "byType": {name: levels.total() for name, levels in sorted(by_type.items())},
        "byLevel": dict(Counter(str(step.level) for step in reached)),
        "byTypeAndLevel": {name: dict(levels) for name, levels in sorted(by_type.items())},
    }


def _uses(edges: Iterable[Edge]) -> _Uses:
    """Return the uses of every column, and of every column inside it."""
    exactly: dict[str, list[_Use]] = defaultdict(list)
    around: dict[str, list[_Use]] = defaultdict(list)
    for column, use in (line for edge in edges for line in _lines(edge)):
        exactly[column].append(use)
        for outer in list(_outwards(column))[1:]:
            around[outer].append(use)
    return exactly, around


def _lines(edge: Edge) -> Iterator[tuple[str, _Use]]:
    """Yield each column that an edge uses, with its use."""
    pipeline = edge.details.get("pipeline")
    user_ids = (edge.to["id"], *([pipeline["id"]] if pipeline else []))
    for entry in edge.details.get("columnsLineage") or ():
        use = _Use(user_ids, edge.to["id"], entry.get("toColumn"))
        yield from ((column, use) for column in entry.get("fromColumns") or ())


def _outwards(column: str) -> Iterator[str]:
    """Yield a column's name and those of all columns around it, innermost first."""
    parts = names.split(column)
    return (names.join(parts[:length]) for length in range(len(parts), 0, -1))
