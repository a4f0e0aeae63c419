"""Tables of the search index: two that both stores share, and the full-text table of each store.

``search_words`` is an FTS5 table on SQLite and one of ``tsvector`` columns with a GIN index on PostgreSQL, so it is
created by separate statements. Next: ``store/catalogue/search/writes.py`` fills them,
``store/catalogue/search/matching.py`` queries them.
"""

from __future__ import annotations

from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
    Column,
    Index,
    String,
    Table,
    UniqueConstraint,
    column,
    event,
    table,
)
from sqlalchemy.schema import ExecutableDDLElement

from tocsin.search.fields import WORD_COLUMNS
from tocsin.store.database.dialects import per_store
from tocsin.store.database.tables import CODE_POINT_TEXT, ID, METADATA, SERIAL

search_entry = Table(
    "search_entry",
    METADATA,
    Column("number", SERIAL, primary_key=True, autoincrement=False),
    Column("entity_id", ID, nullable=False),
    Column("log_offset", BigInteger, nullable=False),
    Column("entity_type", String(40), nullable=False),
    Column("deleted", Boolean, nullable=False),
    Column("usage_count", BigInteger, nullable=False),
    Column("updated_at_ms", BigInteger, nullable=False),
    Column("fqn", CODE_POINT_TEXT, nullable=False),
    Column("fqn_key", CODE_POINT_TEXT, nullable=False),
    Column("name_key", CODE_POINT_TEXT, nullable=False),
    Column("name_words", CODE_POINT_TEXT, nullable=False),
    Column("display_key", CODE_POINT_TEXT, nullable=False),
    Column("display_words", CODE_POINT_TEXT, nullable=False),
    Column("service", CODE_POINT_TEXT),
    Column("service_type", CODE_POINT_TEXT),
    Column("tier", CODE_POINT_TEXT),
    UniqueConstraint("entity_id"),
    Index(None, "entity_type", "fqn"),
    Index(None, "fqn"),
    Index(None, "name_words"),
    Index(None, "display_words"),
)
"""One row per searchable entity, as of the event at ``log_offset``.

``…_key`` is the text in lower case, ``…_words`` its words, one blank between them (``search/tokens.py``).
"""

Index("ix_search_entry_rank", search_entry.c.usage_count.desc(), search_entry.c.fqn)

search_gone = Table(
    "search_gone",
    METADATA,
    Column("entity_id", ID, primary_key=True),
    Column("log_offset", BigInteger, nullable=False),
)
"""One row per hard-deleted entity: what is older than ``log_offset`` does not bring it back into the index."""

search_words = table(
    "search_words",
    column("number"),
    column("rowid"),
    *(column(name) for name in (*WORD_COLUMNS, "keys", "names", "words", "search_words")),
)
"""The words of each entry: ``NUMBER`` names it.

SQLite: one column for each of ``WORD_COLUMNS``, and ``keys``, the tokens of its facts. PostgreSQL: ``names`` (weight A
the name, B the display name), ``words`` (A path, B members, C description, D texts of members) and ``keys``.
"""

NUMBER = per_store(sqlite=search_words.c.rowid, postgresql=search_words.c.number)

ON_SQLITE = (
    "CREATE VIRTUAL TABLE search_words USING fts5(name, display_name, path, members, description, member_texts, keys,"
    " tokenize = 'unicode61 remove_diacritics 0', columnsize = 0)"
)
ON_POSTGRESQL = (
    "CREATE TABLE search_words (number BIGINT NOT NULL, names TSVECTOR NOT NULL, words TSVECTOR NOT NULL,"
    " keys TSVECTOR NOT NULL, CONSTRAINT pk_search_words PRIMARY KEY (number))",
    "CREATE INDEX ix_search_words_words ON search_words USING gin (names, words, keys)",
)


def _ddl(statement: str, dialect: str) -> ExecutableDDLElement:
    return DDL(statement).execute_if(dialect=dialect)  # type: ignore[no-untyped-call]  # SQLAlchemy's own


event.listen(search_entry, "after_create", _ddl(ON_SQLITE, "sqlite"))
for _statement in ON_POSTGRESQL:
    event.listen(search_entry, "after_create", _ddl(_statement, "postgresql"))
