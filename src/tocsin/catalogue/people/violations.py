"""Policy violations, recorded as change events on the policy whose rule denied the request.

The policy keeps its version, because nobody changed it. Next: ``server/policies/denials.py``, which limits how often.
"""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.errors import NotFound
from tocsin.flow.capture.operations import EntityWrites
from tocsin.flow.capture.write import Record
from tocsin.model.change import VIOLATION, EventType, describe
from tocsin.model.entity import Document
from tocsin.model.people import Actor
from tocsin.model.stored import Key, Stored, Written

ORGANIZATION_POLICY = "OrganizationPolicy"
"""The policy of whatever no rule allowed."""


@dataclass(frozen=True)
class Violation:
    """One denied access, or several of the same kind, to be recorded as an event on the policy.

    ``policy_id`` is None when no rule allowed what was asked for.
    """

    policy_id: str | None
    details: Document


def add_violation(writes: EntityWrites, violation: Violation, actor: Actor) -> Written:
    """Put an event of a refused access on the policy, in a transaction of its own.

    Raises
    ------
    NotFound : there is no such policy any more, nor the organization's.
    """

    def work(record: Record) -> Written:
        description = describe(VIOLATION, new=violation.details)
        return record.note(_policy(record, violation), description, event_type=EventType.POLICY_VIOLATION)

    return writes.within(work, actor=actor)


def _policy(record: Record, violation: Violation) -> Stored:
    keys = [Key.by_name(ORGANIZATION_POLICY)]
    if violation.policy_id is not None:
        keys.insert(0, Key.by_id(violation.policy_id))
    for key in keys:
        policy = record.transaction.find("policy", key)
        if policy is not None and not policy.is_deleted:
            return policy
    raise NotFound("the policy that should record the violation no longer exists")
