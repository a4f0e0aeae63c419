"""Bulk filling of a store for benchmarks: rows that the database makes itself, without a disk that is waited for.

Only what fills is in a hurry: the connection that does it is closed afterwards. Next: ``bench/retention.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Engine

from bench.measured import Report

ENTITY_COUNT = 20_000
"""Entities that the events of a filled log are about, in turns by chance."""

FIRST_MS = 1_700_000_000_000
"""Time of the first event; each is a millisecond later than the one before."""

_AT_ONCE = 100_000
_HURRIED = {
    "sqlite": ("PRAGMA synchronous = OFF", "PRAGMA cache_size = -500000"),
    "postgresql": ("SET synchronous_commit = off",),
}
_NUMBERS = {
    "sqlite": "WITH RECURSIVE places(n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM places WHERE n < {last})",
    "postgresql": "WITH places(n) AS (SELECT generate_series(CAST({first} AS bigint), {last}))",
}
_HEX = {"sqlite": "printf('%012x', {})", "postgresql": "lpad(to_hex({}), 12, '0')"}
_TEXT = {"sqlite": "hex(randomblob(300))", "postgresql": "repeat(md5(CAST(n AS text)), 19)"}
_EVENTS = """
INSERT INTO change_event (log_offset, id, event_type, entity_type, entity_id, entity_fqn, user_name, timestamp_ms,
    document, derived)
SELECT n, id, event_type, 'table', entity_id, 'pg.store.public.orders', 'ana', {first_ms} + n - 1,
    '{{"id":"' || id || '","eventType":"' || event_type || '","entityType":"table","entityId":"' || entity_id
    || '","userName":"ana","timestamp":' || ({first_ms} + n - 1) || ',"entity":{{"id":"' || entity_id
    || '","description":"' || words || '"}}}}',
    '{{"fieldsAdded":[],"fieldsUpdated":["description"],"fieldsDeleted":[],"tags":[],"owners":[],"domains":[]}}'
FROM (
    SELECT n, '00000000-0000-7000-8000-' || {event} AS id, '00000000-0000-4000-8000-' || {entity} AS entity_id,
        CASE WHEN n % 10 = 1 THEN 'entityCreated' ELSE 'entityUpdated' END AS event_type, {words} AS words
    FROM places
) AS made
"""
_ENTRIES = """
INSERT INTO notification (id, event_id, log_offset, channel, recipient, recipient_id, reasons, due_at_ms, created_at_ms)
SELECT '00000000-0000-5000-8000-' || {event}, '00000000-0000-7000-8000-' || {event}, n, 'ActivityFeed', 'ana',
    '00000000-0000-4000-8000-' || {entity}, '[]', 1, 1
FROM places WHERE n % 10 = 2
"""


@contextmanager
def hurrying(engine: Engine) -> Iterator[Callable[[str], None]]:
    """Yield what runs and commits a statement on a connection that does not wait for the disk, closed at the end."""
    connection = engine.raw_connection()
    cursor = connection.cursor()

    def run(statement: str) -> None:
        cursor.execute(statement)
        connection.commit()

    try:
        for statement in _HURRIED[engine.dialect.name]:
            run(statement)
        yield run
    finally:
        connection.invalidate()


def fill_log(engine: Engine, after: int, through: int, report: Report, *, with_entries: bool = False) -> None:
    """Fill the log above one offset, through another: changes of tables, each event of about 1 kB.

    One in ten is a creation; ``with_entries``: of the others, one in nine has an entry in an inbox.
    """
    dialect = engine.dialect.name
    with hurrying(engine) as run:
        for first in range(after + 1, through + 1, _AT_ONCE):
            report(first - after, through - after)
            for statement in (_EVENTS, _ENTRIES) if with_entries else (_EVENTS,):
                run(_statement_of(dialect, statement, first, min(first + _AT_ONCE - 1, through)))
        if dialect == "postgresql":
            run(f"SELECT setval('change_event_log_offset_seq', {through})")


def event_id(offset: int) -> str:
    """Return the id of a filled event."""
    return f"00000000-0000-7000-8000-{offset:012x}"


def with_numbers(dialect: str, statement: str, first: int, last: int) -> str:
    """Return a statement with ``places``, whose rows are numbers ``n`` from the first through the last one."""
    return f"{_NUMBERS[dialect].format(first=first, last=last)}{statement}"


def hex_of(dialect: str, expression: str) -> str:
    """Return the expression of a number in twelve hexadecimal digits, the end of an id."""
    return _HEX[dialect].format(expression)


def _statement_of(dialect: str, statement: str, first: int, last: int) -> str:
    values = {
        "event": hex_of(dialect, "n"),
        "entity": hex_of(dialect, f"(n * 7919) % {ENTITY_COUNT}"),
        "words": _TEXT[dialect],
        "first_ms": FIRST_MS,
    }
    return with_numbers(dialect, statement.format(**values), first, last)
