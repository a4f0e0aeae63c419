"""Assets that threads and test cases are about: their followers, lineage and mutes count for these as well.

One statement for all ids, and a second one only where there are test cases. Next: ``store/recipients/directory.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, literal, select, union_all

from tocsin.chunks import chunks_of
from tocsin.model import fqn
from tocsin.store.catalogue.relations.past import ABOVE
from tocsin.store.database.entity_names import PRESENT_OR_DELETED, is_of_type
from tocsin.store.database.feed_tables import thread, tombstone_part
from tocsin.store.database.keys import is_one_of, rows_by_key
from tocsin.store.database.tables import change_event, entity, past_relation

_TEST, _TABLE, _POLICY = "testCase", "table", "policy"
_TABLE_PARTS = 4


class SubjectAssets(NamedTuple):
    """The id of the asset that each thing is about, by its own: that of threads, and the table of test cases.

    ``policies`` are those of the things that are policies: what each of their events is about, it says itself.
    """

    of_threads: Mapping[str, str]
    of_tests: Mapping[str, str]
    policies: frozenset[str] = frozenset()

    def of(self, entity_id: str) -> str:
        """Return the asset that an entity is about; itself where it is about none."""
        return self.of_threads.get(entity_id) or self.of_tests.get(entity_id, entity_id)

    def items(self) -> list[tuple[str, str]]:
        """Return all pairs of a thing and its asset."""
        return [*self.of_threads.items(), *self.of_tests.items()]


class KnownSubjects:
    """What has been found of the assets that some events are about; it lives as long as the work on these events."""

    def __init__(self) -> None:
        self._ids = set[str]()
        self._threads: dict[str, str] = {}
        self._tests: dict[str, str] = {}
        self._policies: frozenset[str] = frozenset()

    def of(self, connection: Connection, ids: Collection[str]) -> SubjectAssets:
        """Return what each of these is about."""
        if unknown := set(ids) - self._ids:
            threads, tests, policies = find_subject_assets(connection, unknown)
            self._threads |= threads
            self._tests |= tests
            self._policies |= policies
            self._ids |= unknown
        threads, tests = _assets_among(self._threads, ids), _assets_among(self._tests, ids)
        return SubjectAssets(threads, tests, self._policies.intersection(ids))


def _assets_among(assets: Mapping[str, str], ids: Collection[str]) -> dict[str, str]:
    return {one: assets[one] for one in ids if one in assets} if assets else {}


def find_subject_assets(connection: Connection, ids: Collection[str]) -> SubjectAssets:
    """Return, for those of ``ids`` that are threads or test cases, what each is about, or was before a hard delete."""
    threads: dict[str, str] = {}
    tests: dict[str, str] = {}
    tested: dict[str, str] = {}
    policies: dict[str, str] = {}
    for chunk in chunks_of(sorted(ids)):
        for kind, entity_id, about in connection.execute(union_all(*_queries(connection, chunk))):
            {"thread": threads, "name": tested, "table": tests, _POLICY: policies}[kind][entity_id] = about
    return SubjectAssets(threads, tests | _tables(connection, tested), frozenset(policies))


def _queries(connection: Connection, ids: Collection[str]) -> list[Select[Any]]:
    deleted_part, past, test = tombstone_part.c, past_relation.c, entity.alias("test").c
    policy = entity.alias("policy").c
    is_test = select(change_event.c.id).where(
        change_event.c.entity_id == past.entity_id, is_of_type(change_event.c.entity_type, _TEST)
    )
    deleted_subjects = select(literal("table"), past.entity_id, past.other_id).where(
        is_one_of(connection, past.entity_id, ids), past.relation.like(f"{ABOVE}%"), past.other_type == _TABLE
    )
    return [
        select(literal("thread"), thread.c.id, thread.c.about_id).where(is_one_of(connection, thread.c.id, ids)),
        select(literal("thread"), deleted_part.thread_id, deleted_part.about_id).where(
            is_one_of(connection, deleted_part.thread_id, ids)
        ),
        select(literal("name"), test.id, test.fqn).where(
            is_one_of(connection, test.id, ids), is_of_type(test.entity_type, _TEST)
        ),
        deleted_subjects.where(is_test.exists()),
        select(literal(_POLICY), policy.id, policy.id).where(
            is_one_of(connection, policy.id, ids), is_of_type(policy.entity_type, _POLICY)
        ),
    ]


def _tables(connection: Connection, tested: Mapping[str, str]) -> dict[str, str]:
    """Return the table of each test case, given by id with its FQN: ``service.database.schema.table[.column].name``."""
    names = {test: fqn.join(fqn.split(name)[:_TABLE_PARTS]) for test, name in tested.items()}
    tables = select(entity.c.fqn, entity.c.id).where(entity.c.entity_type == _TABLE, PRESENT_OR_DELETED)
    ids = {row.fqn: row.id for row in rows_by_key(connection, tables, entity.c.fqn, set(names.values()))}
    return {test: ids[name] for test, name in names.items() if name in ids}
