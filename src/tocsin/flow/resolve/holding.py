"""Alerts that are held back while an alert that they depend on has an open incident upstream.

An incident holds back what happens after its beginning, to its asset and all that is made from it. The first event of
each alert that is held back passes, and names the incident. Pure; ``store/recipients/holding.py`` finds the incidents.
Next: ``flow/resolve/portions.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from tocsin.flow.resolve.merge import Recipient
from tocsin.flow.resolve.portions import ResolvedEvent
from tocsin.flow.resolve.withholding import AlertAssets
from tocsin.model.match_result import Pair

Hidden = Callable[[AlertAssets], AlertAssets]
"""Returns those of some alerts and assets of which the asset is hidden from the alert's editors."""


def nothing_hidden(_assets: AlertAssets) -> AlertAssets:
    """Return nothing: every alert may know of every asset."""
    return frozenset()


class Waiting(NamedTuple):
    """An event that an alert matched, and the alerts that this one depends on."""

    log_offset: int
    entity_id: str
    subscription_id: str
    depends_on: tuple[str, ...]


class HeldBack(NamedTuple):
    """What holds an alert back: an incident, by its name. ``passes``: the alert is told of that by this event."""

    incident: str
    passes: bool


def name_incidents(events: Iterable[ResolvedEvent], held_back: Mapping[Pair, HeldBack]) -> Iterator[ResolvedEvent]:
    """Yield the recipients; reasons of an alert that is held back from now on name the incident."""
    for event in events:
        incident_by_alert = {
            alert: by.incident for (offset, alert), by in held_back.items() if offset == event.head.offset
        }
        yield (
            event._replace(recipients=[_name_incident(each, incident_by_alert) for each in event.recipients])
            if incident_by_alert
            else event
        )


def _name_incident(recipient: Recipient, incident_by_alert: Mapping[str, str]) -> Recipient:
    reasons = (
        reason.model_copy(update={"held_by": incident_by_alert[reason.subscription_id]})
        if reason.subscription_id in incident_by_alert
        else reason
        for reason in recipient.reasons
    )
    return recipient._replace(reasons=tuple(reasons))
