"""Alerts that an alert names: each must be there, and its maker must be allowed to edit it; loops are refused.

Next: ``flow/match/cascade.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tocsin.errors import Forbidden, InvalidInput
from tocsin.flow.match.cascade import path_between
from tocsin.flow.match.plan import plan_of
from tocsin.model.entity import Document, EntityReference
from tocsin.model.phrases import meant
from tocsin.model.subscription import EventSubscription
from tocsin.server.alerts.explanations import tended_alerts, visible_alerts
from tocsin.server.http.request import Caller

MOST_RELATED = 20
"""Alerts that one alert may trigger, or depend on, directly."""

_TRIGGERS, _DEPENDS_ON = "triggers", "dependsOn"


def check_related(document: Document, before: Document | None, caller: Caller) -> None:
    """Complete the alerts that an alert triggers, and those that it depends on, to references, in ``document``.

    Raises
    ------
    InvalidInput : one is not there, leads back to this alert (the message names the way), or opens no incidents
    Forbidden : the caller may not edit one that is to be triggered: it would notify others' recipients
    """
    for key, check in ((_TRIGGERS, _check_rights), (_DEPENDS_ON, _check_incidents)):
        given = document.get(key)
        if given is None:
            continue
        if not isinstance(given, list) or len(given) > MOST_RELATED:
            raise InvalidInput(f"must be a list of at most {MOST_RELATED} alerts", field=key)
        old = {one["id"] for one in (before or {}).get(key) or ()}
        known = {one.id: one for one in visible_alerts(caller)} if given else {}
        kept = {one.id: one for one in _kept(old - known.keys(), caller)} if given else {}
        found = [_found(one, f"{key}[{number}]", known, kept) for number, one in enumerate(given)]
        _check_loops((document, before), (key, found), (known, caller))
        check(found, old, caller)
        document[key] = list({one.id: _reference(one) for one in found}.values())


def _check_rights(found: list[EventSubscription], old: set[str], caller: Caller) -> None:
    new = [one for one in found if one.id not in old]
    allowed = {one.id for one in tended_alerts(new, caller)}
    for one in new:
        if one.id not in allowed:
            raise Forbidden(f"Only editors of alert {one.name} may let other alerts trigger it.")


def _check_incidents(found: list[EventSubscription], old: set[str], _caller: Caller) -> None:
    for number, one in enumerate(found):
        if one.id not in old and not plan_of(one).opens_incidents:
            raise InvalidInput(
                f"alert {one.name} opens no incidents: it needs alertType Observability or a condition on results",
                field=f"{_DEPENDS_ON}[{number}]",
            )


def _kept(hidden: Collection[str], caller: Caller) -> list[EventSubscription]:
    """Return alerts that the caller may not see and that the alert named before: whoever changes it keeps them."""
    return [one for one in map(caller.parts.subscriptions.find, sorted(hidden)) if one is not None]


def _found(
    given: object, place: str, known: Mapping[str, EventSubscription], kept: Mapping[str, EventSubscription]
) -> EventSubscription:
    """Return the alert of a reference: its id, or its name or full name, also as a plain text."""
    asked = {"name": given} if isinstance(given, str) else given
    if not isinstance(asked, dict) or asked.get("type", "eventsubscription") != "eventsubscription":
        raise InvalidInput("must be a reference to an alert: its id or name", field=place)
    name = next((one for key in ("id", "fullyQualifiedName", "name") if isinstance(one := asked.get(key), str)), "")
    by_name = {one.name: one for one in known.values()}
    alert = known.get(name) or kept.get(name) or by_name.get(name)
    if alert is None:
        raise InvalidInput(f"unknown alert {name!r}; {meant(name, sorted(by_name))}", field=place)
    return alert


def _check_loops(
    of: tuple[Document, Document | None],
    asked: tuple[str, list[EventSubscription]],
    by: tuple[Mapping[str, EventSubscription], Caller],
) -> None:
    """Refuse what one of the alerts that it names leads back to, through alerts that one may not see as well."""
    (document, before), (key, found), (known, caller) = of, asked, by
    if before is None or not found:
        return
    every = caller.parts.subscriptions.list_all()
    links = {one.id: [each.id for each in _named(one, key)] for one in every if one.id != before["id"]}
    for number, one in enumerate(found):
        if way := path_between(one.id, before["id"], links):
            names = [known[step].name if step in known else "another alert" for step in way[:-1]]
            said = " -> ".join((str(document["name"]), *names, str(document["name"])))
            raise InvalidInput(f"makes a loop: {said}", field=f"{key}[{number}]")


def _named(alert: EventSubscription, key: str) -> tuple[EntityReference, ...]:
    return alert.triggers if key == _TRIGGERS else alert.depends_on


def _reference(alert: EventSubscription) -> Document:
    full = alert.fully_qualified_name
    return {"id": alert.id, "type": "eventsubscription", "name": alert.name, "fullyQualifiedName": full}
