"""Editors job: every minute, notifies the owners of alerts whose editors were deleted or may view less than before.

The notification depends on policies alone, never on what an alert matched. Next: ``alerts/events.py``.
"""

from __future__ import annotations

from contextlib import suppress

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


class EditorsJob:
    """The job over the store behind ``engine``; it remembers the revisions of alerts and policies at its last look."""

    def __init__(self, engine: Engine) -> None:
        self._alerts, self._editors = Subscriptions(engine), StoredAlertEditors(engine)
        self._subjects = SqlSubjects(engine)
        self._permission_cache = PermissionCache(self._subjects)
        self._narrowing_log = NarrowingLog(SqlCatalogue(engine), SystemClock())
        self._seen_revisions: tuple[int, int] | None = None

    def look(self) -> int:
        """Tell owners what is new; return how many editors that concerns. Costs nothing while nothing changes."""
        now = (self._alerts.revision(), self._subjects.revision())
        if now == self._seen_revisions:
            return 0
        alerts = {one.id: one for one in self._alerts.list_all() if not one.is_of_tocsin}
        editors = [one for one in self._editors.list_all() if one.subscription_id in alerts]
        policies = self._permission_cache.current_policies()
        told_count = sum(self._tell(one, alerts[one.subscription_id], policies) for one in editors)
        self._seen_revisions = now
        return told_count

    def _tell(self, editor: AlertEditor, alert: EventSubscription, policies: PolicySnapshot) -> bool:
        resources = alert.filtering_rules.resources if alert.filtering_rules else ("all",)
        extent = policies.view_extent(editor.user_id, resources)
        if extent is editor.told_extent:
            return False
        is_lost = editor.is_untold(extent)
        if is_lost:
            with suppress(NotFound):
                self._narrowing_log.add(editor, extent)
            _LOG.info("alert_narrowed", subscription_id=alert.id, editor_id=editor.user_id, may_view=extent.value)
        self._editors.set_told(editor, extent)
        return is_lost
