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
    groups = _choose_groups(lines, changes, seed)
    commits: dict[str, Commit] = {}
    for line in (one for one in lines if _group(one["fullyQualifiedName"]) in groups):
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
    documents = [(entry.key[0], entry.document) for commit in commits for entry in commit.states if entry.document]
    owners = [owner for _, entry in documents for owner in entry.get("owners", ())]
    properties: dict[str, set[str]] = defaultdict(set)
    for entity_type, entry in documents:
        properties[entity_type].update(entry.get("extension", ()))
    return History(
        commits,
        _sorted_names(commit.user for commit in commits)
        + _sorted_names(_names(owners, "user") - {entry.user for entry in commits}),
        _sorted_names(_names(owners, "team")),
        _sorted_names(entry["name"] for _, document in documents for entry in document.get("domains", ())),
        _sorted_names(entry["tagFQN"] for _, document in documents for entry in document.get("tags", ())),
        {entry: sorted(names) for entry, names in properties.items()},
    )


def _sorted_names(names: Iterable[str]) -> list[str]:
    return sorted(set(names))


def _names(references: Iterable[Json], kind: str) -> set[str]:
    return {one["name"] for one in references if one["type"] == kind}


def _lines(path: Path) -> Iterator[Json]:
    with gzip.open(path) as lines:
        yield from map(json.loads, lines)


def _choose_groups(lines: list[Json], changes: int, seed: int) -> set[str]:
    """Return datasets and pipelines that have at least so many states together."""
    counts: dict[str, int] = defaultdict(int)
    for line in lines:
        counts[_group(line["fullyQualifiedName"])] += 1
    groups, chosen_groups, state_count = sorted(counts), set[str](), 0
    Random(seed).shuffle(groups)
    for group in groups:
        if state_count >= changes:
            break
        chosen_groups.add(group)
        state_count += counts[group]
    return chosen_groups


def _group(fqn: str) -> str:
    """Return the dataset that an asset lies in, or the pipeline that it is."""
    return ".".join(fqn.split(".")[:3])


def _end(reference: Json) -> Key:
    return reference["type"], reference["fullyQualifiedName"]


def _document(entity: Json) -> Json:
    document = {key: value for key, value in entity.items() if value not in (None, "", [], {})}
    if "columns" in document:
        document["columns"] = [_column(one) for one in document["columns"]]
    if "tags" in document:
        document["tags"] = [{"tagFQN": _tag(one["tagFQN"])} for one in document["tags"]]
    if "extension" in document:
        document["extension"] = {key: json.dumps(value) for key, value in document["extension"].items()}
    if "startDate" in document:
        document["startDate"] = f"{document['startDate']}T00:00:00Z"
    return document


def _tag(fqn: str) -> str:
    """Return a tag's FQN with exactly two parts."""
    classification, _, name = fqn.partition(".")
    return f"{classification}.{name.replace('.', '_')}"


def _column(column: Json) -> Json:
    """Return a column with the API's data types and its own as text; arrays whose items have no type get an unknown."""
    source_type = column["dataType"]
    converted = {
        **column,
        "dataType": "ARRAY" if source_type == "REPEATED" else TYPES.get(source_type, source_type),
        "dataTypeDisplay": source_type,
    }
    if converted["dataType"] == "ARRAY":
        item_type = column.get("arrayDataType", "UNKNOWN")
        converted["arrayDataType"] = TYPES.get(item_type, item_type)
    if "children" in column:
        converted["children"] = [_column(one) for one in column["children"]]
    return converted
