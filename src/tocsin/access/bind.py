"""Partial evaluation of a rule's condition for a known person; the result depends on the document alone.

Next: ``access/decide.py``.
"""

from __future__ import annotations

from tocsin.access.nodes import (
    Asks,
    Certified,
    Condition,
    HasDomain,
    InDomain,
    Leaf,
    Owned,
    OwnedBy,
    OwnedWithin,
    Question,
    Tagged,
)
from tocsin.access.rules import Policy
from tocsin.access.subject import Grant, Subject
from tocsin.logic import ALWAYS, NEVER, Constant, Not, conjunction_of, disjunction_of, leaves, replace_leaves

OUTSIDE_DOMAINS = frozenset(
    "user team role policy bot domain persona type eventsubscription notificationTemplate testDefinition".split()
)
"""Types without a domain: domain conditions are true for them. Source: upstream's list of the same kind."""


def bind(condition: Condition, subject: Subject, grant: Grant, resource: str) -> Condition:
    """Return the condition on a document of this type that remains of ``condition``, in a rule granted by ``grant``."""

    def answer_leaf(leaf: Leaf) -> Condition:
        return _answer(leaf, subject, grant, resource) if isinstance(leaf, Asks) else leaf

    return replace_leaves(condition, answer_leaf)


def guard(subject: Subject, grant: Grant) -> Condition:
    """Return the condition under which the policy of another team applies to a document."""
    if not grant.is_foreign:
        return ALWAYS
    return OwnedWithin(grant.team_id or "", _members(subject, grant.team_id), teams_only=True)


def _answer(leaf: Asks, subject: Subject, grant: Grant, resource: str) -> Condition:
    match leaf.question:
        case Question.IS_ADMIN:
            return Constant(subject.is_admin)
        case Question.IS_BOT:
            return Constant(subject.is_bot)
        case Question.IN_ANY_TEAM:
            return Constant(not subject.team_names.isdisjoint(leaf.names))
        case Question.HAS_ANY_ROLE:
            return Constant(not subject.role_names.isdisjoint(leaf.names))
        case Question.IS_OWNER:
            return OwnedBy(frozenset({subject.id, *subject.teams}))
        case Question.HAS_DOMAIN:
            return _shares_domain(subject, resource)
        case Question.MATCH_TEAM:
            return _owner_within_policy_team(subject, grant)
        case _:
            return _about_document(leaf, subject)


def _about_document(leaf: Asks, subject: Subject) -> Condition:
    """Return the part of the condition that depends on the document alone."""
    match leaf.question:
        case Question.NO_OWNER:
            return Not(Owned())
        case Question.NO_DOMAIN:
            return Not(HasDomain())
        case Question.MATCH_ALL_TAGS:
            return conjunction_of(*(_tag_condition(name, subject) for name in leaf.names))
        case Question.MATCH_ANY_TAG:
            return disjunction_of(*(_tag_condition(name, subject) for name in leaf.names))
        case _:
            return Certified(frozenset(leaf.names))


def _tag_condition(name: str, subject: Subject) -> Condition:
    return Tagged(name, subject.carriers.get(name, frozenset()))


def _shares_domain(subject: Subject, resource: str) -> Condition:
    if resource in OUTSIDE_DOMAINS:
        return ALWAYS
    return InDomain(subject.domains) if subject.domains else Not(HasDomain())


def _owner_within_policy_team(subject: Subject, grant: Grant) -> Condition:
    """Return "an owner is under the team of this policy", which those who are not under it never match."""
    if grant.team_id is None or grant.is_foreign:
        return NEVER
    if grant.team_id == subject.organization_id:
        return Owned()  # everybody is in the organization
    return OwnedWithin(grant.team_id, _members(subject, grant.team_id))


def _members(subject: Subject, team_id: str | None) -> frozenset[str]:
    return subject.members.get(team_id or "", frozenset({team_id or ""}))


def asks_for_team(policy: Policy) -> bool:
    """Return whether a rule of the policy asks who is in the team that it is attached to."""
    rule_leaves = (leaf for rule in policy.rules for leaf in leaves(rule.condition))
    return any(isinstance(leaf, Asks) and leaf.question is Question.MATCH_TEAM for leaf in rule_leaves)
