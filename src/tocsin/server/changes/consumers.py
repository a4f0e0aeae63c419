"""Consumers of a change request: how they are found, who answers for each, and how they are shown.

Next: ``server/routes/changes.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tocsin.errors import Conflict, Forbidden, NotFound
from tocsin.flow.resolve.impact import readers_of
from tocsin.model import fqn as names
from tocsin.model.change_request import (
    MOST_CONSUMERS,
    AnnouncedChange,
    Basis,
    ChangeConsumer,
    ConsumerAnswer,
    ConsumerVerdict,
)
from tocsin.model.entity import Document
from tocsin.server.access.references import with_names
from tocsin.server.changes.told import TOLD, TOLD_SCHEMA, ToldConsumer, chains_to
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.json_schema import COUNT, OPEN, TEXT, TIME, array, either, nullable
from tocsin.server.request import Caller

_DEPTH = 50
"""Levels of lineage that are followed."""


class ShownConsumer(NamedTuple):
    """A consumer with its answer, the references with names that are shown with it, and who answers for it."""

    entry: ConsumerAnswer
    references: Mapping[str, Document]
    owners: Sequence[Document]
    chain: Sequence[Document]
    notices: Sequence[ToldConsumer]

    @property
    def answer(self) -> Document | None:
        """Return the present answer as it is shown."""
        step = self.entry.answer
        if step is None or step.verdict is None:
            return None
        details = {"until": step.until_ms, "comment": step.comment}
        return {
            "answer": step.verdict.value,
            "timestamp": step.at_ms,
            "user": self.references[step.user_id],
            **{key: value for key, value in details.items() if value is not None},
        }


ANSWER: Document = {
    "type": "object",
    "required": ["answer", "timestamp", "user"],
    "properties": {"answer": either(*ConsumerVerdict), "timestamp": TIME, "user": OPEN, "until": TIME, "comment": TEXT},
}

CONSUMER: Shape[ShownConsumer] = {
    "entity": (OPEN, lambda shown: shown.references[shown.entry.consumer.id]),
    "level": (COUNT, lambda shown: shown.entry.consumer.level),
    "basis": (either(*Basis), lambda shown: shown.entry.consumer.basis.value),
    "answeredBy": (
        {**array(OPEN), "description": "Owners, or those of what contains it; nobody: empty."},
        lambda shown: [shown.references[one["id"]] for one in shown.owners],
    ),
    "answer": (nullable(ANSWER), lambda shown: shown.answer),
    "chain": (
        {
            **array(OPEN),
            "description": "From what changes to the consumer, by lineage of now; empty if a part is hidden.",
        },
        lambda shown: list(shown.chain),
    ),
    "told": (
        {**array(TOLD_SCHEMA), "description": "Notifications that asked, newest first: to all, for who announced it."},
        lambda shown: [json_of(TOLD, one) for one in shown.notices],
    ),
}
"""A consumer of a change request."""

CONSUMER_SCHEMA = schema_of(CONSUMER)
EXTENT_SCHEMA: Document = {
    "type": "object",
    "required": ["hidden", "nobody", "yours", "yoursOpen"],
    "properties": {
        "hidden": {**COUNT, "description": "Consumers that you may not see."},
        "nobody": {**COUNT, "description": "Consumers without anybody who answers."},
        "yours": {**COUNT, "description": "Consumers for which you answer."},
        "yoursOpen": {**COUNT, "description": "Those of them that are open."},
    },
}


def find_consumers(asset: Document, entity_type: str, column_path: str | None, caller: Caller) -> list[ChangeConsumer]:
    """Return what reads an asset, or a column of it, nearest first, and then who follows it, hidden ones included.

    The caller is none of those who follow it.
    """
    reader = caller.parts.graph.impact
    fqn = str(asset["fullyQualifiedName"])
    root = {"id": asset["id"], "type": entity_type, "name": asset["name"], "fullyQualifiedName": fqn}
    walk = reader.walk(root, _DEPTH, MOST_CONSUMERS)
    columns = () if column_path is None else (names.join([*names.split(fqn), *names.split(column_path)]),)
    is_certain = readers_of(walk, root["id"], columns)
    consumers = [
        ChangeConsumer(
            id=step.asset["id"],
            type=step.asset["type"],
            level=step.level,
            basis=Basis.COLUMN if is_certain[step.asset["id"]] else Basis.ASSET,
        )
        for step in walk.reached
        if step.asset["id"] in is_certain
    ]
    followers = [one for one in reader.followers(asset["id"]) if one != caller.actor.id]
    consumers += [ChangeConsumer(user_id, "user", 0, Basis.FOLLOW) for user_id in followers]
    return consumers[:MOST_CONSUMERS]


def owners_by_consumer(consumers: Sequence[ChangeConsumer], caller: Caller) -> dict[str, list[Document]]:
    """Return who answers for each consumer now: owners, or those of what contains it; people for themselves."""
    asset_ids = [one.id for one in consumers if one.basis is not Basis.FOLLOW]
    owners = caller.parts.graph.impact.owners(asset_ids)
    return {one.id: [one.reference] if one.basis is Basis.FOLLOW else owners.get(one.id, []) for one in consumers}


def extent_of(consumers: Sequence[ConsumerAnswer], caller: Caller) -> Document:
    """Return how many of all consumers the caller may not see, have nobody, or are the caller's to answer for."""
    all_consumers = [one.consumer for one in consumers]
    owners = owners_by_consumer(all_consumers, caller)
    visible_ids = caller.visibility.sees(one.reference for one in all_consumers)
    own_ids = {one.id for one in all_consumers if one.id in visible_ids and _answers_for(owners[one.id], caller)}
    return {
        "hidden": sum(one.id not in visible_ids for one in all_consumers),
        "nobody": sum(not owners[one.id] for one in all_consumers),
        "yours": len(own_ids),
        "yoursOpen": sum(one.answer is None and one.consumer.id in own_ids for one in consumers),
    }


