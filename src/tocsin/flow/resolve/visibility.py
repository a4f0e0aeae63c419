"""May they see it? The one question that every path asks before it shows an asset or tells of one.

Policies decide (``access/decide.py``); whoever is deleted sees nothing. Next: ``flow/schedule``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol

from tocsin.access.decide import View
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.people import Actor, Person

Told = Mapping[str, Any]  # Any: a notification's column, by its name
Subject = tuple[str, Document]
"""The type of the entity an event is about, and its document."""


class Policies(Protocol):
    """What policies say at one moment (``access/views.Moment``)."""

    def of(self, user_id: str) -> View:
        """Return what this person or bot may do."""
        ...

    def of_many(self, user_ids: Collection[str]) -> Mapping[str, View]:
        """Return what each of these may do, looked up together."""
        ...

    def is_open(self, resource: str) -> bool:
        """Say whether every person may view every entity of this type."""
        ...


class Events(Protocol):
    """Finds what events are about, by their places in the log."""

    def subjects(self, offsets: Collection[int]) -> Mapping[int, Subject]:
        """Return the type and document of the entity that each of these events is about."""
        ...

    def makers(self, subscription_ids: Collection[str]) -> Mapping[str, str | None]:
        """Return who made each of these alerts, by id; None for those that Tocsin made itself."""
        ...


def may_view(viewer: Actor | Person, resource: str, document: Document, policies: Policies) -> bool:
    """Say whether ``viewer`` may see the entity of type ``resource`` in ``document``."""
    if isinstance(viewer, Person) and viewer.deleted:
        return False
    if viewer.is_admin or (not viewer.is_bot and policies.is_open(resource)):
        return True
    return policies.of(viewer.id).may(Operation.VIEW_BASIC, resource, document)


def only_visible(rows: Iterable[Told], policies: Policies, events: Events) -> list[Told]:
    """Return the notifications that may be told: those whose recipient may see what they tell of.

    What goes to no person (a webhook, an address) goes on behalf of whoever made the alert, who must be able to see
    it. While everybody may view everything, nothing is looked up. Otherwise it costs what these recipients and these
    events cost, however many people and policies there are.
    """
    told = list(rows)
    if all(policies.is_open(resource) for resource in ENTITY_TYPES):
        return told
    about = events.subjects({row["log_offset"] for row in told})
    asked = [row for row in told if not policies.is_open(about[row["log_offset"]][0])]
    makers = events.makers({row["subscription_id"] for row in asked if row["recipient_id"] is None})
    views = policies.of_many({viewer for row in asked if (viewer := _viewer(row, makers)) is not None})

    def may_be_told(row: Told) -> bool:
        viewer = _viewer(row, makers)
        resource, document = about[row["log_offset"]]
        return viewer is None or views[viewer].may(Operation.VIEW_BASIC, resource, document)

    hidden = {row["id"] for row in asked if not may_be_told(row)}
    return [row for row in told if row["id"] not in hidden]


def _viewer(row: Told, makers: Mapping[str, str | None]) -> str | None:
    """Return the id of the person on whose behalf something is told; None when Tocsin itself wants it told."""
    recipient: str | None = row["recipient_id"]
    return recipient if recipient is not None else makers.get(row["subscription_id"])
