"""Tests of the cache of compiled policies."""

from __future__ import annotations

from collections.abc import Collection

from tests.unit.access.people import ALICE, policy, rule

from tocsin.access.permission_cache import PermissionCache
from tocsin.access.rules import Policy
from tocsin.access.subject import Grant, Subject
from tocsin.model.access import Operation


class Kept:
    """Subjects that count how often they are asked for."""

    def __init__(self, *rules: dict[str, object]) -> None:
        self.now, self.asked = 1, 0
        self.policy, self.is_used = policy(*rules), True

    def revision(self) -> int:
        return self.now

    def subjects(self, user_ids: Collection[str]) -> dict[str, Subject]:
        self.asked += 1
        return {one: Subject(one, one, grants=(Grant(self.policy),)) for one in user_ids if one == ALICE}

    def stranger(self) -> Subject:
        return Subject("", "", grants=(Grant(self.policy),))

    def policies(self) -> list[Policy]:
        return [self.policy]

    def policies_in_use(self) -> set[str]:
        return {self.policy.id} if self.is_used else set()


def test_a_view_is_kept_until_something_changes() -> None:
    subjects = Kept(rule("allow", "ViewAll"))
    permission_cache = PermissionCache(subjects)
    first = permission_cache.current_policies().of(ALICE)
    assert permission_cache.current_policies().of(ALICE) is first
    assert subjects.asked == 1
    subjects.now, subjects.policy = 2, policy(rule("deny", "All"))
    assert not permission_cache.current_policies().of(ALICE).may(Operation.VIEW_BASIC, "table", {})
    assert subjects.asked == 2


def test_who_is_not_there_may_nothing_and_is_not_kept() -> None:
    permission_cache = PermissionCache(Kept(rule("allow", "ViewAll")))
    assert not permission_cache.current_policies().of("nobody").may(Operation.VIEW_BASIC, "table", {})
    assert set(permission_cache.current_policies().of_many([ALICE, "nobody"])) == {ALICE, "nobody"}


def test_a_type_is_open_while_strangers_may_view_it_and_no_policy_denies_it() -> None:
    subjects = Kept(rule("allow", "ViewAll", on="table topic"), rule("deny", "All", on="topic", when="isBot()"))
    permission_cache = PermissionCache(subjects)
    assert [permission_cache.current_policies().is_open(one) for one in ("table", "topic", "chart")] == [
        True,
        False,
        False,
    ]
    subjects.now, subjects.policy = 2, policy(rule("allow", "ViewAll", when="isOwner()"))
    assert not permission_cache.current_policies().is_open("table")


def test_what_denies_only_counts_while_somebody_is_under_it() -> None:
    subjects = Kept(rule("allow", "ViewAll"), rule("deny", "All", on="topic"))
    subjects.is_used = False
    assert PermissionCache(subjects).current_policies().is_open("table")
    subjects.is_used = True
    assert not PermissionCache(subjects).current_policies().is_open("topic")
