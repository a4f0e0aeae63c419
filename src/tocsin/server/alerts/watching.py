"""Alerts that watch an asset, and whom each tells of it, as far as the caller may see alerts and people.

Next: ``server/routes/entities/watching.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import NamedTuple

from tocsin.conditions.fields import derive
from tocsin.errors import InvalidInput
from tocsin.flow.match.plan import plan_of
from tocsin.flow.match.watching import select_watched
from tocsin.flow.resolve.directory import NO_END, Portion
from tocsin.flow.resolve.recipient_rules import RecipientRule, recipient_rules
from tocsin.flow.resolve.withholding import hidden_assets
from tocsin.model.change import ChangeEvent, EventType, LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.notification import ReasonKind
from tocsin.model.subscription import Category, Channel, EventSubscription
from tocsin.server.access.permissions import visible_references
from tocsin.server.alerts.explanations import visible_alerts
from tocsin.server.alerts.watched_tests import WatchedAsset, tests_of, watched_assets
from tocsin.server.entities.serialize import views_of
from tocsin.server.http.answer_shapes import Shape, json_of
from tocsin.server.http.json_schema import COUNT, OPEN, TEXT, array, either
from tocsin.server.request import Caller

_ALERT = ENTITY_TYPES["eventsubscription"]
_MOST_PEOPLE = 100
"""People of one destination who are named; ``total`` counts all of them."""

_MOST_FOLLOWERS = 1_000
"""Followers who are looked up, the first by id; those who are named are among them."""


class Telling(NamedTuple):
    """Whom a destination of an alert tells, in one way.

    ``people`` are those who may be seen, of ``total``; nobody where an event decides who they are. ``addresses`` are
    those of a destination that tells no people, as the caller may see them; ``name`` is what the destination is called.
    """

    category: Category
    channel: Channel
    relation: ReasonKind
    people: Sequence[Document] = ()
    total: int = 0
    addresses: Sequence[str] = ()
    name: str | None = None


TELLING: Shape[Telling] = {
    "category": (either(*Category), lambda telling: telling.category.value),
    "type": (either(*Channel), lambda telling: telling.channel.value),
    "relation": (either(*ReasonKind), lambda telling: telling.relation.value),
    "people": (array(OPEN), lambda telling: list(telling.people)),
    "total": (COUNT, lambda telling: telling.total),
    "addresses": (array(TEXT), lambda telling: list(telling.addresses)),
    "name?": (TEXT, lambda telling: telling.name),
}


def watching_alerts(kind: EntityType, document: Document, caller: Caller) -> list[Document]:
    """Return the enabled alerts that some event about an asset may match, as the caller may see both.

    Of a table also those that an event about one of its tests may match, or about a suite of these, with these assets
    (``through``). What an editor of an alert may not view it does not watch.
    """
    (asset,) = watched_assets(kind, [document], caller)
    alerts = visible_alerts(caller)
    watching = _assets_by_alert(alerts, [asset])
    indirect_alerts = [alert for alert in alerts if alert.id not in watching]
    watching |= _assets_by_alert(indirect_alerts, tests_of(asset, caller))
    pairs = frozenset((alert, one.view["id"]) for alert, assets in watching.items() for one in assets)
    hidden_pairs = hidden_assets(pairs, caller.policies, caller.parts.alert_stores.events) if pairs else frozenset()
    viewable_assets = {
        alert: [one for one in assets if (alert, one.view["id"]) not in hidden_pairs]
        for alert, assets in watching.items()
    }
    viewable_alerts = [alert for alert in alerts if viewable_assets.get(alert.id)]
    documents = [alert.to_wire() for alert in viewable_alerts]
    shown_alerts = {one["id"]: one for one in views_of(_ALERT, documents, caller, fields=frozenset())}
    return [
        _alert_json(alert, shown_alerts[alert.id], _joint_document(viewable_assets[alert.id]), caller)
        | ({} if asset in viewable_assets[alert.id] else {"through": _references(viewable_assets[alert.id])})
        for alert in sorted(viewable_alerts, key=attrgetter("name"))
        if alert.id in shown_alerts
    ]


def _assets_by_alert(
    alerts: Sequence[EventSubscription], assets: Sequence[WatchedAsset]
) -> dict[str, Sequence[WatchedAsset]]:
    """Return those of these assets that each alert watches, by its id, of those that watch one."""
    events = [_event_about(one.kind, one.view) for one in assets]
    assets_by_id = {one.view["id"]: one for one in assets}
    watching: dict[str, Sequence[WatchedAsset]] = {}
    for alert in alerts:
        with suppress(InvalidInput):  # stored by an older Tocsin; it matches nothing
            if watched_events := select_watched(plan_of(alert), events):
                watching[alert.id] = [assets_by_id[one.event.entity_id] for one in watched_events]
    return watching


def _joint_document(assets: Sequence[WatchedAsset]) -> Document:
    """Return the first of several assets with the owners of all of them."""
    owners = {owner["id"]: owner for one in assets for owner in one.view.get("owners") or ()}
    return {**assets[0].view, "owners": list(owners.values())}


def _references(assets: Sequence[WatchedAsset]) -> list[Document]:
    return [one.reference for one in assets]


def _event_about(kind: EntityType, view: Document) -> LoggedEvent:
    event = ChangeEvent(
        id=view["id"],
        event_type=EventType.ENTITY_UPDATED,
        entity_type=kind.name,
        entity_id=view["id"],
        entity_fully_qualified_name=view["fullyQualifiedName"],
        timestamp=view["updatedAt"],
        entity=view,
    )
    return LoggedEvent(0, event, derive(event, actor_is_bot=False))


def _alert_json(alert: EventSubscription, shown_alert: Document, asset: Document, caller: Caller) -> Document:
    configs = {one["id"]: one.get("config") or {} for one in shown_alert["destinations"]}
    keys = ("id", "name", "displayName", "fullyQualifiedName", "description")
    return {
        **{key: shown_alert[key] for key in keys if shown_alert.get(key)},
        "type": _ALERT.name,
        "tells": [json_of(TELLING, one) for one in _tellings_of(alert, asset, configs, caller)],
    }


def _tellings_of(
    alert: EventSubscription, asset: Document, configs: Mapping[str, Document], caller: Caller
) -> Iterator[Telling]:
    """Yield whom each enabled destination tells, by the relation that makes people recipients."""
    destinations = {one.id: one for one in alert.destinations}
    by_way = attrgetter("destination_id", "relation")
    rules = sorted(recipient_rules(alert, plan_of(alert).questions), key=by_way)
    for (destination_id, relation), group in groupby(rules, key=by_way):
        many = list(group)
        destination = destinations[destination_id]
        way = (destination.category, many[0].channel, relation)
        if relation is ReasonKind.EXTERNAL:
            yield Telling(*way, addresses=_addresses(configs.get(destination_id, {})), name=destination.name)
            continue
        references, total = _people(relation, many, asset, caller)
        people = visible_references(caller, references)[:_MOST_PEOPLE]
        yield Telling(*way, people, total, name=destination.name)


def _addresses(config: Document) -> list[str]:
    """Return the addresses in a configuration as it is shown: none where its endpoint may not be seen."""
    places = [*(config.get("receivers") or ()), config.get("channel"), config.get("endpoint")]
    return [str(one) for one in places if one]


def _people(
    relation: ReasonKind, rules: Sequence[RecipientRule], asset: Document, caller: Caller
) -> tuple[list[Document], int]:
    """Return references to people who are told, of many followers only to the first, and how many are told."""
    match relation:
        case ReasonKind.OWNER:
            people = list(asset.get("owners") or ())
        case ReasonKind.FOLLOWER:
            return _followers(asset["id"], caller)
        case ReasonKind.USER | ReasonKind.TEAM:
            names = [rule.receiver for rule in rules]
            people = list(caller.parts.alert_stores.names.references_of((relation.value,), names).values())
        case _:
            people = []
    return people, len(people)


def _followers(asset_id: str, caller: Caller) -> tuple[list[Document], int]:
    """Return references to the first followers who may view what they follow, and how many followers are told.

    Of the followers after the first it is not looked up whether they may; they are counted.
    """
    # For events, even none, it looks up once what the asset belongs to.
    directory = caller.parts.alert_stores.directory.with_rights(caller.policies).for_events({})
    first_ids, count = directory.first_followers(asset_id, _MOST_FOLLOWERS)
    followers = directory.of(Portion(only=frozenset(first_ids))).stakeholders([asset_id], ReasonKind.FOLLOWER)
    told_ids = {one.principal_id for one in followers if one.until_offset == NO_END and not one.is_hidden}
    references = sorted(caller.parts.catalogue.references(told_ids).values(), key=itemgetter("fullyQualifiedName"))
    return references, count - len(first_ids) + len(told_ids)
