"""Validation and completion of alert requests: from the request body to the stored subscription document.

Takes upstream's create form (``resources``, ``input``) as well as the seed's (``filteringRules``); fills in defaults,
assigns ids to destinations, and reports each invalid part with its path and a valid alternative.
Next: ``server/routes/alerts/subscriptions.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from pydantic import ValidationError

from tocsin.conditions.paths import unquote
from tocsin.conditions.relations import team_of
from tocsin.errors import InvalidInput
from tocsin.flow.match.plan import Plan, plan_of
from tocsin.flow.match.plan_cost import PlanCost, check_cost, cost_of
from tocsin.flow.match.remarks import Remark
from tocsin.flow.resolve.recipient_rules import recipient_rules
from tocsin.flow.schedule.cron import check_new_schedule, check_schedule
from tocsin.model import shapes
from tocsin.model.address import masked_url
from tocsin.model.entity import Document
from tocsin.model.notification import ReasonKind
from tocsin.model.people import Person
from tocsin.model.phrases import suggestion_for
from tocsin.model.subscription import Destination, EventSubscription, GroupBy, Trigger, TriggerType, without_defaults
from tocsin.server.alerts.alert_types import check_alert_type
from tocsin.server.alerts.destinations import ReceiverNames, check_destination, check_secrets
from tocsin.server.alerts.event_types import check_event_types
from tocsin.server.alerts.named_filters import check_count, with_rules
from tocsin.server.alerts.offers import RESOURCES, remarks_on
from tocsin.server.alerts.unused_parts import unused_parts
from tocsin.server.http.errors import describe_validation
from tocsin.store.catalogue.alerts.masking import differing, holds_mask, split_secrets

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
_MOST_CONDITION_BYTES = 65_536
_UNDERSTOOD = frozenset(field.alias or name for name, field in EventSubscription.model_fields.items())
_PASSED_ON = frozenset({"className", "notificationTemplate", "config", "extension", "tags"})
_CREATE_ONLY = frozenset({"resources"})
_OURS = "id fullyQualifiedName version updatedAt updatedBy href changeDescription incrementalChangeDescription"
_WRITTEN_BY_US = frozenset({*_OURS.split(), "createdAtMs", "sinceOffset", "creatorId", "isOfAdministrators", "bots"})
_SETTABLE = (_UNDERSTOOD | _PASSED_ON) - _WRITTEN_BY_US
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PLACEHOLDER_ID = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True)
class Alert:
    """A subscription that may be stored: its document with masks, secrets by destination id, what is odd about it.

    ``cost`` is what its conditions cost the pipeline. ``needs_owner`` says that it asks something of the person behind
    a webhook or an address, and of whom it does not.
    """

    document: Document
    secrets: dict[str, Document]
    remarks: tuple[Remark, ...] = ()
    needs_owner: bool = False
    cost: PlanCost = field(default_factory=PlanCost)


def checked_alert(
    request: Document,
    *,
    before: Document | None,
    secrets: Callable[[], Mapping[str, Document]],
    names: ReceiverNames,
    new_id: Callable[[], str],
) -> Alert:
    """Return the validated alert of ``request``.

    ``before`` is the current document (None: there is none yet) and ``secrets`` returns its stored secrets by
    destination id: a destination keeps its id, and a mask its secret. Only a mask reads them.

    Raises
    ------
    WrongKey : a mask for a secret that was encrypted with a key which is not configured
    InvalidInput : something cannot work; the message says where and what would
    """
    document = _settable(request, before or {})
    stored = (before or {}).get("destinations", [])
    document["destinations"] = _with_ids(document["destinations"], stored, new_id)
    secrets_by_id: dict[str, Document] = {}
    for index, destination in enumerate(document["destinations"]):
        secrets_by_id[destination["id"]] = _mask(destination, secrets, index)
    _check_distinct(list(secrets_by_id.values()))
    subscription = _check(document, names)
    _check_timing(subscription, before or {})
    check_event_types(subscription, before or {})
    plan = plan_of(subscription)
    unused = unused_parts(subscription, document, is_personal=bool(plan.questions))
    needs_owner = _needs_owner(subscription, document)
    return Alert(document, secrets_by_id, (*remarks_on(subscription), *unused), needs_owner, cost_of(plan))


def changed_secrets(alert: Alert, before: Document, stored: Mapping[str, Document]) -> dict[str, str]:
    """Return where secrets in ``alert`` differ from the ``stored`` ones of a destination it had before, with its id."""
    had = {destination["id"] for destination in before.get("destinations", ())}
    return {
        f"destinations[{index}].config.{'.'.join(place)}": destination["id"]
        for index, destination in enumerate(alert.document["destinations"])
        if destination["id"] in had
        for place in differing(alert.secrets.get(destination["id"], {}), stored.get(destination["id"], {}))
    }


def _needs_owner(subscription: EventSubscription, document: Document) -> bool:
    rules = recipient_rules(subscription, plan_of(subscription).questions)
    return not document.get("owners") and any(one.questions and one.relation is ReasonKind.EXTERNAL for one in rules)


def checked_destination(document: object, names: ReceiverNames) -> Destination:
    """Return one destination that is to be tried, its secrets in clear, if it can work.

    Raises
    ------
    InvalidInput : it cannot; the message says why
    """
    if not isinstance(document, dict):
        raise InvalidInput("must be an object", field="destination")
    plain = {key: value for key, value in document.items() if key not in ("statusDetails", "id") and value is not None}
    if isinstance(plain.get("config"), dict):
        split_secrets(plain["config"], {})  # refuses a mask: nothing is stored for a trial
    try:
        destination = Destination.model_validate_json(json.dumps({**plain, "id": _PLACEHOLDER_ID}), strict=True)
    except ValidationError as error:
        raise InvalidInput(describe_validation(error.errors(), Destination), field="destination") from error
    check_destination(destination, names, "destination")
    return destination


def readable(request: Document) -> EventSubscription:
    """Return the alert of ``request``, as the pipeline will read it, with every check that needs no catalogue.

    The people and assets it names are assumed to exist.

    Raises
    ------
    InvalidInput : something cannot work; the message says where and what would
    """
    document = _settable(request, {})
    document["destinations"] = _with_ids(document["destinations"], (), lambda: str(uuid4()))
    subscription = _check(document, _Anybody())
    _check_timing(subscription, {})
    check_event_types(subscription, {})
    return subscription


class _Anybody:
    """Names that accept every person, for validation without a catalogue (``ReceiverNames``)."""

    def by_name(self, name: str) -> Person:
        return Person("", name)

    def team_exists(self, _name: str) -> bool:
        return True


def _settable(request: Document, before: Document) -> Document:
    unknown = sorted(set(request) - _SETTABLE - _WRITTEN_BY_US - _CREATE_ONLY)
    if unknown:
        raise InvalidInput(f"unknown key; {suggestion_for(unknown[0], sorted(_SETTABLE))}", field=unknown[0])
    _check_provider(request, before)
    request = with_rules(request, before)
    document = {**DEFAULTS, **{key: value for key, value in request.items() if key in _SETTABLE and value is not None}}
    document["provider"] = before.get("provider", "user")
    if not isinstance(document["destinations"], list) or len(document["destinations"]) > _MOST_DESTINATIONS:
        raise InvalidInput(f"must be a list of at most {_MOST_DESTINATIONS} destinations", field="destinations")
    return document


def _check_provider(request: Document, before: Document) -> None:
    provider = before.get("provider", "user")
    if request.get("provider") not in (None, provider):
        providers = ", ".join(shapes.enumeration("eventsubscription", "provider"))
        raise InvalidInput(f"is {provider} and cannot be changed (of {providers})", field="provider")


def _check_rules(subscription: EventSubscription) -> None:
    """Refuse arguments of rules, which conditions contain already, and names that rules do not have."""
    rules = subscription.filtering_rules
    for key in ("rules", "actions") if rules else ():
        for index, rule in enumerate(getattr(rules, key)):
            place = f"filteringRules.{key}[{index}]"
            if rule.arguments:
                message = "write them into the condition, or send a named filter as input"
                raise InvalidInput(message, field=f"{place}.arguments")
            if rule.input_type == "runtime":
                raise InvalidInput("must be static or none: a rule's condition is whole", field=f"{place}.inputType")
            if rule.fully_qualified_name not in (None, f"eventSubscription.{rule.name}"):
                raise InvalidInput(
                    f"must be eventSubscription.{rule.name}, or omitted", field=f"{place}.fullyQualifiedName"
                )


def _with_ids(destinations: Sequence[object], stored: Sequence[Document], new_id: Callable[[], str]) -> list[Document]:
    """Give every destination an id: its own, that of the stored one it repeats, or a new one."""
    free = list(stored)
    completed: list[Document] = []
    for index, destination in enumerate(destinations):
        if not isinstance(destination, dict):
            raise InvalidInput("must be an object", field=f"destinations[{index}]")
        plain = {key: value for key, value in destination.items() if key != "statusDetails" and value is not None}
        plain = _with_plain_receivers(plain)
        same = next((one for one in free if _is_same(plain, one)), None)
        if same is not None:
            free.remove(same)
        plain = without_defaults(plain, same)
        completed.append({**plain, "id": plain.get("id") or (same["id"] if same else new_id())})
    _check_ids([one["id"] for one in completed])
    return completed


def _with_plain_receivers(destination: Document) -> Document:
    """Return a destination whose receivers are names, where it names people and teams by FQN: ``"dana.whitlock"``."""
    config = destination.get("config")
    if not isinstance(config, dict) or not isinstance(receivers := config.get("receivers"), list):
        return destination
    names = [unquote(one) if isinstance(one, str) else one for one in receivers]
    return {**destination, "config": {**config, "receivers": names}}


def _check_ids(ids: Sequence[object]) -> None:
    for index, destination_id in enumerate(ids):
        if not isinstance(destination_id, str) or not _ID.fullmatch(destination_id):
            raise InvalidInput("must be a UUID; omit it to have one assigned", field=f"destinations[{index}].id")
    if len(set(ids)) < len(ids):
        raise InvalidInput("two destinations have the same id", field="destinations")


def _is_same(destination: Document, stored: Document) -> bool:
    if "id" in destination:
        return bool(destination["id"] == stored["id"])
    return _goal(destination) == _goal(stored)


def _goal(destination: Document) -> tuple[object, ...]:
    config = destination.get("config")
    config = config if isinstance(config, dict) else {}
    endpoint = config.get("endpoint")
    masked_endpoint = masked_url(endpoint, with_path=True) if isinstance(endpoint, str) else endpoint
    return (
        destination.get("category"),
        destination.get("type"),
        masked_endpoint,
        config.get("channel"),
        config.get("receivers"),
    )


def _mask(destination: Document, secrets: Callable[[], Mapping[str, Document]], index: int) -> Document:
    """Put masks into the destination's configuration and return the secrets they replace."""
    config = destination.get("config")
    if not isinstance(config, dict):
        return {}
    stored_secrets = secrets().get(str(destination["id"]), {}) if holds_mask(config) else {}
    try:
        destination["config"], new_secrets = split_secrets(config, stored_secrets)
    except InvalidInput as error:
        raise InvalidInput(error.message, field=f"destinations[{index}].config.{error.field}") from error
    check_secrets(new_secrets, f"destinations[{index}].config")
    return new_secrets


