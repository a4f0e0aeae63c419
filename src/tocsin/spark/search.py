"""Search index entries of entities, computed from their documents with native Spark functions.

Words are normalized as ``search/tokens.py`` normalizes those of a query; ``tests/entries.py`` is the Python reference.
Next: ``jobs/search_stream.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BooleanType, DataType, LongType, StringType, StructField, StructType

from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.search.fields import EXISTS, ONLY_EXISTS, PART, REFERENCE_KEYS, REFERENCES, SCALARS, TEXT_LISTS
from tocsin.search.indexes import SEARCHED
from tocsin.search.nodes import ANY_ENTRY
from tocsin.search.tokens import ACCENTED, CAMEL, LONGEST_NAME, LONGEST_TEXT, PLAIN, TOKEN_LENGTH

DEEPEST_MEMBER = 5
"""Levels of nested members (columns in columns) that are indexed."""

_TEXT = StringType()
_MEMBER_PATHS = tuple(sorted({path for name in SEARCHED for path in ENTITY_TYPES[name].member_paths}))
_PART_OF_NAME = r'"(?:[^"]|"")*"|[^".]+'
_PEOPLE = ("user", "team")
_VIEW = "tocsin_entries"
_LAST = "SELECT entry.* FROM (SELECT max_by(struct(*), log_offset) AS entry FROM tocsin_entries GROUP BY entity_id)"


def search_events(events: DataFrame) -> DataFrame:
    """Return the entity state that each of ``EVENTS`` carries.

    One row per event about an indexed entity. Needs ``log_offset``, ``event_type``, ``entity_type``, ``entity_id`` and
    ``event``; returns the columns that ``entries`` needs. An event about something that belongs to an entity, and not
    the entity itself, does not carry its document.
    """
    read = F.from_json("event", StructType([StructField("entity", _DOCUMENT)])).getField("entity")
    states = _states(events, is_gone=F.col("event_type") == "entityDeleted", document=read)
    return states.where(F.col("document.id") == F.col("entity_id"))


def last_of(batch: DataFrame) -> DataFrame:
    """Return, of the entries of a micro-batch, the last one of each entity.

    One row per entity, columns as they were; needs ``entity_id`` and ``log_offset``. Shuffles by entity. It is written
    as SQL because a micro-batch should cost few calls to the JVM; ``entries`` is put together once.
    """
    batch.createOrReplaceTempView(_VIEW)
    return batch.sparkSession.sql(_LAST)


def entities_to_index(entities: DataFrame) -> DataFrame:
    """Return the same for the catalogue's entities: one row per indexed entity, from ``catalogue.STORED``."""
    return _states(entities, is_gone=F.lit(False), document=F.from_json("document", _DOCUMENT))


def _states(frame: DataFrame, *, is_gone: Column, document: Column) -> DataFrame:
    """Return the columns that ``entries`` needs of the rows about indexed entities."""
    columns = ("log_offset", "entity_id", "entity_type", is_gone.alias("is_gone"), document.alias("document"))
    return frame.where(F.col("entity_type").isin(*SEARCHED)).select(*columns)


def entries(states: DataFrame) -> DataFrame:
    """Return the entry of every state: the columns of ``search_entry`` and ``search_words``, and ``is_gone``.

    One row per row of ``states``, which needs ``log_offset``, ``entity_id``, ``entity_type``, ``is_gone`` and
    ``document``. No shuffle; streaming-safe.
    """
    described_states = states.select("*", _members().alias("members"), _tags(_column_at("tags")).alias("own_tags"))
    described_states = described_states.withColumn(
        "member_tags", F.flatten(F.transform("members", lambda one: _tags(one["tags"])))
    )
    described_states = described_states.withColumn("tiers", F.filter("own_tags", lambda tag: tag.startswith("Tier.")))
    name, display = _column_at("name"), _or_empty(_column_at("displayName"))
    fqn = F.coalesce(_column_at("fullyQualifiedName"), name)
    texts = F.concat_ws(" ", *(_or_empty(_column_at(key)) for key in ("description", "email", "query")))
    return described_states.select(
        "log_offset",
        "entity_id",
        "entity_type",
        "is_gone",
        (F.lower(_or_empty(_column_at("deleted"))) == "true").alias("deleted"),
        F.coalesce(_column_at("usageSummary.weeklyStats.count"), F.lit(0).cast("long")).alias("usage_count"),
        F.coalesce(_column_at("updatedAt"), F.lit(0).cast("long")).alias("updated_at_ms"),
        fqn.alias("fqn"),
        F.lower(fqn).alias("fqn_key"),
        F.lower(name).alias("name_key"),
        F.substring(words(name), 1, LONGEST_NAME).alias("name_words"),
        F.lower(display).alias("display_key"),
        F.substring(words(display), 1, LONGEST_NAME).alias("display_words"),
        _column_at("service.name").alias("service"),
        _column_at("serviceType").alias("service_type"),
        F.get("tiers", F.lit(0)).alias("tier"),
        name_words(name).alias("name"),
        name_words(display).alias("display_name"),
        words(fqn).alias("path"),
        _join_members(("name", "displayName"), name_words).alias("members"),
        words(texts).alias("description"),
        _join_members(("description",), words).alias("member_texts"),
        F.array_join(F.array_sort(F.array_distinct(_keys(fqn, name))), " ").alias("keys"),
    )


