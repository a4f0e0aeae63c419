"""Checks of announcements of OpenMetadata 2: every call of its client on them but the restoration."""

from __future__ import annotations

import time
from typing import Any

from checks.checking import CheckSetup, check, id_of, status_of_refusal, text
from metadata.generated.schema.entity.feed.announcement import Announcement as StrictAnnouncement
from metadata.ingestion.ometa.announcement_models import AnnouncementStatus, CreateAnnouncementRequest

HOUR_MS = 3_600_000


def _request(table: Any, name: str | None = None, hours: int = 0) -> CreateAnnouncementRequest:
    start = time.time_ns() // 1_000_000 + hours * HOUR_MS - 1_000
    link = f"<#E::table::{text(table.fullyQualifiedName)}>"
    return CreateAnnouncementRequest(
        name=name, description="Down.", entityLink=link, startTime=start, endTime=start + HOUR_MS
    )


@check("create_announcement list_announcements get_announcement get_announcement_by_name", "what is active and to come")
def _check_lists(setup: CheckSetup) -> None:
    table, name = setup.table(), setup.name("outage")
    link = f"<#E::table::{text(table.fullyQualifiedName)}>"
    active = setup.metadata.create_announcement(_request(table, name))
    scheduled = setup.metadata.create_announcement(_request(table, hours=2))
    assert (active.status, scheduled.status) == (AnnouncementStatus.Active, AnnouncementStatus.Scheduled)
    listed = setup.metadata.list_announcements(entity_link=link, status=AnnouncementStatus.Active, active=True)
    assert ([one.id for one in listed.entities], listed.total) == ([active.id], 1)
    assert setup.metadata.list_announcements(entity_link=link, fields=["domains"]).total == 2
    assert setup.metadata.get_announcement_by_name(name).id == setup.metadata.get_announcement(id_of(active)).id
    StrictAnnouncement.model_validate(setup.metadata.client.get(f"/announcements/{id_of(active)}"))


@check("create_or_update_announcement patch_announcement delete_announcement", "one is made, changed and deleted")
def _check_changes(setup: CheckSetup) -> None:
    request = _request(setup.table(), setup.name("outage"))
    announcement = setup.metadata.create_or_update_announcement(request)
    assert setup.metadata.create_or_update_announcement(request).id == announcement.id
    operation = {"op": "replace", "path": "/description", "value": "Down for long."}
    assert text(setup.metadata.patch_announcement(id_of(announcement), [operation]).description) == "Down for long."
    setup.metadata.delete_announcement(id_of(announcement), hard_delete=True)
    assert status_of_refusal(lambda: setup.metadata.get_announcement(id_of(announcement))) == 404
