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
from tocsin.access.policy_dependencies import PolicyDependencies, footing_of
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
    """Permissions of the current policies: the revision was read once, when this object was made."""

    def __init__(self, cache: PermissionCache, revision: int) -> None:
        self._cache, self._revision = cache, revision

    @cached_property
    def _openness(self) -> _Openness:
        return self._cache.openness(self._revision)

    def of(self, user_id: str) -> Permissions:
        """Return what this person or bot may do; who is not there may do nothing."""
        return self.of_many((user_id,))[user_id]

    def of_many(self, user_ids: Collection[str]) -> dict[str, Permissions]:
        """Return the permissions of these people, looking up together those that are not cached."""
        return self._cache.at(self._revision, user_ids)

    def footing(self) -> PolicyDependencies:
        """Return what the policies in use rest on."""
        return self._openness.footing

    def is_open(self, resource: str) -> bool:
        """Return whether every person may view every entity of this type.

        If so, no policies need to be looked up to show one or to notify about one.
        """
        return self._openness.holds_for(resource)

    def are_all_open(self) -> bool:
        """Return whether every person may view every entity of all types."""
        return self._openness.holds_for_all

    def view_extent(self, user_id: str, resources: Collection[str]) -> ViewExtent:
        """Return how much somebody may view of these types, ``all`` for every type, whatever entities there are."""
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
        """Return whether somebody who is there may not view everything."""
        subject = permissions.subject
        if not subject.id or permissions.views_everything:
            return False
        return subject.is_bot or not self.are_all_open()


class PermissionCache:
    """Compiled policies of the people whom one process asks about; safe to share between threads."""

    def __init__(self, subjects: Subjects) -> None:
        self._subjects = subjects
        self._lock = threading.Lock()
        self._revision = -1
        self._kept: dict[str, Permissions] = {}
        self._open: _Openness | None = None

    def now(self) -> PolicySnapshot:
        """Return the permissions of the current policies; cached ones of an earlier revision are dropped."""
        revision = self._subjects.revision()
        with self._lock:
            if revision != self._revision:
                self._revision, self._kept, self._open = revision, {}, None
        return PolicySnapshot(self, revision)

    def at(self, revision: int, user_ids: Collection[str]) -> dict[str, Permissions]:
        """Return the permissions of these people; kept only while ``revision`` is the present one."""
        with self._lock:
            kept_permissions = self._kept if revision == self._revision else {}
            cached = {user_id: kept_permissions[user_id] for user_id in user_ids if user_id in kept_permissions}
        missing = [user_id for user_id in user_ids if user_id not in cached]
        if not missing:
            return cached
        subjects_by_user = self._subjects.subjects(missing)
        new_permissions = {user_id: Permissions(subjects_by_user.get(user_id, _NOBODY)) for user_id in missing}
        self._keep(
            revision,
            {user_id: permissions for user_id, permissions in new_permissions.items() if user_id in subjects_by_user},
        )
        return cached | new_permissions

    def openness(self, revision: int) -> _Openness:
        """Return what strangers may view and what policies deny, worked out once for as long as nothing changes."""
        with self._lock:
            if revision == self._revision and self._open is not None:
                return self._open
        used = self._subjects.policies_in_use()
        new_openness = _Openness(self._subjects.policies(), used, Permissions(self._subjects.stranger()))
        with self._lock:
            if revision == self._revision:
                self._open = new_openness
        return new_openness

    def _keep(self, revision: int, permissions_by_user: Mapping[str, Permissions]) -> None:
        with self._lock:
            if revision != self._revision:
                return
            if len(self._kept) + len(permissions_by_user) > MOST_KEPT:
                self._kept = {}
            self._kept.update(permissions_by_user)


class _Openness:
    """What a stranger may view, and what some policy that is used denies to anybody."""

    def __init__(self, policies: Iterable[Policy], used: Collection[str], stranger: Permissions) -> None:
        self._policies = tuple(policies)
        self.footing = footing_of(policy for policy in self._policies if policy.id in used)
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
