"""May they? Deny wins over allow, and what no rule allows is denied.

``View`` is what all policies say of one person, worked out once: per type of entity and operation, which conditions
deny and which allow. Where none of them asks anything, a decision is one look into a dictionary.
Source: OpenMetadata's ``PolicyEvaluator``. Next: ``flow/resolve/visibility.py``, ``server/permissions.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tocsin.access.bind import bound, guard
from tocsin.access.evaluate import Facts, holds
from tocsin.access.logic import ALWAYS, NEVER, Condition, both, either, inherited_keys, negated
from tocsin.access.rules import Effect, Rule
from tocsin.access.subject import Grant, Subject
from tocsin.model.access import Operation
from tocsin.model.entity import Document


@dataclass(frozen=True)
class Ruling:
    """One rule that may decide: when, which one, and which policy brought it."""

    condition: Condition
    rule: Rule
    grant: Grant


@dataclass(frozen=True)
class Verdict:
    """Whether something is allowed, and the ruling that said so; None when no rule spoke."""

    is_allowed: bool
    ruling: Ruling | None = None


@dataclass(frozen=True)
class Reach:
    """All that is said of one operation on one type: what denies it, what allows it, and ``scope``, both together.

    ``inherited``: the keys it depends on that a document may have of what it lies in (owners, domains).
    """

    denials: tuple[Ruling, ...]
    allowances: tuple[Ruling, ...]
    scope: Condition
    inherited: frozenset[str] = frozenset()


class View:
    """What one person may do."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._reaches: dict[tuple[str, Operation], Reach] = {}

    def reach(self, resource: str, operation: Operation) -> Reach:
        """Return what is said of ``operation`` on entities of the type ``resource``."""
        known = self._reaches.get((resource, operation))
        if known is None:
            known = self._reaches[resource, operation] = self._worked_out(resource, operation)
        return known

    def scope(self, resource: str, operation: Operation) -> Condition:
        """Return which documents of the type ``resource`` allow ``operation``, as a condition on them."""
        return self.reach(resource, operation).scope

    def may(self, operation: Operation, resource: str, document: Document) -> bool:
        """Say whether they may do ``operation`` on this document, which holds the owners and domains it inherits.

        A document as stored lacks those; ``reach`` says whether it matters.
        """
        scope = self.reach(resource, operation).scope
        if scope is ALWAYS or scope is NEVER:
            return scope is ALWAYS
        return holds(scope, Facts(resource, document))

    def verdict(self, operation: Operation, resource: str, document: Document) -> Verdict:
        """Return whether they may, and which rule says so."""
        reach, facts = self.reach(resource, operation), Facts(resource, document)
        denied = next((one for one in reach.denials if holds(one.condition, facts)), None)
        if denied is not None:
            return Verdict(False, denied)
        if self.subject.is_admin:
            return Verdict(True)
        allowed = next((one for one in reach.allowances if holds(one.condition, facts)), None)
        return Verdict(allowed is not None, allowed)

    def _worked_out(self, resource: str, operation: Operation) -> Reach:
        if self.subject.is_admin:
            return Reach((), (), ALWAYS)
        rulings = tuple(self._rulings(resource, operation))
        denials = tuple(one for one in rulings if one.rule.effect is Effect.DENY)
        allowances = tuple(one for one in rulings if one.rule.effect is Effect.ALLOW)
        denied = either(*(one.condition for one in denials))
        allowed = either(*(one.condition for one in allowances))
        scope = _settled(both(negated(denied), allowed))
        return Reach(denials, allowances, scope, inherited=inherited_keys(scope))

    def _rulings(self, resource: str, operation: Operation) -> Iterator[Ruling]:
        given = ((grant, rule) for grant in self.subject.grants for rule in grant.policy.rules)
        for grant, rule in given:
            if rule.is_about(resource, operation):
                asked = bound(rule.condition, self.subject, grant, resource)
                condition = both(guard(self.subject, grant), asked)
                if condition != NEVER:
                    yield Ruling(condition, rule, grant)


def _settled(scope: Condition) -> Condition:
    """Return the one object for always and for never, so that they are told by identity."""
    return ALWAYS if scope == ALWAYS else NEVER if scope == NEVER else scope
