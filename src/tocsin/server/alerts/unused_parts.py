"""Remarks on parts of an alert that OpenMetadata's schema has and that have no effect on this alert.

They are kept and shown. Source: seeds/001 "Schema Specifications". Next: ``server/alerts/request.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic.alias_generators import to_camel

from tocsin.flow.match.remarks import Remark, RemarkKind
from tocsin.flow.resolve.recipient_rules import has_no_receiver
from tocsin.model.entity import Document
from tocsin.model.subscription import Category, Destination, EventSubscription, ScheduleFrequency, Trigger, TriggerType
from tocsin.server.alerts.destinations import WITHOUT_REQUESTS

_MEANINGLESS = ("className", "config")
"""Keys of alerts that only OpenMetadata's own server reads."""
_TIMEOUTS = ("timeout", "read_timeout")


def unused_parts(subscription: EventSubscription, document: Document, *, is_personal: bool) -> Iterator[Remark]:
    """Yield a remark for each part of an alert that has no effect; ``is_personal``: its condition is on recipients."""
    for key in _MEANINGLESS:
        if document.get(key):
            yield _remark(key, "only OpenMetadata's own server reads it")
    yield from _of_trigger(subscription.trigger)
    for index, destination in enumerate(subscription.destinations):
        yield from _of_destination(destination, f"destinations[{index}]", is_personal=is_personal)


def _of_trigger(trigger: Trigger) -> Iterator[Remark]:
    if trigger.trigger_type is TriggerType.SCHEDULED:
        return
    if trigger.cron_expression is not None:
        yield _remark("trigger.cronExpression", "it is for Scheduled triggers")
    if trigger.schedule_info not in (None, ScheduleFrequency.WEEKLY):  # the schema's default, in exports
        yield _remark("trigger.scheduleInfo", "it is for Scheduled triggers")


def _of_destination(destination: Destination, place: str, *, is_personal: bool) -> Iterator[Remark]:
    for key in _TIMEOUTS if destination.type in WITHOUT_REQUESTS else ():
        if getattr(destination, key) != Destination.model_fields[key].default:
            yield _remark(f"{place}.{to_camel(key)}", f"{destination.type} destinations make no requests")
    if not destination.notify_downstream:
        if destination.downstream_depth is not None:
            yield _remark(f"{place}.downstreamDepth", "it needs notifyDownstream: true")
    elif not _notifies_downstream(destination, is_personal=is_personal):
        why = "it is for owners and followers: category Owners or Followers, sendToOwners or sendToFollowers"
        yield _remark(f"{place}.notifyDownstream", why)


def _notifies_downstream(destination: Destination, *, is_personal: bool) -> bool:
    config, along = destination.config, (Category.OWNERS, Category.FOLLOWERS)
    by_condition = is_personal and destination.category is Category.USERS and has_no_receiver(destination)
    return destination.category in along or config.send_to_owners or config.send_to_followers or by_condition


def _remark(field: str, why: str) -> Remark:
    return Remark(RemarkKind.NO_EFFECT, f"{field} has no effect: {why}", field)
