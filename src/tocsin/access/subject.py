"""Subject of an access decision: a person's roles, teams and applicable policies, as the store looks them up.

These are the policies of their own roles; for each of their teams and its ancestors, the policies and default roles;
and, guarded, the policies of other teams, which apply to what those teams own. A bot has the roles it was
assigned and inherits nothing. Source: OpenMetadata's ``SubjectContext``. Next: ``access/bind.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tocsin.access.rules import Policy

ORGANIZATION = "Organization"
"""The name of the team above all teams: people without a team are in it."""


@dataclass(frozen=True)
class Grant:
    """One policy that applies to a person, and its origin.

    Attributes
    ----------
    role : name of the role that brought it; None when a team has the policy itself
    team_id : the team it is attached to; None for a role of one's own
    is_foreign : that team is not theirs: the policy applies only to what the team owns
    """

    policy: Policy
    role: str | None = None
    team_id: str | None = None
    is_foreign: bool = False


@dataclass(frozen=True)
class Subject:
    """One person or bot, with the facts that rules read.

    Attributes
    ----------
    domains : ids of the domains they are in
    teams : ids of their teams and of all ancestors of those
    team_names, role_names : names of those teams, and of all their roles, direct or inherited
    members : for teams that a rule names, the ids of all members and teams in or below them, themselves included
    organization_id : the team above all teams, if there is one
    carriers : for labels that a rule names, the FQNs of the glossary terms from which they are derived
    """

    id: str
    name: str
    is_admin: bool = False
    is_bot: bool = False
    domains: frozenset[str] = frozenset()
    teams: frozenset[str] = frozenset()
    team_names: frozenset[str] = frozenset()
    role_names: frozenset[str] = frozenset()
    grants: tuple[Grant, ...] = ()
    members: Mapping[str, frozenset[str]] = field(default_factory=dict)
    organization_id: str | None = None
    carriers: Mapping[str, frozenset[str]] = field(default_factory=dict)
