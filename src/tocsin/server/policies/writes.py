"""Authorization of writes by policies; a denial names the rule that caused it.

Passed to ``flow/capture/authorization.py``, which calls it inside every write. Next: ``server/access/permissions.py``.
"""

from __future__ import annotations

from collections.abc import Collection

from tocsin.access.decide import Permissions, Verdict
from tocsin.access.permission_cache import PermissionCache, PolicySnapshot
from tocsin.errors import Forbidden
from tocsin.flow.capture.authorization import EVERYTHING, Permit
from tocsin.logic import ALWAYS, NEVER
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.people import Actor
from tocsin.server.policies.denials import RefusalLog


class ActorPermits:
    """Permits of each actor under the current policies."""

    def __init__(self, permission_cache: PermissionCache, refusals: RefusalLog) -> None:
        self._permission_cache, self._refusals = permission_cache, refusals

    def __call__(self, actor: Actor) -> Permit:
        """Return what this actor may write."""
        return (
            EVERYTHING if actor.is_admin else _Permit(actor, self._permission_cache.current_policies(), self._refusals)
        )


class _Permit:
    """What one actor may write."""

    def __init__(self, actor: Actor, moment: PolicySnapshot, refusals: RefusalLog) -> None:
        self._actor, self._moment, self._refusals = actor, moment, refusals
        self._permissions = moment.of(actor.id)

    def check(self, entity_type: str, operations: Collection[Operation], document: Document) -> None:
        for operation in operations:
            if not self._permissions.may(operation, entity_type, document):
                raise refusal(self._actor, operation, entity_type, document, (self._permissions, self._refusals))

    def check_apart(self, entity_type: str, operations: Collection[Operation], document: Document) -> None:
        self.check(entity_type, operations, document)
        for operation in operations:
            if not self._permissions.may_without_ownership(operation, entity_type, document):
                self._refusals.note(self._actor, operation, entity_type, document, Verdict(False))
                raise Forbidden(
                    f"You may not do this: {operation} on {entity_type} is not granted by ownership alone; another"
                    " policy must allow it."
                )

    def check_kept(self, entity_type: str, before: Document, after: Document) -> None:
        if (ruling := self._permissions.lifted_denial(entity_type, before, after)) is not None:
            self._refusals.note(self._actor, Operation.EDIT_ALL, entity_type, before, Verdict(False, ruling))
            raise Forbidden(
                f"You may not do this: it would lift the rule {ruling.rule.name} of {ruling.grant.policy.name},"
                " which denies you access."
            )

    def may(self, operation: Operation, entity_type: str, document: Document) -> bool:
        return self._permissions.may(operation, entity_type, document)

    def denies_some(self, entity_type: str) -> bool:
        return bool(self._permissions.conditional_denials(entity_type))

    def bears(self, entity_type: str, document: Document) -> bool:
        return self._moment.dependencies().bears(entity_type, document)

    def is_certain(self, entity_type: str, operation: Operation) -> bool:
        return self._permissions.scope(entity_type, operation) in (ALWAYS, NEVER)

    def inheritable_keys(self, entity_type: str, operations: Collection[Operation]) -> Collection[str]:
        reaches = (self._permissions.reach(entity_type, operation) for operation in operations)
        return {key for reach in reaches for key in reach.inherited}


def refusal(
    actor: Actor, operation: Operation, resource: str, document: Document, by: tuple[Permissions, RefusalLog]
) -> Forbidden:
    """Return the error for an operation that policies do not allow, and log the denial."""
    permissions, refusals = by
    verdict = permissions.verdict(operation, resource, document)
    refusals.note(actor, operation, resource, document, verdict)
    ruling = verdict.ruling
    if ruling is None:
        return Forbidden(f"You may not do this: none of your policies allows {operation} on this {resource}.")
    return Forbidden(
        f"You may not do this: the rule {ruling.rule.name} of {ruling.grant.policy.name} "
        f"denies {operation} on this {resource}."
    )
