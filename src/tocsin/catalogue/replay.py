"""Replay of a recorded history through ``Writes``, line by line, with the original timestamps.

A history is a JSON Lines file (``.jsonl``, ``.jsonl.gz``) of entity states or lineage edges; several files are merged
by time, states before edges of the same moment. People, teams and domains are created when first named.
"""

from __future__ import annotations

import gzip
import heapq
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import orjson

from tocsin.catalogue.writes import Writes
from tocsin.errors import InvalidInput, NotFound, Unavailable
from tocsin.flow.capture.bounds import BOUNDS
from tocsin.flow.capture.ports import BatchedCatalogue, BatchedTransaction, Collision, Transaction
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM, Actor
from tocsin.model.stored import Written

End = tuple[str, str]

_MADE_WHEN_NAMED = frozenset({"user", "team", "domain"})


@dataclass(frozen=True)
class ReplayProgress:
    """Progress after one line of a history.

    Attributes
    ----------
    line : the line as it was read
    written : its result; None for an edge that waits for one of its ends
    read_bytes, total_bytes : position in the files, and their size, compressed as they are
    """

    line: Document
    written: Written | None
    read_bytes: int
    total_bytes: int


def replay(writes: Writes, *paths: Path) -> Iterator[ReplayProgress]:
    """Write histories again, yielding after each line.

    Raises
    ------
    InvalidInput : a line is not one of a history; the message names the file and the line.
    """
    history = _History(writes)
    files = [_File(path) for path in paths]
    total = sum(path.stat().st_size for path in paths)
    for line in heapq.merge(*(file.lines() for file in files), key=_moment):
        write_result = history.write(line)
        yield ReplayProgress(line, write_result, sum(file.read_bytes for file in files), total)


@dataclass
class _File:
    path: Path
    read_bytes: int = 0

    def lines(self) -> Iterator[Document]:
        with self.path.open("rb") as raw:
            for number, text in enumerate(_unpack(self.path, raw), 1):
                self.read_bytes = raw.tell()
                try:
                    yield _checked_line(orjson.loads(text))
                except (orjson.JSONDecodeError, KeyError, TypeError) as refused:
                    raise InvalidInput(f"{self.path.name}, line {number}: not a state of a history") from refused


@dataclass
class _History:
    writes: Writes
    ids_by_end: dict[End, str] = field(default_factory=dict)
    edges: defaultdict[End, dict[End, None]] = field(default_factory=lambda: defaultdict(dict))

    def write(self, line: Document) -> Written | None:
        actor = self._actor(line["user"], line["timestamp"])
        return self._apply_edge_line(line, actor) if "toEntity" in line else self._apply_state_line(line, actor)

    def _apply_state_line(self, line: Document, actor: Actor) -> Written:
        entity_type, fqn, at_ms = line["entityType"], line["fullyQualifiedName"], line["timestamp"]
        if line["op"] == "delete":
            return self.writes.remove(entity_type, fqn, at_ms, actor=actor)
        for reference in (*line["entity"].get("owners", ()), *line["entity"].get("domains", ())):
            self._ensure((reference["type"], reference["name"]), at_ms)
        write_result = self.writes.replace(entity_type, fqn, line["entity"], at_ms, actor=actor)
        if write_result.event and write_result.event.event_type is EventType.ENTITY_CREATED:
            for to in self.edges[entity_type, fqn]:  # the history knows them already
                self._put_edge((entity_type, fqn), to, actor, at_ms)
        return write_result

    def _apply_edge_line(self, line: Document, actor: Actor) -> Written | None:
        from_, to = _end(line["fromEntity"]), _end(line["toEntity"])
        if line["op"] == "put":
            self.edges[from_][to] = None
            return self._put_edge(from_, to, actor, line["timestamp"])
        self.edges[from_].pop(to, None)
        try:
            return self.writes.delete_edge(_reference(from_), _reference(to), actor=actor, at_ms=line["timestamp"])
        except NotFound:  # it went with the asset it began at, or that asset was never in the catalogue
            return None

    def _put_edge(self, from_: End, to: End, actor: Actor, at_ms: int) -> Written | None:
        edge = {"fromEntity": _reference(from_), "toEntity": _reference(to)}
        try:
            return self.writes.put_edge(edge, actor=actor, at_ms=at_ms)
        except NotFound:  # an asset outside the catalogue; the edge waits until it comes
            return None

    def _actor(self, name: str, at_ms: int) -> Actor:
        return Actor(self._ensure(("user", name), at_ms), name, is_bot=_is_bot(name))

    def _ensure(self, end: End, at_ms: int) -> str:
        """Return the id of a person, team or domain, made now if this history names it for the first time."""
        if end[0] not in _MADE_WHEN_NAMED:
            raise InvalidInput(f"a history cannot contain a {end[0]} as owner or domain")
        if end not in self.ids_by_end:
            written = self.writes.ensure(end[0], _request(end), actor=SYSTEM, at_ms=at_ms)
            self.ids_by_end[end] = str(written.document["id"])
        return self.ids_by_end[end]


def _unpack(path: Path, raw: BinaryIO) -> Iterator[bytes]:
    if path.suffix == ".gz":
        with gzip.open(raw) as lines:
            yield from lines
    else:
        yield from raw


def _checked_line(line: Document) -> Document:
    """Return the line if it has what a line of a history must have; ``KeyError`` if not."""
    is_edge = "toEntity" in line
    needed_keys = {"timestamp", "user", "op"} | ({"fromEntity"} if is_edge else {"entityType", "fullyQualifiedName"})
    if not is_edge and line["op"] == "put":
        needed_keys.add("entity")
    if missing := needed_keys - line.keys():
        raise KeyError(*missing)
    return line


def _moment(line: Document) -> tuple[int, bool]:
    return line["timestamp"], "toEntity" in line


def _end(reference: Document) -> End:
    return reference["type"], reference["fullyQualifiedName"]


def _reference(end: End) -> Document:
    return {"type": end[0], "fullyQualifiedName": end[1]}


def _request(end: End) -> Document:
    match end:
        case "user", name:
            return {"name": name, "email": f"{name}@history.example.org", "isBot": _is_bot(name)}
        case "team", name:
            return {"name": name, "teamType": "Group"}
        case _, name:
            return {"name": name, "domainType": "Aggregate", "description": "Created by a history."}


def _is_bot(name: str) -> bool:
    """Return whether a pseudonym names a bot; histories call them ``bot_001``."""
    return name.startswith("bot_")


class GroupCommits:
    """A catalogue that commits consecutive writes together; used by one thread, in a ``with`` statement.

    Each write succeeds or fails on its own; what was written before an error stays written.
    """

    def __init__(self, catalogue: BatchedCatalogue, *, batch_size: int = BOUNDS.chunk_rows) -> None:
        self._catalogue, self._most = catalogue, batch_size
        self._opened = ExitStack()
        self._batch: BatchedTransaction | None = None
        self._rows = 0

    def __enter__(self) -> GroupCommits:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._commit()

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Begin one write, in the batch that is open or in a new one."""
        if self._rows >= self._most:
            self._commit()
        if self._batch is None:
            self._batch = self._opened.enter_context(self._catalogue.batch())
        self._rows += 1
        with self._batch.row():
            yield self._batch

    def _commit(self) -> None:
        self._batch, self._rows = None, 0
        try:
            self._opened.close()
        except Collision as collision:
            raise Unavailable("A concurrent write changed the same entities. Try again.") from collision
