"""Way to each consumer of a change request, and how it is shown who was told for it.

Next: ``server/alerts/request_notices.py``, ``server/changes/consumers.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tocsin.model.change_request import MOST_CONSUMERS, Basis, ChangeConsumer, RequestStepKind
from tocsin.model.entity import Document
from tocsin.model.notification_record import NotificationRecord
from tocsin.server.access.references import with_names
from tocsin.server.http.answer_shapes import Shape, schema_of
from tocsin.server.http.json_schema import OPEN, TEXT, TIME, either
from tocsin.server.request import Caller


class ToldConsumer(NamedTuple):
    """A notification to a person who answers for a consumer, and the step of the request that it tells of."""

    user: Document
    kind: RequestStepKind
    status: str
    record: NotificationRecord


TOLD: Shape[ToldConsumer] = {
    "user": (OPEN, lambda notice: notice.user),
    "kind": (either(*RequestStepKind), lambda notice: notice.kind.value),
    "channel": (TEXT, lambda notice: notice.record.notification.channel),
    "status": (TEXT, lambda notice: notice.status),
    "timestamp": (TIME, lambda notice: notice.record.notification.created_at_ms),
    "readAt?": (TIME, lambda notice: notice.record.read_at_ms),
}
TOLD_SCHEMA = schema_of(TOLD)


def chains_to(consumers: Sequence[ChangeConsumer], root: Document, caller: Caller) -> dict[str, list[Document]]:
    """Return, by consumer, the assets from what changes to it, both included; of those that the caller sees whole."""
    levels = [one.level for one in consumers if one.basis is not Basis.FOLLOW]
    if not levels:
        return {}
    walk = caller.parts.graph.impact.walk(root, max(levels), MOST_CONSUMERS)
    nearer = {step.asset["id"]: step for step in walk.reached}
    chains: dict[str, list[Document]] = {}
    for consumer in consumers:
        link, chain = nearer.get(consumer.id), [consumer.reference]
        while link is not None:
            chain.append({"id": link.via["id"], "type": link.via["type"]})
            link = nearer.get(link.via["id"])
        if chain[-1]["id"] == root["id"]:
            chains[consumer.id] = chain[::-1]
    links = [link for chain in chains.values() for link in chain]
    visible_ids, references = set(caller.visibility.sees(links)), with_names(links, caller)
    return {
        consumer_id: [references[link["id"]] for link in chain]
        for consumer_id, chain in chains.items()
        if visible_ids.issuperset(link["id"] for link in chain)
    }
