"""Quotas per person: test sends, alerts, destinations, receivers, external addresses.

Administrators are limited only in the number of test sends; what they write is allowed by that.
Next: ``server/routes/alerts/subscriptions.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import ValidationError

from tocsin.errors import Forbidden, InvalidInput, TooManyRequests
from tocsin.flow.match.plan import plan_of
from tocsin.flow.match.plan_cost import PER_PERSON, PlanCost, cost_of, total
from tocsin.model.entity import Document
from tocsin.model.mentions import mentions_in
from tocsin.model.subscription import Destination
from tocsin.server.alerts.trial import trial_targets
from tocsin.server.http.request import Caller
from tocsin.store.catalogue.alerts.subscriptions import alert_of

_SECONDS_PER_MINUTE = 60
_QUOTAS = {
    "trial": "test messages (trial_messages_per_hour)",
    "alert": "new alerts (alerts_per_hour)",
    "post": "threads, posts and mentions (posts_per_hour)",
}


def count_alert(caller: Caller) -> None:
    """Count one more alert of the caller's.

    Raises
    ------
    Forbidden : they have as many as one person may
    TooManyRequests : they have made as many in this hour
    """
    if caller.actor.is_admin:
        return
    limit = caller.parts.settings.alerts_per_person
    if len(caller.parts.subscriptions.alerts_made_by(caller.actor.id)) >= limit:
        raise Forbidden(f"You have created {limit} alerts, the maximum (alerts_per_person); delete one first.")
    _take(caller, "alert", 1, caller.parts.settings.alerts_per_hour)


def own_address(caller: Caller) -> str | None:
    """Return the caller's e-mail address, if they have one: a test that has no other recipient goes there."""
    person = caller.parts.people.by_id(caller.actor.id)
    return person.email if person else None


def count_trials(destinations: Sequence[Destination], caller: Caller) -> None:
    """Count the messages of a trial; raise ``TooManyRequests`` where they are too many in this hour."""
    asker = own_address(caller)
    messages = [name for one in destinations for name in trial_targets(one, asker)]
    if messages:
        _take(caller, "trial", len(messages), caller.parts.settings.trial_messages_per_hour)


def count_repeated(caller: Caller) -> None:
    """Count a message that is sent again although it was delivered, as a test message is counted."""
    _take(caller, "trial", 1, caller.parts.settings.trial_messages_per_hour)


def count_post(texts: Iterable[object], caller: Caller) -> None:
    """Count a thread or post and its mentions; raise ``TooManyRequests`` above the hourly limit."""
    if not (caller.actor.is_admin or caller.actor.is_bot):
        _take(caller, "post", 1 + len(mentions_in(*texts)), caller.parts.settings.posts_per_hour)


def check_quotas(document: Document, before: Document | None, caller: Caller) -> None:
    """Reject more destinations or receivers than allowed, and addresses that are not allowed.

    Existing ones may stay.

    Raises
    ------
    InvalidInput : with the place, the setting and the way out
    """
    if caller.actor.is_admin:
        return
    settings, old_destinations = caller.parts.settings, (before or {}).get("destinations") or []
    destinations = document.get("destinations") or []
    if len(destinations) > max(settings.destinations_per_alert, len(old_destinations)):
        limit = settings.destinations_per_alert
        raise InvalidInput(
            f"must have at most {limit} entries (destinations_per_alert); ask an administrator", field="destinations"
        )
    _check_external(destinations, before or {}, caller)
    stood = {receiver.lower() for one in old_destinations for receiver in _receivers(one)}
    for index, destination in enumerate(destinations):
        new = [one for one in _receivers(destination) if one.lower() not in stood]
        _check_receivers(new, _receivers(destination), f"destinations[{index}].config.receivers", caller)