def words(text: Column) -> Column:
    """Return the words of a text with a blank between them, as ``search/tokens.words_of`` does."""
    return _apart(F.regexp_replace(_plain(text), CAMEL, " "))


def name_words(text: Column) -> Column:
    """Return the words under which a name is found, as ``search/tokens.names_of`` does."""
    apart, together = words(text), _apart(_plain(text))
    return F.when(apart == together, apart).otherwise(F.concat_ws(" ", apart, together))


def _plain(text: Column) -> Column:
    return F.translate(F.substring(text, 1, LONGEST_TEXT), ACCENTED, PLAIN)


def _apart(text: Column) -> Column:
    return F.trim(F.regexp_replace(F.lower(text), r"[^\p{L}\p{N}]+", " "))


def _no_texts() -> Column:
    return F.array().cast(ArrayType(_TEXT))


def _column_at(path: str) -> Column:
    return F.col(f"document.{path}")


def _or_empty(text: Column) -> Column:
    return F.coalesce(text, F.lit(""))


def _tags(labels: Column) -> Column:
    return F.coalesce(F.transform(labels, lambda label: label["tagFQN"]), _no_texts())


def _members() -> Column:
    """Return all members of an entity, those of members included, a level at a time."""
    levels = []
    level = F.concat(*(F.coalesce(_column_at(".".join(path)), _no_members(0)) for path in _MEMBER_PATHS))
    for depth in range(DEEPEST_MEMBER):
        levels.append(F.transform(level, _flat))
        if depth + 1 < DEEPEST_MEMBER:
            level = F.flatten(F.transform(level, _children(_no_members(depth + 1))))
    return F.concat(*levels)


def _children(none: Column) -> Callable[[Column], Column]:
    return lambda member: F.coalesce(member["children"], none)


def _flat(member: Column) -> Column:
    return F.struct(*(member[key].alias(key) for key in _MEMBER_KEYS))


def _no_members(depth: int) -> Column:
    return F.array().cast(ArrayType(_member(depth)))


def _join_members(keys: Sequence[str], make: Callable[[Column], Column]) -> Column:
    texts = [F.transform(F.col(f"members.{key}"), lambda text: make(_or_empty(text))) for key in keys]
    return F.array_join(F.filter(F.concat(*texts), lambda text: text != ""), " ")


def _keys(fqn: Column, name: Column) -> Column:
    """Return the tokens of all facts about an entity, as ``search/tokens.token_of`` makes them."""
    parts = F.transform(F.regexp_extract_all(fqn, F.lit(_PART_OF_NAME), F.lit(0)), _unquote)
    values_by_field = {"entityType": F.col("entity_type"), "fullyQualifiedName": fqn}
    values_by_field |= {"name": name, "displayName": _column_at("displayName")}
    values_by_field |= {field: _scalar(field) for field in SCALARS}
    often = {
        PART: parts,
        "tags.tagFQN": F.concat("own_tags", "member_tags"),
        "columns.tags.tagFQN": F.col("member_tags"),
        "tier.tagFQN": F.col("tiers"),
        EXISTS: F.array(*_existing_fields()),
    }
    often |= {field: F.coalesce(_column_at(field), _no_texts()) for field in TEXT_LISTS}
    facts = [F.array(*(_fact(field, value) for field, value in values_by_field.items()))]
    facts += [F.transform(values, _fact_of(field)) for field, values in often.items()]
    facts += [_facts_of_references(key) for key in REFERENCES]
    existing_facts = F.filter(F.concat(*facts), lambda fact: fact.isNotNull())
    tokens = F.transform(existing_facts, lambda fact: F.substring(F.md5(fact), 1, TOKEN_LENGTH))
    return F.concat(F.array(F.lit(ANY_ENTRY)), tokens)


