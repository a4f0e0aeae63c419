"""Real history of changes, read from the shared data: states and lineage edges, commit by commit.

The format is described beside the data (``FORMAT.md``). Values that the API does not take are written in its terms:
data types that it does not know, custom properties of mixed kinds as text. Next: ``truth/script.py``.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

Json = dict[str, Any]  # Any: whatever JSON holds
Key = tuple[str, str]
"""Type and FQN of an entity."""

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "bqetl_main"
"""Where the history lies: beside the repository, never in it."""

TYPES = {"INTEGER": "INT", "INT64": "BIGINT", "BOOL": "BOOLEAN", "FLOAT64": "DOUBLE", "BIGNUMERIC": "DECIMAL"}
"""BigQuery's data types in OpenMetadata's terms."""


@dataclass(frozen=True)
class State:
    """An asset as one commit left it; ``document`` is None where the commit deleted it."""

    key: Key
    document: Json | None


@dataclass(frozen=True)
class EdgeChange:
    """A lineage edge that a commit added or removed."""

    source: Key
    product: Key
    is_there: bool


@dataclass
class Commit:
    """Changes that one person made at once, the states before the edges."""

    user: str
    states: list[State] = field(default_factory=list)
    edges: list[EdgeChange] = field(default_factory=list)


@dataclass(frozen=True)
class History:
    """A part of the history that has the wanted number of changes, and whom it names."""

    commits: list[Commit]
    users: list[str]
    teams: list[str]
    domains: list[str]
    tags: list[str]
    properties: dict[str, list[str]]


def read_history(changes: int, seed: int, folder: Path = FOLDER) -> History:
    """Return whole histories of datasets and pipelines, chosen by ``seed``, until there are so many changes of state.

    Raises
    ------
    FileNotFoundError : the shared data is not beside the repository.
    """
    lines = list(_lines(folder / "states.jsonl.gz"))
    chosen = _chosen(lines, changes, seed)
    commits: dict[str, Commit] = {}
    for line in (one for one in lines if _group(one["fullyQualifiedName"]) in chosen):
        if changes == 0:
            break
        changes -= 1
        key = (line["entityType"], line["fullyQualifiedName"])
        document = _document(line["entity"]) if line["op"] == "put" else None
        commits.setdefault(line["commit"], Commit(line["user"])).states.append(State(key, document))
    for line in _lines(folder / "lineage.jsonl.gz"):
        if commit := commits.get(line["commit"]):
            commit.edges.append(EdgeChange(_end(line["fromEntity"]), _end(line["toEntity"]), line["op"] == "put"))
    return _history(list(commits.values()))


def _history(commits: list[Commit]) -> History:
    documents = [(one.key[0], one.document) for commit in commits for one in commit.states if one.document]
    owners = [owner for _, one in documents for owner in one.get("owners", ())]
    properties: dict[str, set[str]] = defaultdict(set)
    for entity_type, one in documents:
        properties[entity_type].update(one.get("extension", ()))
    return History(
        commits,
        _sorted(commit.user for commit in commits) + _sorted(_names(owners, "user") - {one.user for one in commits}),
        _sorted(_names(owners, "team")),
        _sorted(one["name"] for _, document in documents for one in document.get("domains", ())),
        _sorted(one["tagFQN"] for _, document in documents for one in document.get("tags", ())),
        {one: sorted(names) for one, names in properties.items()},
    )


def _sorted(names: Iterable[str]) -> list[str]:
    return sorted(set(names))


def _names(references: Iterable[Json], kind: str) -> set[str]:
    return {one["name"] for one in references if one["type"] == kind}


def _lines(path: Path) -> Iterator[Json]:
    with gzip.open(path) as lines:
        yield from map(json.loads, lines)


def _chosen(lines: list[Json], changes: int, seed: int) -> set[str]:
    """Return datasets and pipelines that have at least so many states together."""
    counts: dict[str, int] = defaultdict(int)
    for line in lines:
        counts[_group(line["fullyQualifiedName"])] += 1
    groups, chosen, found = sorted(counts), set[str](), 0
    Random(seed).shuffle(groups)
    for group in groups:
        if found >= changes:
            break
        chosen.add(group)
        found += counts[group]
    return chosen


def _group(fqn: str) -> str:
    """Return the dataset that an asset lies in, or the pipeline that it is."""
    return ".".join(fqn.split(".")[:3])


def _end(reference: Json) -> Key:
    return reference["type"], reference["fullyQualifiedName"]


def _document(entity: Json) -> Json:
    found = {key: value for key, value in entity.items() if value not in (None, "", [], {})}
    if "columns" in found:
        found["columns"] = [_column(one) for one in found["columns"]]
    if "tags" in found:
        found["tags"] = [{"tagFQN": _tag(one["tagFQN"])} for one in found["tags"]]
    if "extension" in found:
        found["extension"] = {key: json.dumps(value) for key, value in found["extension"].items()}
    if "startDate" in found:
        found["startDate"] = f"{found['startDate']}T00:00:00Z"
    return found


def _tag(fqn: str) -> str:
    """Return a tag's FQN with exactly two parts."""
    classification, _, name = fqn.partition(".")
    return f"{classification}.{name.replace('.', '_')}"


def _column(column: Json) -> Json:
    """Return a column with the API's data types and its own as text."""
    own = column["dataType"]
    found = {**column, "dataType": "ARRAY" if own == "REPEATED" else TYPES.get(own, own), "dataTypeDisplay": own}
    if "arrayDataType" in column:
        found["arrayDataType"] = TYPES.get(column["arrayDataType"], column["arrayDataType"])
    if "children" in column:
        found["children"] = [_column(one) for one in column["children"]]
    return found
