"""Quotas per person: destinations, receivers, external addresses, and the cost of conditions.

They do not hold for administrators. Next: ``server/alerts/facts.py`` reads what a person has already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tocsin.errors import InvalidInput
from tocsin.flow.match.plan_cost import PER_PERSON, PlanCost
from tocsin.model.entity import Document
from tocsin.settings import Settings


@dataclass(frozen=True)
class AlertAllowance:
    """What a person may put into an alert: the limits, the addresses of users, and what their other alerts have.

    Attributes
    ----------
    user_addresses : those of the new addresses that are those of users
    other_costs : what the conditions of their other alerts cost that are enabled
    """

    settings: Settings
    user_addresses: frozenset[str] = frozenset()
    other_external_count: int = 0
    other_costs: Sequence[PlanCost] = ()


class AlertExtent(NamedTuple):
    """How far an alert reaches, and what it costs by: nothing, if it is disabled.

    Attributes
    ----------
    receivers : those of each destination
    conditions : its rules and its trigger, None if it is disabled
    """

    external_count: int
    receivers: list[list[str]]
    conditions: tuple[object, object] | None


def extent_of(document: Document) -> AlertExtent:
    """Return the extent of an alert, of a stored one or of an empty document."""
    destinations = document.get("destinations") or ()
    return AlertExtent(
        sum(one.get("category") == "External" for one in destinations),
        [list((one.get("config") or {}).get("receivers") or ()) for one in destinations],
        (document.get("filteringRules"), document.get("trigger")) if document.get("enabled") else None,
    )


def is_in_domain(address: str, settings: Settings) -> bool:
    """Return whether an address is in a domain to which anybody may send."""
    return address.rpartition("@")[2].lower() in {one.lower() for one in settings.external_mail_domains}


def check_quotas(document: Document, cost: PlanCost, before: Document, allowance: AlertAllowance) -> None:
    """Refuse more destinations or receivers than allowed, addresses that are not, and conditions that cost too much.

    What the alert had ``before`` may stay.

    Raises
    ------
    InvalidInput : with the place, the setting and the way out
    """
    settings, extent, old_extent = allowance.settings, extent_of(document), extent_of(before)
    limit = settings.destinations_per_alert
    if len(extent.receivers) > max(limit, len(old_extent.receivers)):
        raise InvalidInput(
            f"must have at most {limit} entries (destinations_per_alert); ask an administrator", field="destinations"
        )
    other_count, limit = allowance.other_external_count, settings.external_destinations_per_person
    if extent.external_count > old_extent.external_count and other_count + extent.external_count > limit:
        raise InvalidInput(
            f"{other_count} of your other destinations are already External; the maximum per person is {limit}"
            " (external_destinations_per_person); ask an administrator",
            field="destinations",
        )
    old_receivers = {one.lower() for many in old_extent.receivers for one in many}
    for index, receivers in enumerate(extent.receivers):
        if new_receivers := [one for one in receivers if one.lower() not in old_receivers]:
            place = f"destinations[{index}].config.receivers"
            check_receivers(new_receivers, place, allowance, count=len(receivers))
    if extent.conditions not in (None, old_extent.conditions):
        excess = PER_PERSON.excess(*allowance.other_costs, cost)
        if excess is not None:
            raise InvalidInput(f"{excess} Or disable one of them, or ask an administrator.", field="filteringRules")


def check_receivers(receivers: Sequence[str], place: str, allowance: AlertAllowance, *, count: int) -> None:
    """Refuse new receivers of a destination that has ``count``: too many, or an address that is no user's.

    Raises
    ------
    InvalidInput : with the setting and the way out
    """
    settings = allowance.settings
    if count > settings.receivers_per_destination:
        raise InvalidInput(
            f"must have at most {settings.receivers_per_destination} entries (receivers_per_destination); ask an"
            " administrator",
            field=place,
        )
    for receiver in receivers:
        if "@" in receiver and receiver not in allowance.user_addresses and not is_in_domain(receiver, settings):
            raise InvalidInput(
                f"{receiver!r} is not the address of a user; an administrator can add it or allow its domain"
                " (external_mail_domains)",
                field=place,
            )
