"""Writes of retention: its settings and legal holds, and the event about each run.

The settings are attached to the Organization, whose events say who changed them; what a hold is about is in its row
alone, which only administrators read. Next: ``store/upkeep/retention/policy.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tocsin.access.subject import ORGANIZATION
from tocsin.flow.capture.operations import EntityWrites
from tocsin.flow.capture.write import Ids, Record
from tocsin.model.change import RETENTION, EventType, describe
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM, Actor
from tocsin.model.retention import RetentionSettings
from tocsin.model.stored import Key, Stored, Written

SETTINGS_KIND = "setting:retention"
"""The attachment of the Organization that holds the settings."""


def write_settings(writes: EntityWrites, settings: RetentionSettings, *, actor: Actor) -> None:
    """Replace the settings; an event of the Organization says what they were and are, unless they are the same."""

    def work(record: Record, organization: Stored) -> Written:
        attachments = record.transaction.attachments
        before = attachments.get(organization.id, SETTINGS_KIND) or RetentionSettings().to_wire()
        after = settings.to_wire()
        if before == after:
            return Written(organization.document, None)
        attachments.put(organization.id, SETTINGS_KIND, after)
        return record.note(organization, describe(RETENTION, old=before, new=after))

    writes.on_entity("team", Key.by_name(ORGANIZATION), work, actor=actor)


def note_hold(writes: EntityWrites, hold_id: str, *, is_lifted: bool, actor: Actor) -> None:
    """Put an event on the Organization that says who set or lifted a legal hold."""
    facts = {"legalHold": hold_id, "isLifted": is_lifted}
    writes.on_entity("team", Key.by_name(ORGANIZATION), _note_work(facts, EventType.ENTITY_UPDATED), actor=actor)


def note_consumer(writes: EntityWrites, name: str, *, is_removed: bool, actor: Actor) -> None:
    """Put an event on the Organization that says who registered or removed a consumer, which retention waits for."""
    facts = {"consumer": name, "isRemoved": is_removed}
    writes.on_entity("team", Key.by_name(ORGANIZATION), _note_work(facts, EventType.ENTITY_UPDATED), actor=actor)


def note_run(writes: EntityWrites, run_id: str, facts: Document) -> None:
    """Put the event of a run on the Organization; its id is the run's, so that it is there once."""

    def work(record: Record, organization: Stored) -> Written:
        with_run_id = replace(record, ids=Ids(record.ids.entity, lambda: run_id))
        return _note_work(facts, EventType.RETENTION_APPLIED)(with_run_id, organization)

    writes.on_entity("team", Key.by_name(ORGANIZATION), work, actor=SYSTEM)


def _note_work(facts: Document, event_type: EventType) -> Callable[[Record, Stored], Written]:
    def work(record: Record, organization: Stored) -> Written:
        return record.note(organization, describe(RETENTION, new=facts), event_type=event_type)

    return work
