"""Cache of compiled policies per person, valid until access rules change.

A store counts such changes (``Subjects.revision``); comparing the count validates the cache.
Next: ``flow/resolve/only_visible.py``; ``store/catalogue/access/subjects.py`` answers ``Subjects``.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Protocol

from tocsin.access.decide import Permissions
from tocsin.access.policy_dependencies import PolicyDependencies, policy_dependencies_of
from tocsin.access.rules import Policy, RuleEffect
from tocsin.access.subject import Subject
from tocsin.access.visibility_parents import ABOUT
from tocsin.logic import ALWAYS, NEVER
from tocsin.model.access import Operation
from tocsin.model.alert_editor import ViewExtent
from tocsin.model.entity_types import ENTITY_TYPES

MOST_KEPT = 20_000
"""People whose permissions one process caches."""

_NOBODY = Subject(id="", name="")


class Subjects(Protocol):
    """Looks up subjects. Its cost depends on the people requested, not on the number of all people."""

    def revision(self) -> int:
        """Return a number that grows with every change of a policy, role, team or user that rules depend on."""

    def subjects(self, user_ids: Collection[str]) -> Mapping[str, Subject]:
        """Return the people and bots of those ids; unknown and deleted ones have no entry."""

    def stranger(self) -> Subject:
        """Return what everybody is at least: a person in no team, with no role of their own."""

    def policies(self) -> Iterable[Policy]:
        """Return all policies."""

    def policies_in_use(self) -> Collection[str]:
        """Return the ids of the policies that some team or role has."""


class PolicySnapshot:
    """Permissions of the policies of one revision, kept for the people who were asked about; safe to share.

    The revision was read once, before this object was made.
    """

    def __init__(self, subjects: Subjects, revision: int) -> None:
        self.revision = revision
        self._subjects = subjects
        self._lock = threading.Lock()
        self._kept: dict[str, Permissions] = {}

    def of(self, user_id: str) -> Permissions:
        """Return what this person or bot may do; who is not there may do nothing."""
        return self.of_many((user_id,))[user_id]

    def of_many(self, user_ids: Collection[str]) -> dict[str, Permissions]:
        """Return the permissions of these people, looking up together those that are not cached."""
        kept_permissions = self._kept
        cached_permissions = {user_id: kept_permissions[user_id] for user_id in user_ids if user_id in kept_permissions}
        missing_ids = [user_id for user_id in user_ids if user_id not in cached_permissions]
        if not missing_ids:
            return cached_permissions
        subjects_by_user = self._subjects.subjects(missing_ids)
        new_permissions = {user_id: Permissions(subject) for user_id, subject in subjects_by_user.items()}
        with self._lock:
            if len(self._kept) + len(new_permissions) > MOST_KEPT:
                self._kept = {}
            self._kept.update(new_permissions)
        permissions_of_unknown = {
            user_id: Permissions(_NOBODY) for user_id in missing_ids if user_id not in subjects_by_user
        }
        return cached_permissions | new_permissions | permissions_of_unknown

    @cached_property
    def _openness(self) -> _Openness:
        used = self._subjects.policies_in_use()
        return _Openness(self._subjects.policies(), used, Permissions(self._subjects.stranger()))

    def dependencies(self) -> PolicyDependencies:
        """Return what the policies in use rest on."""
        return self._openness.dependencies

    def is_open(self, resource: str) -> bool:
        """Return whether every person may view every entity of this type.

        If so, no policies need to be looked up to show one or to notify about one.
        """
        return self._openness.holds_for(resource)

    def are_all_open(self) -> bool:
        """Return whether every person may view every entity of all types."""
        return self._openness.holds_for_all

    def view_extent(self, user_id: str, resources: Collection[str]) -> ViewExtent:
        """Return how much a person may view of these types, ``all`` for every type, whatever entities there are."""
        permissions = self.of(user_id)
        if not permissions.subject.id:
            return ViewExtent.DELETED
        kinds = ENTITY_TYPES.keys() if "all" in resources else ENTITY_TYPES.keys() & set(resources)
        scopes = (
            [permissions.scope(kind, Operation.VIEW_BASIC) for kind in kinds] if self.is_limited(permissions) else []
        )
        if all(scope is ALWAYS for scope in scopes):
            return ViewExtent.EVERYTHING
        return ViewExtent.NOTHING if all(scope is NEVER for scope in scopes) else ViewExtent.PART

    def is_limited(self, permissions: Permissions) -> bool:
        """Return whether a person who is there may not view everything."""
        subject = permissions.subject
        if not subject.id or permissions.views_everything:
            return False
        return subject.is_bot or not self.are_all_open()


class PermissionCache:
    """The snapshot of the current policies, shared by all who ask in one process; safe to share between threads."""

    def __init__(self, subjects: Subjects) -> None:
        self._subjects = subjects
        self._lock = threading.Lock()
        self._snapshot = PolicySnapshot(subjects, -1)

    def current_policies(self) -> PolicySnapshot:
        """Return the permissions of the current policies; those of an earlier revision are dropped."""
        revision = self._subjects.revision()
        with self._lock:
            if revision != self._snapshot.revision:
                self._snapshot = PolicySnapshot(self._subjects, revision)
            return self._snapshot


class _Openness:
    """What a stranger may view, and what some policy that is used denies to anybody."""

    def __init__(self, policies: Iterable[Policy], used: Collection[str], stranger: Permissions) -> None:
        self._policies = tuple(policies)
        self.dependencies = policy_dependencies_of(policy for policy in self._policies if policy.id in used)
        rules = (rule for policy in self._policies if policy.id in used for rule in policy.rules)
        self._denials = [rule for rule in rules if rule.effect is RuleEffect.DENY]
        self._stranger = stranger
        self._known: dict[str, bool] = {}

    @cached_property
    def holds_for_all(self) -> bool:
        return all(self.holds_for(resource) for resource in ENTITY_TYPES)

    def holds_for(self, resource: str) -> bool:
        is_open = self._known.get(resource)
        if is_open is None:
            if not self._policies:
                return True  # nobody has founded anything here yet
            resources = (resource, *ABOUT.get(resource, ()))
            is_denied = any(rule.is_about(one, Operation.VIEW_BASIC) for rule in self._denials for one in resources)
            allows = self._stranger.scope(resource, Operation.VIEW_BASIC) is ALWAYS
            is_open = self._known[resource] = allows and not is_denied
        return is_open
