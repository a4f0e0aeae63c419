"""Lineage roots of failures: the asset under which real-time alerts with ``groupBy: lineageRoot`` gather them.

Pure; ``store/recipients/roots.py`` finds them. Next: ``flow/schedule/messages.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tocsin.flow.schedule.decide import Timing, key_of_alert
from tocsin.model.notification import Reason
from tocsin.model.notification_draft import NotificationDraft, reasons_of
from tocsin.model.subscription import GroupBy


class Root(NamedTuple):
    """The asset that a match is grouped under; ``name``: its full name where the failure is downstream of it."""

    asset_id: str
    name: str | None = None


class GroupedMatch(NamedTuple):
    """An event that an alert matched which groups by lineage root."""

    log_offset: int
    entity_id: str
    subscription_id: str


RootsOfAlerts = Mapping[str, Root]
"""The root of one event for each alert that asks for it, by the alert's id."""


def by_root(alerts: Collection[str], timings: Mapping[str, Timing]) -> list[str]:
    """Return those of these alerts that group by lineage root."""
    timed = ((one, timings.get(one)) for one in alerts)
    return [one for one, timing in timed if timing and timing.trigger.group_by is GroupBy.LINEAGE_ROOT]


def under_roots(drafts: Iterable[NotificationDraft], roots: RootsOfAlerts) -> Iterator[NotificationDraft]:
    """Yield the drafts of one event; alerts with a root there group under it, and name it as the reason."""
    if not roots:
        yield from drafts
        return
    assets_by_group = {key_of_alert(alert): root.asset_id for alert, root in roots.items()}
    for draft in drafts:
        reasons = reasons_of(naming_root(draft.reasons.in_order, roots))
        yield draft._replace(reasons=reasons, assets_by_group=assets_by_group)


def naming_root(reasons: Sequence[Reason], roots: RootsOfAlerts) -> tuple[Reason, ...]:
    """Return reasons that name the root upstream of the failure, those of alerts that ask for it."""
    names_by_alert = {alert: root.name for alert, root in roots.items() if root.name is not None}
    return tuple(
        reason.model_copy(update={"downstream_of": names_by_alert[reason.subscription_id]})
        if reason.subscription_id in names_by_alert
        else reason
        for reason in reasons
    )