def _check_distinct(secrets: Sequence[Document]) -> None:
    """Reject two webhooks with the same visible part of the address: nothing else could distinguish them."""
    index_by_endpoint: dict[str, int] = {}
    for index, own_secrets in enumerate(secrets):
        endpoint = own_secrets.get("endpoint")
        if endpoint is None or masked_url(endpoint, with_path=True) == endpoint:
            continue
        if endpoint in index_by_endpoint:
            message = f"has the same endpoint as destinations[{index_by_endpoint[endpoint]}]; remove one of them"
            raise InvalidInput(message, field=f"destinations[{index}].config.endpoint")
        index_by_endpoint[endpoint] = index


def _check(document: Document, names: ReceiverNames) -> EventSubscription:
    """Return the document as the pipeline will read it, if everything in it can work."""
    name = document.get("name")
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST_NAME:
        raise InvalidInput(f"an alert needs a name of 1 to {_LONGEST_NAME} characters", field="name")
    _check_amount(document["filteringRules"])
    subscription = _model(document, name)
    for key, (least, greatest) in _BOUNDS.items():
        if not least <= document[key] <= greatest:
            raise InvalidInput(f"must be between {least} and {greatest}", field=key)
    _check_trigger(subscription.trigger)
    _check_resources(subscription)
    check_alert_type(subscription)
    _check_rules(subscription)
    plan = plan_of(subscription)  # parses and checks every condition
    check_cost(plan)
    _check_grouping(subscription.trigger, plan)
    for team in filter(None, map(team_of, plan.questions)):
        if not names.team_exists(team):
            raise InvalidInput(f"unknown team {team!r}", field="filteringRules")
    for index, destination in enumerate(subscription.destinations):
        check_destination(destination, names, f"destinations[{index}]", is_personal=bool(plan.questions))
    return subscription


