"""Remarks on an alert that may be saved: conditions that may mean something else, and parts that have no effect.

What has no effect is kept and shown. Source: seeds/001 "Schema Specifications". Next: ``alerts/request.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic.alias_generators import to_camel

from tocsin.alerts.filters import FILTERS
from tocsin.alerts.offers import offered_names
from tocsin.delivery.channels.configuration import WITHOUT_REQUESTS
from tocsin.flow.match.plan import Plan
from tocsin.flow.match.remarks import Remark, RemarkKind, of_alert
from tocsin.model.entity import Document
from tocsin.model.subscription import Category, Destination, EventSubscription, ScheduleFrequency, TriggerType

_MEANINGLESS = ("className", "config")
"""Keys of alerts that only OpenMetadata's own server reads."""
_TIMEOUTS = ("timeout", "read_timeout")


def remarks_on(subscription: EventSubscription, plan: Plan, document: Document) -> tuple[Remark, ...]:
    """Return the remarks on an alert: on its conditions, on its named filters, and on parts without effect."""
    remarks = [*of_alert(subscription, plan)]
    if subscription.input:
        remarks += _not_offered(subscription)
    remarks += [_remark(key, "only OpenMetadata's own server reads it") for key in _MEANINGLESS if document.get(key)]
    trigger = subscription.trigger
    if trigger.trigger_type is not TriggerType.SCHEDULED:
        if trigger.cron_expression is not None:
            remarks.append(_remark("trigger.cronExpression", "it is for Scheduled triggers"))
        if trigger.schedule_info not in (None, ScheduleFrequency.WEEKLY):  # the schema's default, in exports
            remarks.append(_remark("trigger.scheduleInfo", "it is for Scheduled triggers"))
    for index, destination in enumerate(subscription.destinations):
        place = f"destinations[{index}]"
        remarks += [
            _remark(f"{place}.{to_camel(key)}", f"{destination.type} destinations make no requests")
            for key in (_TIMEOUTS if destination.type in WITHOUT_REQUESTS else ())
            if getattr(destination, key) != Destination.model_fields[key].default
        ]
        if destination.notify_downstream or destination.downstream_depth is not None:
            remarks += _remarks_on_downstream(destination, place, is_personal=bool(plan.questions))
    return tuple(remarks)


def _not_offered(subscription: EventSubscription) -> Iterator[Remark]:
    """Yield each filter and action that the alert names and that none of its resources offers."""
    filtering, alert_input = subscription.filtering_rules, subscription.input or {}
    resources = filtering.resources if filtering else ()
    names_by_list = offered_names(subscription.alert_type, resources)
    for key, offered in zip(("filters", "actions"), names_by_list, strict=True):
        entries = alert_input.get(key)
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            name = entry.get("name") if isinstance(entry, dict) else None
            if name in FILTERS and name not in offered and resources:
                says = (
                    f"{key[:-1]} {name} is not available for {', '.join(resources)}, so the condition may never be true"
                )
                yield Remark(RemarkKind.NOT_OFFERED, says, f"input.{key}[{index}].name")


def _remarks_on_downstream(destination: Destination, place: str, *, is_personal: bool) -> Iterator[Remark]:
    """Yield a remark if a destination asks in vain for recipients along lineage.

    ``is_personal``: the condition of the alert is on recipients.
    """
    config, along = destination.config, (Category.OWNERS, Category.FOLLOWERS)
    by_condition = is_personal and destination.category is Category.USERS and destination.has_no_receiver
    if not destination.notify_downstream:
        yield _remark(f"{place}.downstreamDepth", "it needs notifyDownstream: true")
    elif not (destination.category in along or config.send_to_owners or config.send_to_followers or by_condition):
        why = "it is for owners and followers: category Owners or Followers, sendToOwners or sendToFollowers"
        yield _remark(f"{place}.notifyDownstream", why)


def _remark(field: str, why: str) -> Remark:
    return Remark(RemarkKind.NO_EFFECT, f"{field} has no effect: {why}", field)
