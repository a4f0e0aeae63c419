"""One pass over an alert request: parse, check, normalize, plan; the result is the subscription that may be stored.

Takes upstream's create form (``resources``, ``input``) as well as the seed's (``filteringRules``); fills in defaults,
assigns ids to destinations, and reports each invalid part with its path and a valid alternative. It reads nothing:
``server/alerts/facts.py`` reads which names exist. Next: ``server/routes/alerts/subscriptions.py``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import uuid4

from pydantic import ValidationError

from tocsin.alerts.destinations import (
    Receivers,
    check_destination,
    check_destination_names,
    complete_destinations,
    split_off_secrets,
)
from tocsin.alerts.expiry import EXPIRES, expiry_ms
from tocsin.alerts.named_filters import with_rules
from tocsin.alerts.private import check_private
from tocsin.alerts.remarks import remarks_on
from tocsin.alerts.rules import check_alert_type, check_amount, check_event_types, check_rules
from tocsin.alerts.saved_searches import SEARCH, with_search_rules
from tocsin.conditions.relations import team_of
from tocsin.delivery.channels.masking import changed_secret_paths, split_secrets
from tocsin.errors import InvalidInput
from tocsin.flow.match.plan import Plan, plan_of
from tocsin.flow.match.plan_cost import PlanCost, check_cost
from tocsin.flow.match.remarks import Remark
from tocsin.flow.resolve.recipient_rules import recipient_rules
from tocsin.flow.schedule.check_times import check_spacing
from tocsin.flow.schedule.cron import check_new_schedule, check_schedule
from tocsin.flow.schedule.wall_clock import check_zone
from tocsin.model import shapes
from tocsin.model.entity import Document
from tocsin.model.notification import ReasonKind
from tocsin.model.phrases import suggestion_for
from tocsin.model.runbook import check_runbook
from tocsin.model.subscription import Destination, EventSubscription, GroupBy, TriggerType
from tocsin.model.validation_errors import describe_validation

# The seed's defaults; upstream's create request says 10 and 10, its entity 100 and 60 as the seed does.
DEFAULTS: Document = {
    "enabled": True,
    "batchSize": 100,
    "retries": 3,
    "pollInterval": 60,
    "trigger": {"triggerType": "RealTime"},
    "destinations": [],
}

_BOUNDS = {"batchSize": (1, 10_000), "retries": (0, 100), "pollInterval": (0, 86_400)}
_UPSTREAMS_INTERVALS = (60, 10)
"""What OpenMetadata's entity and create request send as ``pollInterval`` unless told otherwise."""

_LONGEST_NAME = 256
_MOST_DESTINATIONS = 100
_MOST_TOLD = 50
"""Mistakes of shape that are told of one alert: files of alerts are mended in one go."""
_UNDERSTOOD = frozenset(field.alias or name for name, field in EventSubscription.model_fields.items())
_PASSED_ON = frozenset({"className", "notificationTemplate", "config", "extension", "tags"})
_CREATE_ONLY = frozenset({"resources"})
_OURS = "id fullyQualifiedName version updatedAt updatedBy href changeDescription incrementalChangeDescription"
_WRITTEN_BY_US = frozenset({*_OURS.split(), "createdAtMs", "sinceOffset", "creatorId", "isOfAdministrators", "bots"})
_SETTABLE = (_UNDERSTOOD | _PASSED_ON) - _WRITTEN_BY_US
_BY_REFERENCE = frozenset({"owners", "domains", "triggers", "dependsOn"})
"""Keys whose references the catalogue completes."""
_PLACEHOLDER_ID = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True)
class AlertDraft:
    """An alert request that is right by itself; whether the people and teams that it names exist is not known yet.

    ``document`` holds masks in place of ``secrets``, which are by destination id. ``before`` is the document that it
    replaces, empty if there is none. ``names`` are those of users and teams to which it refers.
    """

    document: Document
    secrets: dict[str, Document]
    before: Document
    subscription: EventSubscription
    plan: Plan
    cost: PlanCost
    names: frozenset[str]


@dataclass(frozen=True)
class Alert:
    """A subscription that may be stored: its document with masks, secrets by destination id, what is odd about it.

    ``cost`` is what its conditions cost the pipeline, ``resources`` what it is about, by their own names.
    ``needs_owner``: it has no owner, and expires, tells its owner only, or has conditions on the recipient for a
    webhook or an address, which are evaluated for its owner.
    """

    document: Document
    secrets: dict[str, Document]
    subscription: EventSubscription
    plan: Plan
    cost: PlanCost
    resources: tuple[str, ...]
    remarks: tuple[Remark, ...]
    needs_owner: bool