def _check_timing(subscription: EventSubscription, before: Document) -> None:
    check_new_schedule(subscription.trigger, (before.get("trigger") or {}).get("cronExpression"))
    _check_interval(subscription, before)


def _check_trigger(trigger: Trigger) -> None:
    check_schedule(trigger)
    is_scheduled = trigger.trigger_type is TriggerType.SCHEDULED
    if is_scheduled and trigger.group_by is not None:
        raise InvalidInput("is only for RealTime triggers", field="trigger.groupBy")
    if not is_scheduled and trigger.timezone is not None:
        raise InvalidInput("is only for the times of a Scheduled trigger", field="trigger.timezone")


def _check_interval(subscription: EventSubscription, before: Document) -> None:
    """Refuse an interval beside a schedule, except upstream's defaults and what an older Tocsin has stored."""
    if subscription.trigger.trigger_type is not TriggerType.SCHEDULED:
        return
    was_scheduled = before.get("trigger", {}).get("triggerType") == TriggerType.SCHEDULED.value
    accepted = {*_UPSTREAMS_INTERVALS, *([before.get("pollInterval")] if was_scheduled else [])}
    if subscription.poll_interval not in accepted:
        message = "is only for RealTime triggers; omit it (the defaults 60 and 10 are accepted)"
        raise InvalidInput(message, field="pollInterval")


