"""Reader of what the store knows about a request of an alert: names, receivers, and other alerts of the requester.

Next: ``alerts/request.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from tocsin.alerts.destinations import Receivers, check_destination
from tocsin.alerts.former_names import NamedEntities
from tocsin.alerts.quotas import (
    AlertAllowance,
    check_receivers,
    extent_of,
    is_in_domain,
)
from tocsin.alerts.request import parse_destination
from tocsin.catalogue.naming.alert_names import exact_names
from tocsin.conditions.entity_names import Types
from tocsin.flow.match.plan_cost import cost_of_stored
from tocsin.model.entity import Document
from tocsin.model.subscription import Destination
from tocsin.server.request import Caller
from tocsin.settings import Settings
from tocsin.store.catalogue.relations.names import Names


def read_names(request: Document, caller: Caller) -> NamedEntities:
    """Return the entities that have, or had, the names in a request; of former ones those that the caller may see."""
    texts: dict[Types, set[str]] = defaultdict(set)
    for name in (name for names in exact_names(request).values() for name in names):
        texts[name.types].add(name.text)
    if not texts:
        return NamedEntities()
    existing, former = caller.parts.alert_stores.names.references_now_and_formerly(texts)
    visible_ids = caller.visibility.sees(former.values()) if former else ()
    return NamedEntities(existing, {key: one for key, one in former.items() if one["id"] in visible_ids})


def read_receivers(names: Collection[str], stored_names: Names) -> Receivers:
    """Return which of these names are those of users, and of teams."""
    if not names:
        return Receivers()
    users, teams = (stored_names.references_of((kind,), names) for kind in ("user", "team"))
    return Receivers(frozenset(name for name, one in users.items() if one["name"] == name), frozenset(teams))


def read_allowance(document: Document, before: Document, caller: Caller) -> AlertAllowance:
    """Return what the caller, who is no administrator, may put into an alert, and has in others already."""
    settings, other_alerts = caller.parts.settings, list[Document]()
    extent, old_extent = extent_of(document), extent_of(before)
    is_costlier = extent.conditions not in (None, old_extent.conditions)
    if is_costlier or extent.external_count > old_extent.external_count:
        own_alerts = caller.parts.subscriptions.alerts_made_by(caller.actor.id)
        other_alerts = [alert for key, alert in own_alerts.items() if key != before.get("id")]
    old_receivers = {one.lower() for many in old_extent.receivers for one in many}
    addresses = list[str]()
    for receivers in extent.receivers:
        new_receivers = [one for one in receivers if one.lower() not in old_receivers]
        if new_receivers and len(receivers) > settings.receivers_per_destination:
            break  # refused before its addresses count
        addresses += [one for one in new_receivers if "@" in one]
    return AlertAllowance(
        settings,
        _user_addresses(addresses, settings, caller) if addresses else frozenset(),
        sum(extent_of(one).external_count for one in other_alerts),
        [*filter(None, map(cost_of_stored, other_alerts))],
    )


def read_destination(document: object, caller: Caller) -> Destination:
    """Return one destination that is to be tried, if it can work.

    Raises
    ------
    InvalidInput : it cannot; the message says why
    """
    destination = parse_destination(document)
    names = frozenset(one for one in destination.config.receivers if "@" not in one)
    check_destination(destination, read_receivers(names, caller.parts.alert_stores.names), "destination")
    return destination


def check_trial(destination: Destination, caller: Caller) -> None:
    """Refuse to try a destination that the caller might not put into an alert.

    Raises
    ------
    InvalidInput : with the place, the setting and the way out
    """
    if caller.actor.is_admin:
        return
    settings, receivers = caller.parts.settings, destination.config.receivers
    is_few = len(receivers) <= settings.receivers_per_destination
    addresses = [one for one in receivers if "@" in one and is_few]
    allowance = AlertAllowance(settings, _user_addresses(addresses, settings, caller))
    check_receivers(receivers, "destination.config.receivers", allowance, count=len(receivers))


def _user_addresses(addresses: Iterable[str], settings: Settings, caller: Caller) -> frozenset[str]:
    """Return those of these addresses that are those of users; in open domains nobody has to be."""
    persons = ((one, caller.parts.people.by_email(one)) for one in addresses if not is_in_domain(one, settings))
    return frozenset(address for address, person in persons if person is not None and not person.deleted)
