"""Values that people curate: texts, labels, owners and the like, which a bot's PUT leaves as a person wrote them.

A stored entity has the paths of those that a person wrote last (``Stored.curated``). Every write keeps them up to date;
for entities of older releases they are worked out from the versions. Source: OpenMetadata's ``EntityUpdater``, which
keeps whatever is not empty, by any writer. Next: ``flow/capture/upsert.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from tocsin.flow.capture.diff import is_empty
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.entity_type import Path, value_at
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.labels import CERTIFICATION, LabelNames
from tocsin.model.list_identity import MEMBER_LISTS

Value = Any  # Any: a JSON value
Values = dict[Path, Value]
"""What is curated, by path: ``("columns", "email", "tags", "PII.Sensitive")``; what is empty is left out."""

_REFERENCES = ("owners", "domains", "dataProducts", "experts", "reviewers")
_PLAIN = ("displayName", "description", CERTIFICATION)
TOP_KEYS = (*_PLAIN, *_REFERENCES, "tags", "extension")
"""Keys of an entity that hold curated values; more are in its members."""
_CURATED = frozenset(TOP_KEYS)
_CURATED_BELOW = _CURATED | {"children"}


def values_of(entity_type: str, document: Document) -> Values:
    """Return the curated values of an entity and its members."""
    values = dict(_own_values((), document))
    for path in ENTITY_TYPES[entity_type].member_paths:
        values.update(_of_members(path, value_at(document, path)))
    return values


def changed_paths(before: Values, after: Values) -> set[Path]:
    """Return the paths at which two states of an entity have different values."""
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def curated_paths_after(
    entity_type: str, curated: frozenset[str] | None, states: tuple[Document, Document], *, is_bot: bool
) -> frozenset[str] | None:
    """Return the paths that a person wrote last, after a person or bot has led from one state to another.

    None stays None: nobody has worked them out yet, and the new version will count.
    """
    if not curated and (is_bot or curated is None):
        return curated
    before, after = _values_apart(entity_type, *states)
    now = {fqn.join(path): path for path in after}
    concerned = now.keys() | {fqn.join(path) for path in before}
    remaining = curated - concerned
    remaining |= {name for name in curated & now.keys() if after[now[name]] == before.get(now[name])}
    if is_bot:
        return frozenset(remaining)
    return frozenset(remaining | {name for name, path in now.items() if after[path] != before.get(path)})


def curated_paths_of(entity_type: str, states: Iterable[tuple[Document, bool]]) -> frozenset[str]:
    """Return the paths that a person wrote last, from all states of an entity, oldest first.

    Each comes with whether a bot wrote it.
    """
    curated, before = frozenset[str](), Document()
    for state, is_bot in states:
        curated = curated_paths_after(entity_type, curated, (before, state), is_bot=is_bot) or frozenset()
        before = state
    return curated


def relabelled_paths(
    entity_type: str, document: Document, curated: frozenset[str] | None, new_names: LabelNames
) -> frozenset[str] | None:
    """Return the same paths after labels of ``document`` have got new names."""
    if not curated:
        return curated
    renamed = {
        fqn.join(path): fqn.join((*path[:-1], new_names[label["source"], label["tagFQN"]]))
        for path, label in values_of(entity_type, document).items()
        if path[-2:-1] == ("tags",) and (label.get("source"), label["tagFQN"]) in new_names
    }
    return frozenset(renamed.get(path, path) for path in curated)


def with_kept_values(old: Document, new: Document, paths: Collection[Path]) -> Document:
    """Return ``new`` with the values that ``old`` has at these paths, in members that both have."""
    tree: dict[str, Any] = {}  # Any: a tree of the same kind
    for path in paths:
        below = tree
        for name in path:
            below = below.setdefault(name, {})
    return _with_kept(old, new, tree)


def _values_apart(entity_type: str, before: Document, after: Document) -> tuple[Values, Values]:
    """Return the curated values of two states, without those of members that are alike: these are most of them."""
    values = dict(_own_values((), before)), dict(_own_values((), after))
    for path in ENTITY_TYPES[entity_type].member_paths:
        for side_values, members in zip(values, _unlike(value_at(before, path), value_at(after, path)), strict=True):
            side_values.update(_of_members(path, members))
    return values


def _unlike(before: Value, after: Value) -> tuple[Value, Value]:
    """Return two lists of members without those that are in both and alike."""
    if not (isinstance(before, list) and isinstance(after, list)):
        return before, after
    old, new = ({str(member.get("name")): member for member in members} for members in (before, after))
    if (len(old), len(new)) != (len(before), len(after)):  # some have the same name
        return before, after
    return (
        [member for name, member in old.items() if new.get(name) != member],
        [member for name, member in new.items() if old.get(name) != member],
    )


def _own_values(path: Path, holder: Document) -> Iterator[tuple[Path, Value]]:
    """Yield the curated values of an entity or a member, without those of members below it."""
    if _CURATED.isdisjoint(holder):
        return
    for key in _PLAIN:
        if not is_empty(value := holder.get(key)):
            yield (*path, key), value
    for key in _REFERENCES:
        if (references := holder.get(key)) and (targets := _targets(key, references)):
            yield (*path, key), targets
    for label in holder.get("tags") or ():
        if label.get("labelType") != "Derived":
            yield (*path, "tags", label["tagFQN"]), label
    extension = holder.get("extension")
    for name, value in extension.items() if isinstance(extension, dict) else ():
        if not is_empty(value):
            yield (*path, "extension", name), value


def _targets(key: str, references: Value) -> frozenset[str]:
    """Return what a list of references leads to; neither their order nor their names matter."""
    identity = MEMBER_LISTS[key].identity
    return frozenset(identity(one) for one in references if isinstance(one, dict))


def _of_members(path: Path, members: Value) -> Iterator[tuple[Path, Value]]:
    for member in members if isinstance(members, list) else ():
        if _CURATED_BELOW.isdisjoint(member):
            continue  # as most members
        place = (*path, str(member.get("name")))
        yield from _own_values(place, member)
        if children := member.get("children"):
            yield from _of_members((*place, "children"), children)


def _with_kept(old: Document, new: Document, tree: Document) -> Document:
    document = dict(new)
    for key, below in tree.items():
        was, now = old.get(key), new.get(key)
        if not below:
            document.pop(key, None)
            document |= {key: was} if key in old else {}
        elif isinstance(was, dict) or isinstance(now, dict):
            document[key] = _with_kept(was or {}, now or {}, below)
        elif key == "tags":
            document[key] = _kept_labels(was or [], now or [], below)
        else:
            document[key] = _kept_members(was or [], now or [], below)
    return document


def _kept_labels(old: list[Document], new: list[Document], tags: Collection[str]) -> list[Document]:
    kept_labels = {label["tagFQN"]: label for label in old if label["tagFQN"] in tags}
    new_labels = {label["tagFQN"]: label for label in new if label["tagFQN"] not in tags}
    return [*kept_labels.values(), *new_labels.values()]


def _kept_members(old: list[Document], new: list[Document], tree: Document) -> list[Document]:
    old_members = {str(member.get("name")): member for member in old}
    return [
        _with_kept(old_members[name], member, tree[name])
        if (name := str(member.get("name"))) in tree and name in old_members
        else member
        for member in new
    ]
