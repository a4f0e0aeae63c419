"""Access decisions: deny wins over allow, and what no rule allows is denied.

``Permissions`` holds all policies that apply to one person, compiled once: per entity type and operation, the
conditions that deny and those that allow. Without conditions, a decision is a single dictionary lookup.
Source: OpenMetadata's ``PolicyEvaluator``. Next: ``flow/resolve/only_visible.py``, ``server/access/permissions.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tocsin.access.bind import bind, guard
from tocsin.access.evaluate import Facts, holds
from tocsin.access.nodes import About, Asks, Condition, Question, inherited_keys
from tocsin.access.rules import Rule, RuleEffect
from tocsin.access.subject import Grant, Subject
from tocsin.access.visibility_parents import ABOUT, FOUND
from tocsin.logic import ALWAYS, NEVER, conjunction_of, disjunction_of, leaves, negation_of
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES

_OF_OWNERSHIP = (Question.IS_OWNER, Question.NO_OWNER, Question.MATCH_TEAM)
_VIEW = "View"


@dataclass(frozen=True)
class Ruling:
    """One rule that may decide: its condition, its name, and its policy."""

    condition: Condition
    rule: Rule
    grant: Grant


@dataclass(frozen=True)
class Verdict:
    """Whether something is allowed, and the ruling that decided; None when no rule applied."""

    is_allowed: bool
    ruling: Ruling | None = None


@dataclass(frozen=True)
class Reach:
    """Conditions on one operation on one type: those that deny it, those that allow it, and both combined as ``scope``.

    ``inherited``: the keys in them that a document may inherit from its ancestors (owners, domains).
    """

    denials: tuple[Ruling, ...]
    allowances: tuple[Ruling, ...]
    scope: Condition
    inherited: frozenset[str] = frozenset()


class Permissions:
    """What one person may do."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._denials: dict[str, tuple[Ruling, ...]] = {}
        self._reaches: dict[tuple[str, Operation], Reach] = {}

    def reach(self, resource: str, operation: Operation) -> Reach:
        """Return the conditions on ``operation`` on entities of the type ``resource``."""
        kept_reach = self._reaches.get((resource, operation))
        if kept_reach is None:
            kept_reach = self._reaches[resource, operation] = self._work_out(resource, operation)
        return kept_reach

    def scope(self, resource: str, operation: Operation) -> Condition:
        """Return which documents of the type ``resource`` allow ``operation``, as a condition on them."""
        return self.reach(resource, operation).scope

    @cached_property
    def views_everything(self) -> bool:
        """Whether they may view every entity of all types."""
        return all(self.scope(resource, Operation.VIEW_BASIC) is ALWAYS for resource in ENTITY_TYPES)

    def may(self, operation: Operation, resource: str, document: Document) -> bool:
        """Return whether they may do ``operation`` on this document, which holds the owners and domains it inherits.

        A document as stored lacks those; ``reach`` says whether it matters.
        """
        scope = self.reach(resource, operation).scope
        if scope is ALWAYS or scope is NEVER:
            return scope is ALWAYS
        return holds(scope, Facts(resource, document))

    def may_without_ownership(self, operation: Operation, resource: str, document: Document) -> bool:
        """Return whether they may do ``operation`` by a rule that does not depend on who owns the document."""
        if self.subject.is_admin:
            return True
        reach, facts = self.reach(resource, operation), Facts(resource, document)
        if any(holds(one.condition, facts) for one in reach.denials):
            return False
        return any(holds(one.condition, facts) for one in reach.allowances if not _is_by_ownership(one))

    def lifted_denial(self, resource: str, before: Document, after: Document) -> Ruling | None:
        """Return a ruling that denies them something on ``before`` and would no longer on ``after``."""
        denials = self.conditional_denials(resource)
        if not denials:
            return None
        old_facts, new_facts = Facts(resource, before), Facts(resource, after)
        return next(
            (one for one in denials if holds(one.condition, old_facts) and not holds(one.condition, new_facts)), None
        )

    def conditional_denials(self, resource: str) -> tuple[Ruling, ...]:
        """Return the denials on this type that have a condition."""
        kept_denials = self._denials.get(resource)
        if kept_denials is None:
            denials = (one for operation in Operation for one in self.reach(resource, operation).denials)
            kept_denials = self._denials[resource] = tuple({one for one in denials if one.condition != ALWAYS})
        return kept_denials

    def verdict(self, operation: Operation, resource: str, document: Document) -> Verdict:
        """Return the decision with the rule that made it."""
        reach, facts = self.reach(resource, operation), Facts(resource, document)
        denial = next((one for one in reach.denials if holds(one.condition, facts)), None)
        if denial is not None:
            return Verdict(False, denial)
        if self.subject.is_admin:
            return Verdict(True)
        allowance = next((one for one in reach.allowances if holds(one.condition, facts)), None)
        if allowance is None or holds(reach.scope, facts):
            return Verdict(allowance is not None, allowance)
        subject_verdicts = (self.verdict(Operation.VIEW_BASIC, kind, one) for kind, one in document.get(FOUND) or ())
        return next((one for one in subject_verdicts if not one.is_allowed), Verdict(False))

    def _work_out(self, resource: str, operation: Operation) -> Reach:
        if self.subject.is_admin:
            return Reach((), (), ALWAYS)
        rulings = tuple(self._rulings(resource, operation))
        denials = tuple(one for one in rulings if one.rule.effect is RuleEffect.DENY)
        allowances = tuple(one for one in rulings if one.rule.effect is RuleEffect.ALLOW)
        denied = disjunction_of(*(one.condition for one in denials))
        allowed_condition = disjunction_of(*(one.condition for one in allowances))
        scope = conjunction_of(negation_of(denied), allowed_condition, self._about(resource, operation))
        return Reach(denials, allowances, scope, inherited=inherited_keys(scope))

    def _about(self, resource: str, operation: Operation) -> Condition:
        """Return the conditions on the subjects of an entity of this type under which it is visible."""
        if not operation.value.startswith(_VIEW):
            return ALWAYS
        scopes = ((one, self.scope(one, Operation.VIEW_BASIC)) for one in ABOUT.get(resource, ()))
        narrowed = tuple((one, scope) for one, scope in scopes if scope is not ALWAYS)
        return About(resource, narrowed) if narrowed else ALWAYS

    def _rulings(self, resource: str, operation: Operation) -> Iterator[Ruling]:
        granted_rules = ((grant, rule) for grant in self.subject.grants for rule in grant.policy.rules)
        for grant, rule in granted_rules:
            if rule.is_about(resource, operation):
                bound_condition = bind(rule.condition, self.subject, grant, resource)
                condition = conjunction_of(guard(self.subject, grant), bound_condition)
                if condition != NEVER:
                    yield Ruling(condition, rule, grant)


def _is_by_ownership(ruling: Ruling) -> bool:
    """Return whether a ruling asks who owns the document."""
    asking_leaves = (leaf for leaf in leaves(ruling.rule.condition) if isinstance(leaf, Asks))
    return ruling.grant.is_foreign or any(leaf.question in _OF_OWNERSHIP for leaf in asking_leaves)