def parse_alert(
    request: Document,
    *,
    before: Document | None,
    secrets: Callable[[], Mapping[str, Document]] | None,
    new_id: Callable[[], str],
) -> AlertDraft:
    """Return the alert of ``request`` with its plan, after every check that needs no catalogue.

    ``before`` is the current document (None: there is none yet) and ``secrets`` returns its stored secrets by
    destination id: a destination keeps its id, and a mask its secret. Only a mask reads them.

    Raises
    ------
    WrongKey : a mask for a secret that was encrypted with a key which is not configured
    InvalidInput : something cannot work; the message says where and what would
    """
    stored_alert = before or {}
    document = _normalize(request, stored_alert)
    document["destinations"] = complete_destinations(
        document["destinations"], stored_alert.get("destinations", ()), new_id
    )
    new_secrets = split_off_secrets(document["destinations"], secrets)
    subscription = _subscription_of(document)
    if any(destination.name for destination in subscription.destinations):
        check_destination_names(subscription.destinations)
    check_alert_type(subscription)
    check_rules(subscription)
    if subscription.to_me_only:
        check_private(subscription, document)
    plan = plan_of(subscription)  # parses and checks every condition
    cost = check_cost(plan)
    if subscription.trigger.group_by is GroupBy.LINEAGE_ROOT and not plan.opens_incidents:
        says = (
            "lineageRoot gathers failures under incidents: it needs alertType Observability or a condition on results"
        )
        raise InvalidInput(says, field="trigger.groupBy")
    names = {name for one in subscription.destinations for name in one.config.receivers if "@" not in name}
    names.update(filter(None, map(team_of, plan.questions)))
    return AlertDraft(document, new_secrets, stored_alert, subscription, plan, cost, frozenset(names))


def check_alert(draft: AlertDraft, receivers: Receivers | None) -> Alert:
    """Return the alert of a draft, if it can work; ``receivers`` are the users and teams that it names.

    Without ``receivers`` all of them exist.

    Raises
    ------
    InvalidInput : something cannot work; the message says where and what would
    """
    subscription, plan, before = draft.subscription, draft.plan, draft.before
    is_personal = bool(plan.questions) or subscription.to_me_only
    for team in filter(None, map(team_of, plan.questions)):
        if receivers is not None and team not in receivers.teams:
            raise InvalidInput(f"unknown team {team!r}", field="filteringRules")
    for index, destination in enumerate(subscription.destinations):
        check_destination(destination, receivers, f"destinations[{index}]", is_personal=is_personal)
    if subscription.trigger.trigger_type is TriggerType.SCHEDULED:
        _check_timing(subscription, before)
        if plan.states and (before.get("trigger") or {}).get("cronExpression") != subscription.trigger.cron_expression:
            check_spacing(subscription.trigger)
    check_event_types(subscription, plan, before)
    return Alert(
        draft.document,
        draft.secrets,
        subscription,
        plan,
        draft.cost,
        resources=subscription.filtering_rules.resources if subscription.filtering_rules else (),
        remarks=remarks_on(subscription, plan, draft.document),
        needs_owner=not draft.document.get("owners")
        and (
            subscription.expires is not None
            or subscription.to_me_only
            or (bool(plan.questions) and _asks_outside(subscription, plan))
        ),
    )


def readable(request: Document) -> Alert:
    """Return the alert of ``request``, as the pipeline will read it, with every check that needs no catalogue.

    The people and assets it names are assumed to exist.

    Raises
    ------
    InvalidInput : something cannot work; the message says where and what would
    """
    return check_alert(parse_alert(request, before=None, secrets=None, new_id=lambda: str(uuid4())), None)


def parse_destination(document: object) -> Destination:
    """Return one destination that is to be tried, its secrets in clear, without a check of what it says.

    Raises
    ------
    InvalidInput : it is none; the message says why
    """
    if not isinstance(document, dict):
        raise InvalidInput("must be an object", field="destination")
    plain = {key: value for key, value in document.items() if key not in ("statusDetails", "id") and value is not None}
    if isinstance(plain.get("config"), dict):
        split_secrets(plain["config"], {})  # refuses a mask: nothing is stored for a trial
    try:
        return Destination.model_validate_json(json.dumps({**plain, "id": _PLACEHOLDER_ID}), strict=True)
    except ValidationError as error:
        raise InvalidInput(describe_validation(error.errors(), Destination), field="destination") from error


