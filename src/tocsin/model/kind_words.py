"""Words of sentences for kinds of change, and for the categories of changes that preferences may name instead.

``you never want to hear of changed descriptions``. Labels of lists are in ``model/change_kinds.py``.
Next: ``alerts/explanations/answer.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tocsin.model.change import ChangeEvent
from tocsin.model.change_kinds import CHANGE_KINDS, Frequency
from tocsin.model.notification import Reason, followed_mark
from tocsin.model.preferences import FrequencyChoice, Layer
from tocsin.model.roles import ROLE_WORDS

_SUBJECTS: Mapping[str, str] = {
    "breaking": "breaking changes",
    "softDeletion": "deletions that can be undone",
    "deletion": "permanent deletions",
    "restoration": "restored assets",
    "creation": "new assets",
    "testFailure": "failed tests",
    "runFailure": "failed runs",
    "freshness": "stale data",
    "profileAnomaly": "anomalies of profiles",
    "sla": "violated SLAs",
    "incident": "incidents",
    "recovery": "tests and runs that succeed again",
    "test": "tests that are added, changed or removed",
    "run": "runs",
    "newData": "new data",
    "columns": "changed columns, fields, tasks and charts",
    "constraint": "changed constraints",
    "description": "changed descriptions",
    "tag": "changed tags",
    "glossaryTerm": "changed glossary terms",
    "name": "changed names",
    "owner": "changed owners",
    "reviewer": "changed reviewers and experts",
    "lineage": "changed lineage",
    "customProperty": "changed custom properties",
    "membership": "changed members and roles",
    "connection": "changed connections",
    "relatedAlert": "alerts that act on others",
    "other": "changes of other fields",
    "classification": "changed tags of PII and PersonalData",
    "tier": "changed tiers",
    "certification": "changed certifications",
    "domain": "changed domains",
    "dataProduct": "changed data products",
    "policyViolation": "violated policies",
    "access": "changed policies, roles and rules",
    "deprecation": "deprecations and changes of status",
    "queryPattern": "changed query patterns",
    "usageDrop": "drops of usage",
    "usage": "usage and queries",
    "follower": "new and former followers",
    "vote": "votes",
    "mention": "mentions",
    "task": "tasks",
    "announcement": "announcements",
    "discussion": "discussions",
    "changeRequest": "change requests",
    "ownAlert": "failures of alerts, destinations and readers",
    "bot": "what bots change",
    "schema": "changed schemas",
    "lifecycle": "assets that are created, deleted or restored",
    "quality": "tests and their results",
    "conversation": "conversations",
}
"""What each is called; a kind and a category of one name are called alike."""

DEFAULT_SOURCES: Mapping[Layer, str] = {
    Layer.TEAM: "the defaults of a team",
    Layer.SERVER: "the server's defaults",
    Layer.MANDATORY: "the server, for which this is mandatory,",
}
"""Whose choice it is that is not the recipient's own."""


def subject_text(name: str) -> str:
    """Return what a kind or category is called in a sentence."""
    return _SUBJECTS.get(name, f"changes of kind {name}")


def refusal_text(choice: FrequencyChoice, who: str, follow: str = "a follow") -> str:
    """Return that a choice keeps something back, whose it is, and the command that changes it for its recipient.

    ``who`` is the recipient with a verb, ``the recipient never wants``: ``… to hear of votes (to change that: …)``.
    ``follow`` is the follow that a choice is for (``follow_text``).
    """
    subject = _subject_of(choice) or "anything"
    if choice.layer is Layer.FOLLOW:
        subject = subject if choice.kind else "such changes over this channel"
        return f"{follow} does not tell of {subject} (to change that: tocsin follow --help)"
    source = DEFAULT_SOURCES.get(choice.layer)
    refusal = f"by {source} nobody hears of {subject}" if source else f"{who} to hear of {subject}"
    return f"{refusal} (to change that: {_command_for(choice)})"


def _subject_of(choice: FrequencyChoice) -> str:
    """Return what a choice is about: a kind or category, perhaps in a role; empty for everything."""
    words = (subject_text(choice.kind) if choice.kind else "", ROLE_WORDS.get(choice.role, ""))
    return " ".join(filter(None, words))


def _command_for(choice: FrequencyChoice) -> str:
    name, role = choice.kind, f" --role {choice.role}" if choice.role else ""
    if name in CHANGE_KINDS:
        return f"tocsin kinds {name}{role} --frequency immediate"
    return f"tocsin preferences --notify {name or 'all'}=immediate"


def frequency_text(choice: FrequencyChoice, who: str, follow: str = "a follow") -> str:
    """Return how often something comes by a choice, and whose it is: ``you prefer changed descriptions daily``.

    ``who`` is the recipient with a verb: ``you prefer``; ``follow`` as for ``refusal_text``.
    """
    subject = _subject_of(choice) or "everything"
    source, is_single = DEFAULT_SOURCES.get(choice.layer), choice.layer is Layer.MANDATORY
    prefers = f"{source} {'sends' if is_single else 'send'}" if source else who
    often = "at once" if choice.frequency is Frequency.IMMEDIATE else choice.frequency.value
    return f"{follow} tells of {subject} {often}" if choice.layer is Layer.FOLLOW else f"{prefers} {subject} {often}"


def follow_text(choice: FrequencyChoice, reasons: Iterable[Reason], event: ChangeEvent, whose: str) -> str:
    """Return what a choice for one follow is called: ``your follow of orders``; without a name where that is hidden.

    ``reasons`` are those of the notification about ``event`` that its reader may see.
    """
    names = (
        (reason.through.fully_qualified_name if reason.through else None)
        or reason.via
        or (event.entity_fully_qualified_name if key == event.entity_id else None)
        for reason in reasons
        if (key := reason.follow_of(event.entity_id)) and choice.follow_id == followed_mark(key)
    )
    name = next(filter(None, names), None)
    return f"{whose} follow of {name}" if name else f"{whose} follow"
