"""Change requests for what a check found: breaking changes that nobody announced. Next: ``cli/check.py``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from tocsin.check.report import CheckedProposal, CheckReport
from tocsin.model.announcement import NOT_ANNOUNCED, OF_MEMBERS
from tocsin.model.breaking import BreakingKind, member_in
from tocsin.model.change_request import ChangeKind
from tocsin.model.entity import Document


class Announcer(Protocol):
    """What announces a change: a client."""

    def announce_change(self, announcement: Document, *, dry_run: bool = False) -> Document:
        """Announce a change, and return its request."""


def announce_unannounced(announcer: Announcer, report: CheckReport, at_ms: int, why: str) -> list[str]:
    """Announce each breaking change of a report that no request announces, and return the numbers of the requests.

    Raises
    ------
    Forbidden : who checks may not edit an asset
    InvalidInput : the date is not ahead
    """
    announcements = [
        announcement | {"date": at_ms, "why": why}
        for checked in report.checked
        for announcement in _announcements_of(checked)
    ]
    for announcement in announcements:  # all or none
        announcer.announce_change(announcement, dry_run=True)
    requests = [announcer.announce_change(announcement) for announcement in announcements]
    return [str(request["name"]) for request in requests]


def _announcements_of(checked: CheckedProposal) -> Iterator[Document]:
    entity = checked.answer["entity"]
    for reason in checked.answer["breakingReasons"]:
        if reason["announcement"] != NOT_ANNOUNCED:
            continue
        subject: Document = {"entity": {"type": entity["type"], "id": entity["id"]}}
        kind = BreakingKind(reason["kind"])
        if kind is BreakingKind.DELETED_WHILE_READ:
            yield subject | {"kind": ChangeKind.REMOVAL.value}
        elif kind in OF_MEMBERS:
            column = ".".join(member_in(reason["field"])[1])
            type_values = {"kind": ChangeKind.TYPE.value, "newValue": reason.get("after")}
            removal_values = {"kind": ChangeKind.REMOVAL.value}
            yield subject | {"column": column} | (removal_values if kind is BreakingKind.FIELD_REMOVED else type_values)
