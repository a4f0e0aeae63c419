"""Capabilities of a selection of resources: what can join it, and the filters and triggers of an alert on all of it.

Source: OpenMetadata 2.1 ``events/api/alertCapabilities.json``, whose *sources* are resources here. Next:
``server/routes/alerts/conditions.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tocsin.alerts.named_filters import with_rules
from tocsin.alerts.offers import offers
from tocsin.errors import InvalidInput
from tocsin.flow.match.plan import plan_of
from tocsin.flow.match.producers import can_produce
from tocsin.flow.match.remarks import can_match
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.phrases import suggestion_for
from tocsin.model.subscription import ALL_RESOURCES, AlertType, Category, EventSubscription, FilteringRules, own_names
from tocsin.model.thread import RESOURCES as THREADS
from tocsin.model.thread import THREAD

_THREADS = frozenset({THREAD, *THREADS})
_WITH_ASSIGNEES = frozenset({ALL_RESOURCES, THREAD, "task"})
_WITH_MENTIONS = frozenset({ALL_RESOURCES, *_THREADS})
_COVERED = "all covers every resource"
_NO_TRIGGER = "None of the chosen triggers is for it, so none of its events match"
_NO_EVENT = "None of its events can match the chosen filters and triggers"


@dataclass(frozen=True)
class AlertSelection:
    """What a person has chosen so far for an alert.

    Attributes
    ----------
    resources : those that are selected, by their own names
    triggers : the names of the chosen triggers
    alert : an alert on the resources with the chosen filters and triggers
    """

    resources: tuple[str, ...]
    triggers: frozenset[str]
    alert: EventSubscription

    def can_match(self, resource: str) -> bool:
        """Return whether the chosen filters and triggers can match an event about a resource."""
        rules = self.alert.filtering_rules or FilteringRules(resources=())
        narrowed = rules.model_copy(update={"resources": (resource,)})
        return can_match(plan_of(self.alert.model_copy(update={"filtering_rules": narrowed})))


def selection_of(alert_type: AlertType, resources: Sequence[str], alert_input: Document) -> AlertSelection:
    """Return the selection of these resources, named in any case, and of the ``input`` of an alert.

    Raises
    ------
    InvalidInput : alerts of this type cannot be about one of them, or a filter or trigger is wrong
    """
    resource_names = [offer["name"] for offer in offers(alert_type)]
    for index, name in enumerate(own_names(resources)):
        if name not in resource_names:
            raise InvalidInput(
                f"unknown resource {name!r}; {suggestion_for(name, resource_names)}", field=f"sources[{index}]"
            )
    rules = with_rules({"resources": list(resources), "input": alert_input}, {})["filteringRules"]
    alert = {"id": "", "name": "", "fullyQualifiedName": "", "alertType": alert_type, "filteringRules": rules}
    triggers = frozenset(rule["name"] for rule in rules.get("actions", ()))
    return AlertSelection(own_names(resources), triggers, EventSubscription.model_validate(alert))


def capabilities_of(selection: AlertSelection) -> Document:
    """Return upstream's ``AlertCapabilities`` of a selection."""
    offered = offers(selection.alert.alert_type)
    selected = [offer for offer in offered if offer["name"] in selection.resources]
    return {
        "alertType": selection.alert.alert_type.value,
        "sources": [_source(offer, selection) for offer in offered],
        "filters": [row for row in _conditions(selected, "supportedFilters") if len(row["sources"]) == len(selected)],
        "triggers": list(_conditions(selected, "supportedActions")),
        "eventTypes": [
            kind.value for kind in EventType if any(can_produce(name, kind) for name in selection.resources)
        ],
        "recipientCategories": [one.value for one in Category if _reaches(one, selection.resources)],
    }


def _source(offer: Document, selection: AlertSelection) -> Document:
    name, is_selected = offer["name"], offer["name"] in selection.resources
    source: Document = {"name": name, "kind": _kind(name), "selected": is_selected}
    if is_selected:
        warning = _warning(offer, selection)
        return source if warning is None else source | {"warning": warning}
    if selection.resources and ALL_RESOURCES in (name, *selection.resources):
        return source | {"canJoin": False, "reason": _COVERED}
    return source | {"canJoin": True}


def _kind(name: str) -> str:
    if name == ALL_RESOURCES:
        return "all"
    return "activity" if name in _THREADS else "entity"


def _warning(offer: Document, selection: AlertSelection) -> str | None:
    """Return why no event about a selected resource can match; None if one can."""
    if selection.triggers and selection.triggers.isdisjoint(row["name"] for row in offer["supportedActions"]):
        return _NO_TRIGGER
    return None if selection.can_match(offer["name"]) else _NO_EVENT


def _conditions(selected: Sequence[Document], key: str) -> Iterator[Document]:
    """Yield each filter or trigger that a selected resource has, with the resources that have it."""
    conditions = {row["name"]: row for offer in selected for row in offer[key]}
    for name, row in conditions.items():
        having = [offer["name"] for offer in selected if any(one["name"] == name for one in offer[key])]
        yield {"condition": row, "sources": having}


def _reaches(category: Category, resources: Sequence[str]) -> bool:
    """Return whether a category has recipients in Tocsin for events about some of these resources."""
    match category:
        case Category.ASSIGNEES:
            return not _WITH_ASSIGNEES.isdisjoint(resources)
        case Category.MENTIONS:
            return not _WITH_MENTIONS.isdisjoint(resources)
        case _:
            return category is not Category.EXTERNAL and bool(resources)
