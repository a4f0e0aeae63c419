"""Masking of sample data for people without full access: the number of values is shown, not the values.

A column is masked if it, a part of it or the whole asset carries a tag of the setting ``masked_tags``.
Administrators, bots and owners see everything. Source: OpenMetadata's ``PIIMasker``.
Next: ``server/access/samples.py`` for answers, ``store/outbox/failing_rows.py`` for mails.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from operator import or_

from tocsin.access.subject import Subject
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.labels import labels_of

MASK = "********"
"""Replacement of a value."""

MASKED = "masked"
"""Key of kept rows: of each column whether it was masked when they came."""


def masked_tags_for(
    subject: Subject, tags: Collection[str], find_owners: Callable[[], Iterable[Document]]
) -> frozenset[str]:
    """Return those of ``tags`` whose values are masked for a person: none for an administrator, a bot or an owner."""
    if subject.is_admin or subject.is_bot:
        return frozenset()
    owner_ids = {owner["id"] for owner in find_owners()}
    return frozenset(tags) if owner_ids.isdisjoint({subject.id, *subject.teams}) else frozenset()


def masked_columns(asset: Document, tags: Collection[str]) -> frozenset[str]:
    """Return the paths of an asset's masked columns, those of nested ones in both spellings: by FQN and by dots."""
    all_of_it = _carries(asset.get("tags"), tags)
    return _spellings(_masked_paths(_columns(asset), tags, (), hidden=all_of_it))


def masked_rows(sample: Document, asset: Document, tags: Collection[str], *, masks_unknown: bool = False) -> Document:
    """Return rows of a table or a container with a mask in every cell of a masked column.

    Where anything is masked, or ``masks_unknown`` says so, a column that the asset does not have is masked as well:
    what it holds may come from there. So is what ``MASKED`` says was masked when the rows came, whatever has the
    column's name now.
    """
    hidden = masked_places(sample["columns"], asset, tags, masks_unknown=masks_unknown)
    if tags and MASKED in sample:
        hidden = list(map(or_, hidden, sample[MASKED]))
    sample_rows = [[MASK if hide else cell for hide, cell in zip(hidden, row, strict=False)] for row in sample["rows"]]
    return {**sample, "rows": sample_rows}


def masked_places(
    columns: Iterable[str], asset: Document, tags: Collection[str], *, masks_unknown: bool = False
) -> list[bool]:
    """Return of each of these columns of rows whether it is masked."""
    masked, column_names = masked_columns(asset, tags), _spellings(_column_paths(_columns(asset)))
    is_private = bool(masked) or (masks_unknown and bool(tags)) or _carries(asset.get("tags"), tags)
    return [name in masked or (is_private and name not in column_names) for name in columns]


def masked_messages(sample: Document, asset: Document, tags: Collection[str]) -> Document:
    """Return messages, all of them masked if the asset or any of its fields carries one of these tags."""
    if not any(label["tagFQN"] in tags for label in labels_of(asset)):
        return sample
    return {**sample, "messages": [MASK for _ in sample["messages"]]}


def _columns(asset: Document) -> list[Document]:
    return asset.get("columns") or (asset.get("dataModel") or {}).get("columns") or []


def _spellings(paths: Iterable[tuple[str, ...]]) -> frozenset[str]:
    return frozenset(spelling for path in paths for spelling in (fqn.join(path), ".".join(path)))


def _column_paths(columns: Collection[Document], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for column in columns:
        path = (*above, column["name"])
        yield path
        yield from _column_paths(column.get("children") or (), path)


def _masked_paths(
    columns: Collection[Document], tags: Collection[str], above: tuple[str, ...], *, hidden: bool = False
) -> Iterator[tuple[str, ...]]:
    for column in columns:
        path = (*above, column["name"])
        inherits = hidden or _carries(column.get("tags"), tags)
        if inherits or any(label["tagFQN"] in tags for label in labels_of(column)):
            yield path
        yield from _masked_paths(column.get("children") or (), tags, path, hidden=inherits)


def _carries(labels: Collection[Document] | None, tags: Collection[str]) -> bool:
    return any(label["tagFQN"] in tags for label in labels or ())