def consumers_json(
    consumers: Sequence[ConsumerAnswer],
    request: AnnouncedChange,
    notices: Mapping[str, Sequence[ToldConsumer]],
    caller: Caller,
) -> list[Document]:
    """Return consumers of a request that the caller may see, with the notices of each, for an answer."""
    owners = owners_by_consumer([one.consumer for one in consumers], caller)
    authors = [one.answer.author for one in consumers if one.answer]
    references = with_names([*authors, *(one.consumer.reference for one in consumers), *_keys(owners)], caller)
    chains = chains_to([one.consumer for one in consumers], request.subject, caller)
    return [
        json_of(CONSUMER, ShownConsumer(entry, references, owners[key], chains.get(key, ()), notices.get(key, ())))
        for entry in consumers
        for key in (entry.consumer.id,)
    ]


def _keys(owners: Mapping[str, Sequence[Document]]) -> Iterator[Document]:
    for many in owners.values():
        yield from ({"id": one["id"], "type": one["type"]} for one in many)


def visible_consumers(entries: Sequence[ConsumerAnswer], caller: Caller) -> list[ConsumerAnswer | None]:
    """Return each of these that the caller may see; None in the place of the others."""
    visible_ids = caller.visibility.sees(one.consumer.reference for one in entries)
    return [one if one.consumer.id in visible_ids else None for one in entries]


def ids_to_answer(
    request: AnnouncedChange, entries: Sequence[ConsumerAnswer], asked_ids: Sequence[str] | None, caller: Caller
) -> list[str]:
    """Return the ids of the consumers that an answer is for: those it names, or all that the caller answers for.

    Administrators answer for those they name.

    Raises
    ------
    NotFound : the caller may see no such consumer
    Forbidden : the caller answers for none, or not for one of those named
    """
    visible = [one.consumer for one in visible_consumers(entries, caller) if one is not None]
    owners = owners_by_consumer(visible, caller)
    own_ids = [one.id for one in visible if _answers_for(owners[one.id], caller)]
    if asked_ids is None:
        if not own_ids:
            raise Forbidden(f"You answer for no consumer of {request.name}: their owners do.")
        return own_ids
    for consumer_id in asked_ids:
        if consumer_id not in owners:
            raise NotFound(f"{request.name} has no consumer {consumer_id}")
        if consumer_id not in own_ids and not caller.actor.is_admin:
            raise Forbidden(f"Only its owners, and members of teams that own it, answer for consumer {consumer_id}.")
    return list(dict.fromkeys(asked_ids))


def require_reminder(
    request: AnnouncedChange, entries: Sequence[ConsumerAnswer], consumer_id: str, caller: Caller
) -> None:
    """Refuse to remind of a consumer that the caller may not see, or for which nobody answers.

    Raises
    ------
    NotFound : the caller may see no such consumer
    Conflict : it has no owner
    """
    consumers = [one.consumer for one in entries if one.consumer.id == consumer_id]
    if not consumers or not caller.visibility.sees(one.reference for one in consumers):
        raise NotFound(f"{request.name} has no consumer {consumer_id}")
    if not owners_by_consumer(consumers, caller)[consumer_id]:
        raise Conflict(f"consumer {consumer_id} has no owner: nobody would be reminded")


def _answers_for(owners: Sequence[Document], caller: Caller) -> bool:
    return not {one["id"] for one in owners}.isdisjoint({caller.actor.id, *caller.permissions.subject.teams})
