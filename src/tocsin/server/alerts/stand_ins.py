"""Assignment of an incident to a person who is away: it goes to their substitute, or says that they are away.

Next: ``alerts/incidents.py``.
"""

from __future__ import annotations

from dataclasses import replace

from tocsin.access.person_visibility import Visibility
from tocsin.alerts.incidents import Handling
from tocsin.errors import InvalidInput
from tocsin.model.alert_incident import AlertIncident
from tocsin.model.entity import Document
from tocsin.model.stored import Key
from tocsin.model.substitute import StandIn, stand_in_of
from tocsin.server.alerts.incidents import asset_of
from tocsin.server.request import Caller


def with_stand_in(handling: Handling, incident: AlertIncident, caller: Caller) -> Handling:
    """Return an assignment to a person as it is made: to whom stands in for them, if they are away."""
    stand_in = stand_in_for(handling.assignee or {}, asset_of(incident), caller)
    return handling if stand_in is None else replace(handling, assignee=stand_in.assignee, stand_in=stand_in)


def stand_in_for(assignee: Document, asset: Document, caller: Caller) -> StandIn | None:
    """Return who stands in for an assignee where an asset is concerned; None for who is not away, and for a team.

    Who assigns something to themselves is there. A substitute has to be able to view the asset.
    """
    person = _person(assignee, caller)
    if person is None or person["id"] == caller.actor.id:
        return None
    return _find_stand_in(str(person["id"]), asset, caller)


def _find_stand_in(user_id: str, asset: Document, caller: Caller) -> StandIn | None:
    """Return who stands in for a person where an asset is concerned; None if they are not away."""
    parts, now_ms = caller.parts, caller.parts.clock.now_ms()

    def away_until(person_id: str) -> int | None:
        absence = parts.alert_stores.preferences.of(person_id).away
        end_ms = now_ms if absence is None else absence.ends_after(now_ms)
        return end_ms if end_ms != now_ms else None

    def may_take(person_id: str) -> bool:
        person = parts.people.by_id(person_id)
        if person is None or person.deleted or person.is_bot:
            return False
        return bool(Visibility(caller.policies.of(person_id), parts.access.standing).sees([asset]))

    return stand_in_of(user_id, away_until, parts.alert_stores.substitutes.of, may_take)


def _person(reference: Document, caller: Caller) -> Document | None:
    """Return the user whom a reference names; None for a team, or nobody: then the assignment says what is wrong."""
    if reference.get("type", "user") != "user":
        return None
    key = next((make(str(reference[name])) for name, make in _KEYS if reference.get(name)), None)
    try:
        return None if key is None else caller.parts.catalogue.reference("user", key)
    except InvalidInput:
        return None


_KEYS = (("id", Key.by_id), ("fullyQualifiedName", Key.by_name), ("name", Key.by_name))
