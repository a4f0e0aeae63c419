"""Alerts that an alert names: each must be there, and its maker must be allowed to edit it; loops are refused.

Next: ``flow/match/cascade.py``.
"""

from __future__ import annotations

from collections.abc import Mapping

from tocsin.errors import Forbidden, InvalidInput
from tocsin.flow.capture.references import is_uuid
from tocsin.flow.match.cascade import path_between
from tocsin.model.entity import Document
from tocsin.model.phrases import meant
from tocsin.model.subscription import EventSubscription
from tocsin.server.alerts.explanations import tended_alerts, visible_alerts
from tocsin.server.http.request import Caller

MOST_TRIGGERED = 20
"""Alerts that one alert may trigger directly."""

_TRIGGERS = "triggers"


def check_triggers(document: Document, before: Document | None, caller: Caller) -> None:
    """Complete the alerts that an alert triggers to references, in ``document``.

    Raises
    ------
    InvalidInput : one is not there, or triggers this alert in turn; the message names the way
    Forbidden : the caller may not edit one of those that are new: it would notify others' recipients
    """
    given = document.get(_TRIGGERS)
    if given is None:
        return
    if not isinstance(given, list) or len(given) > MOST_TRIGGERED:
        raise InvalidInput(f"must be a list of at most {MOST_TRIGGERED} alerts", field=_TRIGGERS)
    if not given:
        return
    known = {one.id: one for one in visible_alerts(caller)}
    found = [_found(one, f"{_TRIGGERS}[{number}]", known) for number, one in enumerate(given)]
    _check_loops(document, before, found, (known, caller))
    old = {one["id"] for one in (before or {}).get(_TRIGGERS) or ()}
    new = [one for one in found if one.id not in old]
    allowed = {one.id for one in tended_alerts(new, caller)}
    for one in new:
        if one.id not in allowed:
            raise Forbidden(f"Only editors of alert {one.name} may let other alerts trigger it.")
    document[_TRIGGERS] = list({one.id: _reference(one) for one in found}.values())


def _found(given: object, place: str, known: Mapping[str, EventSubscription]) -> EventSubscription:
    """Return the alert of a reference: its id, or its name or full name, also as a plain text."""
    asked = {"name": given} if isinstance(given, str) else given
    if not isinstance(asked, dict) or asked.get("type", "eventsubscription") != "eventsubscription":
        raise InvalidInput("must be a reference to an alert: its id or name", field=place)
    name = next((one for key in ("id", "fullyQualifiedName", "name") if isinstance(one := asked.get(key), str)), "")
    by_name = {one.name: one for one in known.values()}
    alert = known.get(name) if is_uuid(name) else by_name.get(name)
    if alert is None:
        raise InvalidInput(f"unknown alert {name!r}; {meant(name, sorted(by_name))}", field=place)
    return alert


def _check_loops(
    document: Document,
    before: Document | None,
    found: list[EventSubscription],
    of: tuple[Mapping[str, EventSubscription], Caller],
) -> None:
    """Refuse an alert that one of those that it triggers leads back to, through alerts that one may not see as well."""
    known, caller = of
    if before is None:
        return
    every = caller.parts.subscriptions.list_all()
    links = {one.id: [each.id for each in one.triggers] for one in every if one.id != before["id"]}
    for number, one in enumerate(found):
        if way := path_between(one.id, before["id"], links):
            names = [known[step].name if step in known else "another alert" for step in way[:-1]]
            said = " -> ".join((str(document["name"]), *names, str(document["name"])))
            raise InvalidInput(f"makes a loop: {said}", field=f"{_TRIGGERS}[{number}]")


def _reference(alert: EventSubscription) -> Document:
    full = alert.fully_qualified_name
    return {"id": alert.id, "type": "eventsubscription", "name": alert.name, "fullyQualifiedName": full}