def _fact(field: str, value: Column) -> Column:
    return F.concat(F.lit(f"{field}="), F.lower(value))


def _fact_of(field: str) -> Callable[[Column], Column]:
    return lambda value: _fact(field, value)


def _facts_of_references(key: str) -> Column:
    facts = F.transform(
        _own_references(key), lambda one: F.array(*(_fact(f"{key}.{part}", one[part]) for part in REFERENCE_KEYS))
    )
    return F.coalesce(F.flatten(facts), _no_texts())


def _own_references(key: str) -> Column:
    """Return an entity's own references; inherited ones are computed at search time."""
    return F.filter(_column_at(key), lambda one: ~F.coalesce(one["inherited"], F.lit(False)))


def _scalar(field: str) -> Column:
    value = _column_at(".".join(SCALARS[field]))
    if field != "isBot":
        return value
    return F.coalesce(value, F.when(F.col("entity_type").isin(*_PEOPLE), F.lit("false")))


def _existing_fields() -> list[Column]:
    """Return the names of the fields that hold something, null for the others."""
    conditions = {field: _scalar(field).isNotNull() for field in SCALARS}
    for field in ONLY_EXISTS:
        conditions[field] = (
            _null_if_empty(_column_at(field)).isNotNull() if field in _TEXTS else F.size(_at_list(field)) > 0
        )
    return [F.when(holds, F.lit(field)) for field, holds in conditions.items()]


def _at_list(field: str) -> Column:
    lists = {"tags": F.concat("own_tags", "member_tags"), "tier": F.col("tiers")}
    return lists.get(
        field, _own_references(field) if field in REFERENCES else F.coalesce(_column_at(field), _no_texts())
    )


def _null_if_empty(text: Column) -> Column:
    return F.when(text != "", text)


def _unquote(part: Column) -> Column:
    inside = F.regexp_replace(F.substring(part, F.lit(2), F.length(part) - 2), '""', '"')
    return F.when(part.startswith('"'), inside).otherwise(part)


_TEXTS = ("schemaDefinition", "description", "displayName")
_TAGS = ArrayType(StructType([StructField("tagFQN", _TEXT)]))
_REFERENCE = [*(StructField(key, _TEXT) for key in REFERENCE_KEYS), StructField("inherited", BooleanType())]
_REFERENCE_LIST = ArrayType(StructType(_REFERENCE))
_MEMBER_KEYS = ("name", "displayName", "description", "tags")


def _member(depth: int) -> StructType:
    """Return what of a member is read; its own members are of one level less."""
    fields = [StructField(key, _TAGS if key == "tags" else _TEXT) for key in _MEMBER_KEYS]
    if depth + 1 < DEEPEST_MEMBER:
        fields.append(StructField("children", ArrayType(_member(depth + 1))))
    return StructType(fields)


def _document() -> StructType:
    """Return the document keys that are read, for every type."""
    kinds: dict[tuple[str, ...], DataType] = dict.fromkeys(SCALARS.values(), _TEXT)
    kinds |= {(key,): _TEXT for key in ("id", "name", "fullyQualifiedName", "deleted", "query", *_TEXTS)}
    kinds |= {(key,): _REFERENCE_LIST for key in REFERENCES}
    kinds |= {(key,): ArrayType(_TEXT) for key in TEXT_LISTS}
    kinds |= {path: ArrayType(_member(0)) for path in _MEMBER_PATHS}
    kinds |= {("tags",): _TAGS, ("updatedAt",): LongType(), ("usageSummary", "weeklyStats", "count"): LongType()}
    return _nested_type(kinds)


def _nested_type(kinds: dict[tuple[str, ...], DataType]) -> StructType:
    fields = []
    for head in dict.fromkeys(path[0] for path in kinds):
        inside = {path[1:]: kind for path, kind in kinds.items() if path[0] == head}
        fields.append(StructField(head, inside[()] if () in inside else _nested_type(inside)))
    return StructType(fields)


_DOCUMENT = _document()
"""What of an entity's document is read."""