def _check_grouping(trigger: Trigger, plan: Plan) -> None:
    if trigger.group_by is GroupBy.LINEAGE_ROOT and not plan.opens_incidents:
        says = (
            "lineageRoot gathers failures under incidents: it needs alertType Observability or a condition on results"
        )
        raise InvalidInput(says, field="trigger.groupBy")


def _check_amount(rules: object) -> None:
    """Reject more rules and conditions than can be planned in a moment."""
    size = 0
    for key in ("rules", "actions"):
        entries = rules.get(key) if isinstance(rules, dict) else None
        if isinstance(entries, list):
            check_count(entries, f"filteringRules.{key}")
            size += sum(len(str(one.get("condition"))) for one in entries if isinstance(one, dict))
    if size > _MOST_CONDITION_BYTES:
        raise InvalidInput(
            f"the conditions have {size} characters; an alert may have at most {_MOST_CONDITION_BYTES}",
            field="filteringRules",
        )


def _model(document: Document, name: str) -> EventSubscription:
    """Return the document as the pipeline will read it; references may still lack what the catalogue fills in."""
    fields = {
        key: value
        for key, value in document.items()
        if key not in _PASSED_ON | {"owners", "domains", "triggers", "dependsOn"}
    }
    written = json.dumps({**fields, "id": _PLACEHOLDER_ID, "fullyQualifiedName": name})
    try:
        return EventSubscription.model_validate_json(written, strict=True)  # strict: "yes" is not true, "5" no number
    except ValidationError as error:
        raise InvalidInput(describe_validation(error.errors(), EventSubscription)) from error


def _check_resources(subscription: EventSubscription) -> None:
    rules = subscription.filtering_rules
    for index, resource in enumerate(rules.resources if rules else ()):
        if resource not in RESOURCES:
            place = f"filteringRules.resources[{index}]"
            raise InvalidInput(f"unknown resource {resource!r}; {suggestion_for(resource, RESOURCES)}", field=place)