def _check_external(destinations: Sequence[Document], before: Document, caller: Caller) -> None:
    """Refuse more destinations outside, over all alerts that the caller has made, than one person may have."""
    if _external_count(destinations) <= _external_count(before.get("destinations") or ()):
        return
    limit = caller.parts.settings.external_destinations_per_person
    own_alerts = caller.parts.subscriptions.alerts_made_by(caller.actor.id)
    other_count = sum(
        _external_count(alert.get("destinations") or ()) for key, alert in own_alerts.items() if key != before.get("id")
    )
    if other_count + _external_count(destinations) > limit:
        raise InvalidInput(
            f"{other_count} of your other destinations are already External; the maximum per person is {limit}"
            " (external_destinations_per_person); ask an administrator",
            field="destinations",
        )


def check_cost_quota(document: Document, cost: PlanCost, before: Document | None, caller: Caller) -> None:
    """Refuse an alert with which the conditions of all that the caller has made cost more than one person's may.

    Disabled alerts cost nothing; conditions that stay as they are may stay.

    Raises
    ------
    InvalidInput : with the amount and the way out
    """
    stored = before or {}
    is_old = stored.get("enabled") and _conditions(document) == _conditions(stored)
    if caller.actor.is_admin or is_old or not document.get("enabled"):
        return
    own_alerts = caller.parts.subscriptions.alerts_made_by(caller.actor.id)
    other_costs = (_cost(one) for key, one in own_alerts.items() if key != stored.get("id") and one.get("enabled"))
    excess = PER_PERSON.excess(total([*filter(None, other_costs), cost]))
    if excess is not None:
        raise InvalidInput(f"{excess} Or disable one of them, or ask an administrator.", field="filteringRules")


def _conditions(document: Document) -> tuple[object, object]:
    return document.get("filteringRules"), document.get("trigger")


def _cost(document: Document) -> PlanCost | None:
    try:
        return cost_of(plan_of(alert_of(document)))
    except (InvalidInput, ValidationError):  # an older Tocsin stored it; it is not matched
        return None


def _external_count(destinations: Sequence[Document]) -> int:
    return sum(one.get("category") == "External" for one in destinations)


def check_trial(destination: Destination, caller: Caller) -> None:
    """Refuse to try a destination that the caller might not put into an alert.

    Raises
    ------
    InvalidInput : with the place, the setting and the way out
    """
    if not caller.actor.is_admin:
        receivers = destination.config.receivers
        _check_receivers(receivers, receivers, "destination.config.receivers", caller)


def _check_receivers(new: Sequence[str], receivers: Sequence[str], place: str, caller: Caller) -> None:
    limit = caller.parts.settings.receivers_per_destination
    if new and len(receivers) > limit:
        raise InvalidInput(
            f"must have at most {limit} entries (receivers_per_destination); ask an administrator", field=place
        )
    for address in (one for one in new if "@" in one):
        if not _is_allowed(address, caller):
            raise InvalidInput(
                f"{address!r} is not the address of a user; an administrator can add it or allow its domain"
                " (external_mail_domains)",
                field=place,
            )


def _is_allowed(address: str, caller: Caller) -> bool:
    domain = address.rpartition("@")[2].lower()
    if domain in {one.lower() for one in caller.parts.settings.external_mail_domains}:
        return True
    person = caller.parts.people.by_email(address)
    return person is not None and not person.deleted


def _receivers(destination: Document) -> list[str]:
    return list((destination.get("config") or {}).get("receivers") or ())


def _take(caller: Caller, kind: str, amount: int, limit: int) -> None:
    now_ms = caller.parts.clock.now_ms()
    wait_s = caller.parts.quotas.take(caller.actor.id, kind, amount, limit=limit, now_ms=now_ms)
    if wait_s is not None:
        minutes = -(-wait_s // _SECONDS_PER_MINUTE)
        message = f"At most {limit} {_QUOTAS[kind]} per hour; try again in {minutes} min."
        raise TooManyRequests(message, retry_after_s=wait_s)
