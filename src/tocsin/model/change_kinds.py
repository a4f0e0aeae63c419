"""Kinds of change that a person may choose: the one list of them, in its order on pages.

Each is a category of semantic changes (``conditions/changes.py``), or a part of some. ``conditions/event_kinds.py``
says which kinds an event has. Next: ``model/preferences.py``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from tocsin.model.entity import WireModel


class Frequency(StrEnum):
    """How often a person is notified of something, the soonest first."""

    IMMEDIATE = "immediate"
    HOURLY = "hourly"
    DAILY = "daily"
    WEEKLY = "weekly"
    NEVER = "never"


class KindGroup(StrEnum):
    """Under which heading a kind is listed."""

    METADATA = "metadata"
    QUALITY = "quality"
    GOVERNANCE = "governance"
    STRUCTURE = "structure"
    ACTIVITY = "activity"
    CONVERSATION = "conversation"
    WORK = "work"


class KindOfChange(WireModel):
    """One kind of change.

    Attributes
    ----------
    name : as preferences name it
    frequency : how often the recommended defaults mail it
    has_events : whether anything writes events of this kind
    crosses : whether events have it beside the kinds of their categories, so that it may decide in place of these
    is_urgent : whether it is heard as it is chosen even if a bot made the change
    """

    name: str
    label: str
    group: KindGroup
    frequency: Frequency = Frequency.IMMEDIATE
    has_events: bool = True
    crosses: bool = False
    is_urgent: bool = False


BREAKING, BOT = "breaking", "bot"
"""The kinds that cross: changes that break who reads the asset, and what bots change."""

_METADATA, _QUALITY, _GOVERNANCE = KindGroup.METADATA, KindGroup.QUALITY, KindGroup.GOVERNANCE
_STRUCTURE, _ACTIVITY, _TALK, _WORK = KindGroup.STRUCTURE, KindGroup.ACTIVITY, KindGroup.CONVERSATION, KindGroup.WORK
_DAILY, _WEEKLY, _NEVER = Frequency.DAILY, Frequency.WEEKLY, Frequency.NEVER


def _kind(name: str, label: str, group: KindGroup, frequency: Frequency = Frequency.IMMEDIATE) -> KindOfChange:
    return KindOfChange(name=name, label=label, group=group, frequency=frequency)


def _urgent(name: str, label: str, group: KindGroup, *, has_events: bool = True) -> KindOfChange:
    return KindOfChange(name=name, label=label, group=group, has_events=has_events, is_urgent=True)


_BREAKING_LABEL = "Breaking changes (major versions)"

_ROWS = (
    KindOfChange(name=BREAKING, label=_BREAKING_LABEL, group=_STRUCTURE, crosses=True, is_urgent=True),
    _urgent("softDeletion", "Soft deletion", _STRUCTURE),
    _urgent("deletion", "Deletion", _STRUCTURE),
    _kind("restoration", "Restoration", _STRUCTURE),
    _kind("creation", "New assets", _STRUCTURE),
    _urgent("testFailure", "Test failures", _QUALITY),
    _urgent("runFailure", "Failed runs", _QUALITY),
    _urgent("freshness", "Stale data", _QUALITY),
    _urgent("profileAnomaly", "Anomalies of profiles", _QUALITY, has_events=False),
    _urgent("sla", "Violated SLAs", _QUALITY),
    _urgent("incident", "Incidents", _QUALITY),
    _kind("recovery", "Well again: tests and runs that succeed", _QUALITY),
    _kind("test", "Tests: new, changed, removed", _QUALITY, _DAILY),
    _kind("run", "Runs under way, skipped or stopped", _QUALITY, _NEVER),
    _kind("newData", "New data: profiles", _QUALITY, _NEVER),
    _kind("columns", "Columns, fields, tasks, charts and other schema", _METADATA),
    _kind("constraint", "Constraints", _METADATA),
    _kind("description", "Descriptions", _METADATA, _DAILY),
    _kind("tag", "Tags", _METADATA, _DAILY),
    _kind("glossaryTerm", "Glossary terms", _METADATA, _DAILY),
    _kind("name", "Names and display names", _METADATA),
    _kind("owner", "Owners", _METADATA),
    _kind("reviewer", "Reviewers and experts", _METADATA, _DAILY),
    _kind("lineage", "Lineage", _METADATA, _DAILY),
    _kind("customProperty", "Custom properties", _METADATA, _DAILY),
    _kind("membership", "Members of teams, roles of people", _METADATA, _DAILY),
    _kind("connection", "Connections and services", _METADATA, _DAILY),
    _kind("relatedAlert", "Alerts that act on others", _METADATA, _DAILY),
    _kind("other", "Other fields", _METADATA, _DAILY),
    _kind("classification", "Classification: tags of PII and PersonalData", _GOVERNANCE),
    _kind("tier", "Tiers", _GOVERNANCE),
    _kind("certification", "Certification", _GOVERNANCE),
    _kind("domain", "Domains", _GOVERNANCE),
    _kind("dataProduct", "Data products", _GOVERNANCE, _DAILY),
    _urgent("policyViolation", "Policy violations", _GOVERNANCE),
    _kind("access", "Access: policies, roles, rules", _GOVERNANCE),
    _kind("deprecation", "Deprecation, life cycle, status", _GOVERNANCE),
    KindOfChange(
        name="queryPattern", label="Changed query patterns", group=_ACTIVITY, frequency=_NEVER, has_events=False
    ),
    KindOfChange(name="usageDrop", label="Drops of usage", group=_ACTIVITY, frequency=_NEVER, has_events=False),
    _kind("usage", "Usage and queries", _ACTIVITY, _WEEKLY),
    _kind("follower", "Followers", _ACTIVITY, _NEVER),
    _kind("vote", "Votes", _ACTIVITY, _NEVER),
    _urgent("mention", "Mentions", _TALK),
    _urgent("task", "Tasks", _TALK),
    _kind("announcement", "Announcements", _TALK),
    _kind("discussion", "Discussions", _TALK, _NEVER),
    _urgent("changeRequest", "Change requests", _WORK),
    _urgent("ownAlert", "Failures of alerts, destinations and readers", _WORK),
    KindOfChange(name=BOT, label="What bots change", group=_WORK, frequency=_DAILY, crosses=True),
)

CHANGE_KINDS: dict[str, KindOfChange] = {row.name: row for row in _ROWS}
"""Every kind by its name; those that cross decide in this order."""


class EventKind(NamedTuple):
    """A kind of an event, and the category of changes by which the event has it; empty for a kind that crosses."""

    kind: str
    category: str

    @property
    def crosses(self) -> bool:
        """Return whether the event has it beside the kinds of its categories."""
        return self.kind in _CROSSING


_CROSSING = frozenset({BREAKING, BOT})
