"""Entities that access decisions depend on: labels, domains, teams and roles, which need stronger rights to edit.

Owners of one of these may describe it. To rename, move, disable, delete, transfer or fill it requires a right that
does not come from ownership; otherwise a protecting label could be removed by the people it excludes.
Next: ``flow/capture/authorization.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tocsin.access.nodes import Asks, Question
from tocsin.access.rules import Policy
from tocsin.logic import leaves
from tocsin.model.entity import Document

PROTECTIVE = frozenset(
    "name parent parents classification glossary owners tags disabled enabled mutuallyExclusive users policies "
    "defaultRoles isJoinable teamType rules".split()
)
"""Keys of what a policy rests on that decide what it says, or who decides that."""

_POWERS = frozenset({"role", "policy"})
_LABELS = frozenset({"classification", "tag", "glossary", "glossaryTerm"})
_OF_LABELS = (Question.MATCH_ANY_TAG, Question.MATCH_ALL_TAGS, Question.MATCH_ANY_CERTIFICATION)
_OF_DOMAINS = (Question.HAS_DOMAIN, Question.NO_DOMAIN)
_OF_TEAMS = (Question.IN_ANY_TEAM, Question.MATCH_TEAM)


@dataclass(frozen=True)
class PolicyDependencies:
    """What the conditions of all policies that are in use ask about."""

    labels: frozenset[str] = frozenset()
    asks_domains: bool = False
    asks_teams: bool = False

    def bears(self, resource: str, document: Document) -> bool:
        """Return whether a policy rests on this entity."""
        if resource in _POWERS:
            return True
        if resource == "domain":
            return self.asks_domains
        if resource == "team":
            return self.asks_teams or bool(document.get("policies") or document.get("defaultRoles"))
        return resource in _LABELS and self._names(document)

    def _names(self, document: Document) -> bool:
        fqn = str(document.get("fullyQualifiedName"))
        carried = {str(label.get("tagFQN")) for label in document.get("tags") or ()}
        is_named = any(label == fqn or label.startswith(f"{fqn}.") for label in self.labels)
        return is_named or not carried.isdisjoint(self.labels)


def policy_dependencies_of(policies: Iterable[Policy]) -> PolicyDependencies:
    """Return what these policies rest on."""
    rule_leaves = (leaf for policy in policies for rule in policy.rules for leaf in leaves(rule.condition))
    asking_leaves = [leaf for leaf in rule_leaves if isinstance(leaf, Asks)]
    labels = frozenset(name for leaf in asking_leaves if leaf.question in _OF_LABELS for name in leaf.names)
    questions = {leaf.question for leaf in asking_leaves}
    return PolicyDependencies(labels, not questions.isdisjoint(_OF_DOMAINS), not questions.isdisjoint(_OF_TEAMS))
