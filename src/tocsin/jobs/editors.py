"""Editors job: every minute, notifies the owners of alerts whose editors were deleted or may view less than before.

The notification depends on policies alone, never on what an alert matched. Next: ``alerts/events.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

import structlog
from sqlalchemy import Engine

from tocsin.access.permission_cache import PermissionCache, PolicySnapshot
from tocsin.alerts.events import NarrowingLog
from tocsin.clock import SystemClock
from tocsin.errors import NotFound
from tocsin.model.alert_editor import AlertEditor
from tocsin.model.subscription import EventSubscription
from tocsin.store.catalogue.access.subjects import SqlSubjects
from tocsin.store.catalogue.alerts.editors import StoredAlertEditors
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue

EVERY_S = 60.0
_LOG = structlog.get_logger(__name__)


@dataclass
class EditorsParts:
    """Parts of the job; ``seen_revisions`` are the revisions of alerts and policies at the last look."""

    alerts: Subscriptions
    editors: StoredAlertEditors
    subjects: SqlSubjects
    permission_cache: PermissionCache
    narrowing_log: NarrowingLog
    seen_revisions: tuple[int, int] | None = field(default=None)


def build(engine: Engine) -> EditorsParts:
    """Wire the job over the store behind ``engine``."""
    subjects = SqlSubjects(engine)
    return EditorsParts(
        alerts=Subscriptions(engine),
        editors=StoredAlertEditors(engine),
        subjects=subjects,
        permission_cache=PermissionCache(subjects),
        narrowing_log=NarrowingLog(SqlCatalogue(engine), SystemClock()),
    )


def look(parts: EditorsParts) -> int:
    """Tell owners what is new; return how many editors that concerns. Costs nothing while nothing changes."""
    now = (parts.alerts.revision(), parts.subjects.revision())
    if now == parts.seen_revisions:
        return 0
    alerts = {one.id: one for one in parts.alerts.list_all() if not one.is_of_tocsin}
    policies = parts.permission_cache.now()
    told_count = sum(_tell(one, alerts[one.subscription_id], policies, parts) for one in _of(alerts, parts))
    parts.seen_revisions = now
    return told_count


def _of(alerts: Iterable[str], parts: EditorsParts) -> list[AlertEditor]:
    alert_ids = set(alerts)
    return [one for one in parts.editors.list_all() if one.subscription_id in alert_ids]


def _tell(editor: AlertEditor, alert: EventSubscription, policies: PolicySnapshot, parts: EditorsParts) -> bool:
    resources = alert.filtering_rules.resources if alert.filtering_rules else ("all",)
    extent = policies.view_extent(editor.user_id, resources)
    if extent is editor.told_extent:
        return False
    is_lost = editor.is_untold(extent)
    if is_lost:
        with suppress(NotFound):
            parts.narrowing_log.add(editor, extent)
        _LOG.info("alert_narrowed", subscription_id=alert.id, editor_id=editor.user_id, may_view=extent.value)
    parts.editors.set_told(editor, extent)
    return is_lost