def changed_secrets(alert: Alert, before: Document, stored: Mapping[str, Document]) -> dict[str, str]:
    """Return where secrets in ``alert`` differ from the ``stored`` ones of a destination it had before, with its id."""
    had = {destination["id"] for destination in before.get("destinations", ())}
    return {
        f"destinations[{index}].config.{'.'.join(place)}": destination["id"]
        for index, destination in enumerate(alert.document["destinations"])
        if destination["id"] in had
        for place in changed_secret_paths(alert.secrets.get(destination["id"], {}), stored.get(destination["id"], {}))
    }


def _normalize(request: Document, before: Document) -> Document:
    """Return the keys of a request that may be set, with defaults, and its named filters as rules."""
    unknown = sorted(set(request) - _SETTABLE - _WRITTEN_BY_US - _CREATE_ONLY)
    if unknown:
        raise InvalidInput(f"unknown key; {suggestion_for(unknown[0], sorted(_SETTABLE))}", field=unknown[0])
    provider = before.get("provider", "user")
    if request.get("provider") not in (None, provider):
        providers = ", ".join(shapes.enumeration("eventsubscription", "provider"))
        raise InvalidInput(f"is {provider} and cannot be changed (of {providers})", field="provider")
    if SEARCH in request:
        request = with_search_rules(request, before)
    request = with_rules(request, before)
    document = {**DEFAULTS, **{key: value for key, value in request.items() if key in _SETTABLE and value is not None}}
    document["provider"] = provider
    if EXPIRES in document:
        document[EXPIRES] = expiry_ms(document[EXPIRES])
    if not isinstance(document["destinations"], list) or len(document["destinations"]) > _MOST_DESTINATIONS:
        raise InvalidInput(f"must be a list of at most {_MOST_DESTINATIONS} destinations", field="destinations")
    return document


def _subscription_of(document: Document) -> EventSubscription:
    """Return the document as the pipeline will read it; references may still lack what the catalogue fills in."""
    name = document.get("name")
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST_NAME:
        raise InvalidInput(f"an alert needs a name of 1 to {_LONGEST_NAME} characters", field="name")
    check_amount(document["filteringRules"])
    fields = {key: value for key, value in document.items() if key not in _PASSED_ON | _BY_REFERENCE}
    text = json.dumps({**fields, "id": _PLACEHOLDER_ID, "fullyQualifiedName": name})
    try:  # strict: "yes" is not true, "5" no number
        subscription = EventSubscription.model_validate_json(text, strict=True)
    except ValidationError as error:
        raise InvalidInput(describe_validation(error.errors(), EventSubscription, limit=_MOST_TOLD)) from error
    for key, (least, greatest) in _BOUNDS.items():
        if not least <= document[key] <= greatest:
            raise InvalidInput(f"must be between {least} and {greatest}", field=key)
    if subscription.runbook is not None:
        check_runbook(subscription.runbook)
    trigger = subscription.trigger
    if trigger.trigger_type is TriggerType.SCHEDULED:
        check_schedule(trigger)
        if trigger.group_by is not None:
            raise InvalidInput("is only for RealTime triggers", field="trigger.groupBy")
    elif trigger.timezone is not None:
        check_zone(trigger.timezone, field="trigger.timezone")
    return subscription


def _check_timing(subscription: EventSubscription, before: Document) -> None:
    """Refuse a schedule that is not standard, and an interval beside it; what an older Tocsin has stored may stay.

    Upstream's default intervals are accepted.
    """
    stored_trigger = before.get("trigger") or {}
    check_new_schedule(subscription.trigger, stored_trigger)
    was_scheduled = stored_trigger.get("triggerType") == TriggerType.SCHEDULED.value
    accepted = {*_UPSTREAMS_INTERVALS, *([before.get("pollInterval")] if was_scheduled else [])}
    if subscription.poll_interval not in accepted:
        message = "is only for RealTime triggers; omit it (the defaults 60 and 10 are accepted)"
        raise InvalidInput(message, field="pollInterval")


def _asks_outside(subscription: EventSubscription, plan: Plan) -> bool:
    """Return whether an alert asks its questions of who is behind a webhook or an address."""
    rules = recipient_rules(subscription, plan.questions)
    return any(one.questions and one.relation is ReasonKind.EXTERNAL for one in rules)
