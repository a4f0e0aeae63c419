"""Decision of a task by who may edit what that writes, shared by the routes of tasks and of suggestions.

Next: ``catalogue/feed/task_operations.py``.
"""

from __future__ import annotations

from tocsin.catalogue.feed.task_requests import Decision
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.model.task import APPROVE, COMPLETE, value_key_of
from tocsin.server.access.permissions import require
from tocsin.server.alerts.hourly_counts import count_post
from tocsin.server.request import Caller

_EDITS = {"description": Operation.EDIT_DESCRIPTION, "tags": Operation.EDIT_TAGS}


def decide_task(thread: Document, decision: Decision, caller: Caller) -> None:
    """Take a task through a transition; ``thread`` is its thread, which the caller may see.

    Who writes its asset by that needs the right to edit it, and so does who decides a suggestion that is nobody's.

    Raises
    ------
    Forbidden : the caller may not
    Conflict : the transition does not lead on from where the task is
    """
    check_decision(thread, decision, caller)
    count_post([decision.comment, decision.new_value], caller)
    caller.parts.discussion.task_writes.decide(thread["id"], decision, actor=caller.actor)


def check_decision(thread: Document, decision: Decision, caller: Caller) -> None:
    """Refuse a decision of who may not edit what it writes. Raises ``Forbidden``."""
    key = value_key_of(thread)
    if key is not None and (decision.transition in (APPROVE, COMPLETE) or not thread["task"]["assignees"]):
        asset = thread["entityRef"]
        document = caller.parts.catalogue.get(asset["type"], Key.by_id(asset["id"]), "all")
        require(caller, _EDITS[key], ENTITY_TYPES[asset["type"]], document)
