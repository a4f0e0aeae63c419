"""Table of searchable fields and how each is matched, for queries, filters, facets and sorting.

A *word* field is matched by words, a *column* as a whole, a *fact* by its exact value. Source of the names:
OpenMetadata's index mappings and what its client sends. Next: ``search/parse.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tocsin.errors import InvalidInput
from tocsin.logic import ALWAYS, conjunction_of
from tocsin.model import fqn as names
from tocsin.model.entity_type import OWNING
from tocsin.model.phrases import nearest
from tocsin.search.nodes import CompareColumn, IndexedFact, Node, OfService, Referent, Words
from tocsin.search.tokens import token_of, words_of

NAMES = ("name", "display_name")
"""Columns of words that weigh more than the others."""

WORD_COLUMNS = (*NAMES, "path", "members", "description", "member_texts")
"""Every column of words, in the order in which the index holds them."""

MOST_WILDCARDS = 6
"""Signs ``*`` in one pattern."""

EXISTS = "exists"
"""The field of the facts that say that another field holds something."""

PART = "part"
"""The field of the facts that name one part of a fully qualified name."""


SERVICE_SHOWN = "service.displayName"
"""The field that is looked up in the services: what lies in one does not change when that is shown otherwise."""


@dataclass(frozen=True)
class SearchField:
    """How one field is found.

    Attributes
    ----------
    name : name of its facts; several fields of the table may share it
    words : columns whose words are searched; empty when it is found as a whole
    column : the entry's column that holds it as a whole, in lower case
    has_facts : whether its values are facts
    """

    name: str
    words: tuple[str, ...] = ()
    column: str | None = None
    has_facts: bool = False


SCALARS: dict[str, tuple[str, ...]] = {
    path: tuple(path.split("."))
    for path in (
        "serviceType tableType email isBot teamType disabled checksum processedLineage fullPath chartType "
        "dashboardType algorithm domainType metricType entityStatus provider sourceUrl entityFQN service.name "
        "service.fullyQualifiedName database.name databaseSchema.name glossary.name classification.name parent.name "
        "apiCollection.name certification.tagLabel.tagFQN testSuite.name testDefinition.name"
    ).split()
}
"""Facts that a document holds once: their field, and their path in the document."""

REFERENCES = ("owners", "domains", "dataProducts", "reviewers", "experts")
"""Keys of lists of references; each reference is a fact by its id, name, FQN and display name."""

REFERENCE_KEYS = ("id", "name", "fullyQualifiedName", "displayName")
"""Keys of a reference that are facts."""

TEXT_LISTS = ("aliases",)
"""Keys of lists of texts; each text is a fact."""

INHERITED = frozenset({"owners", "domains"})
"""Keys of references that an entity inherits from its ancestors."""

ONLY_EXISTS = ("schemaDefinition", "description", "displayName", "tags", "tier", *TEXT_LISTS, *REFERENCES)
"""Fields of which, besides the scalar facts, it is known whether they hold anything."""

_WORDS = {
    "name": SearchField("name", words=("name",)),
    "displayName": SearchField("displayName", words=("display_name",)),
    "description": SearchField("description", words=("description",)),
    "columns.name": SearchField("columns.name", words=("members",)),
    "columnNames": SearchField("columns.name", words=("members",)),
    "columns.description": SearchField("columns.description", words=("member_texts",)),
}
_WHOLE = {
    "fullyQualifiedName": SearchField("fullyQualifiedName", column="fqn_key", has_facts=True),
    "name.keyword": SearchField("name", column="name_key", has_facts=True),
    "displayName.keyword": SearchField("displayName", column="display_key", has_facts=True),
    "id": SearchField("id", column="entity_id"),
    "entityType": SearchField("entityType", has_facts=True),
    "deleted": SearchField("deleted", column="deleted"),
    "updatedAt": SearchField("updatedAt", column="updated_at_ms"),
    SERVICE_SHOWN: SearchField(SERVICE_SHOWN),
}
_REFERENCE_FACTS = (f"{key}.{part}" for key in REFERENCES for part in REFERENCE_KEYS)
_TAG_FACTS = ("tags.tagFQN", "columns.tags.tagFQN", "tier.tagFQN")
_LABELS = frozenset({*_TAG_FACTS, "certification.tagLabel.tagFQN"})
"""Fields whose values name tags and terms."""

_LABELS_OF = {"tags": "tags.tagFQN", "tier": "tier.tagFQN"}
"""Fields whose values name tags and terms, by what says that one holds any."""

REFERRED_TYPES = {
    "owners": OWNING,
    "domains": ("domain",),
    "dataProducts": ("dataProduct",),
    "reviewers": OWNING,
    "experts": ("user",),
}
"""Types of what a list of references may name, by its key."""

_FACTS = {name: SearchField(name, has_facts=True) for name in (*SCALARS, *TEXT_LISTS, *_REFERENCE_FACTS, *_TAG_FACTS)}
_SHORT = {
    "fqn": "fullyQualifiedName",
    "type": "entityType",
    "tag": "tags.tagFQN",
    "tags": "tags.tagFQN",
    "tier": "tier.tagFQN",
    "owner": "owners.name",
    "owners": "owners.name",
    "ownerName": "owners.name",
    "domain": "domains.fullyQualifiedName",
    "domains": "domains.fullyQualifiedName",
    "domain.fullyQualifiedName": "domains.fullyQualifiedName",
    "domain.name": "domains.name",
    "service": "service.name",
    "certification": "certification.tagLabel.tagFQN",
    "column": "columns.name",
    "columns": "columns.name",
}
_WRITTEN = _WORDS | _WHOLE | _FACTS

FIELDS: dict[str, SearchField] = _WRITTEN | {short: _WRITTEN[name] for short, name in _SHORT.items()}
"""Every field by each name it may be written as."""

SORTED_BY = {
    "fullyQualifiedName": "fqn",
    "name.keyword": "name_key",
    "name": "name_key",
    "displayName.keyword": "display_key",
    "displayName": "display_key",
    "updatedAt": "updated_at_ms",
    "entityType": "entity_type",
    "usage": "usage_count",
    "usageSummary.weeklyStats.count": "usage_count",
}
"""Fields one may sort by, and the entry's column of each."""

COUNTED_BY = {
    "entityType": "entity_type",
    "service.name": "service",
    "serviceType": "service_type",
    "tier.tagFQN": "tier",
    "deleted": "deleted",
}
"""Fields one may count by, and the entry's column of each."""


def field_of(name: str) -> SearchField:
    """Return how the field of that name is found; ``.keyword`` asks for the whole value.

    Raises
    ------
    InvalidInput : there is no such field; names the nearest one.
    """
    field = FIELDS.get(name) or FIELDS.get(name.removesuffix(".keyword"))
    if field is None:
        nearest_name = nearest(name, FIELDS)
        hint = f"did you mean {nearest_name}?" if nearest_name else f"valid fields: {', '.join(sorted(FIELDS))}"
        raise InvalidInput(f"cannot search by the field {name!r}; {hint}")
    return field


def holds(name: str) -> Node:
    """Return what is true of the entries whose field holds anything."""
    key = {"tier.tagFQN": "tier", "tags.tagFQN": "tags", SERVICE_SHOWN: "service.name"}.get(
        field_name := _field_name(name), field_name
    )
    if key in _ALWAYS_THERE:
        return ALWAYS
    head = key.split(".")[0]
    labels = _LABELS_OF.get(key, key if key in _LABELS else None)
    referents = head if head in REFERRED_TYPES else None
    token = token_of(EXISTS, head if head in ONLY_EXISTS else key)
    return IndexedFact(token, _inherited_field(head), labels=labels, referents=referents)


def has_words(field: SearchField, text: str, *, is_prefix: bool = False) -> Node:
    """Return what is true of the entries that have the words of ``text``, one after the other, in the field.

    Raises
    ------
    InvalidInput : there is no word in the text.
    """
    words = words_of(text)
    if not words:
        raise InvalidInput(f"{text[:100]!r} contains no letter or digit")
    return Words(field.words, words, is_prefix)


def equals(name: str, value: str | int | bool) -> Node:
    """Return what is true of the entries whose field is ``value`` as a whole; of a field of words, has its words."""
    field = FIELDS.get(f"{name}.keyword") or field_of(name)
    if field.column == "deleted":
        return CompareColumn("deleted", "=", _parse_deleted_flag(value))
    if field.column == "updated_at_ms":
        return CompareColumn("updated_at_ms", "=", whole_number(value))
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if field.name == SERVICE_SHOWN:
        return OfService(text.lower())
    if field.has_facts:
        label = text if field.name in _LABELS else None
        inheritance, referent = _inherited_field(field.name.split(".")[0]), _referent_of(field.name, text)
        return IndexedFact(token_of(field.name, text), inheritance, label, referent=referent)
    if field.column:
        return CompareColumn(field.column, "=", text)
    return has_words(field, text)


def _referent_of(field_name: str, value: str) -> Referent | None:
    """Return what a value of a field refers to; None for another field."""
    key, _, part = field_name.partition(".")
    return Referent(REFERRED_TYPES[key], part, value) if part and key in REFERRED_TYPES else None


def resembles(name: str, pattern: str) -> Node:
    """Return what is true of the entries whose field as a whole is like ``pattern``: ``*`` any text, ``?`` one sign.

    Raises
    ------
    InvalidInput : the field has no patterns, or the pattern has too many stars.
    """
    if not has_wildcard(pattern):
        return equals(name, unescape(pattern))
    field = FIELDS.get(f"{name}.keyword") or field_of(name)
    if set(pattern) <= {"*"}:
        return holds(name)
    if pattern.count("*") > MOST_WILDCARDS:
        raise InvalidInput(f"a pattern may contain at most {MOST_WILDCARDS} stars")
    if field.column in ("fqn_key", "name_key", "display_key"):
        return conjunction_of(*_whole_parts(field, pattern), CompareColumn(field.column, "like", pattern.lower()))
    if field.words and pattern.endswith("*") and not has_wildcard(pattern[:-1].lstrip("*")):
        return has_words(field, unescape(pattern.strip("*")), is_prefix=True)
    raise InvalidInput(f"the field {name!r} matches only whole values; patterns are not supported")


def has_wildcard(pattern: str) -> bool:
    """Return whether the pattern has an unescaped ``*`` or ``?``."""
    return not {"*", "?"}.isdisjoint(without_escapes(pattern))


def without_escapes(text: str) -> str:
    """Return the text without what a backslash protects."""
    return re.sub(r"\\.", "", text)


def unescape(text: str) -> str:
    """Return the text without the backslashes that protect a sign."""
    return re.sub(r"\\(.?)", r"\1", text, flags=re.DOTALL)


def whole_number(value: object) -> int:
    """Return a value as a whole number.

    Raises
    ------
    InvalidInput : the value is no integer, or too large
    """
    try:
        number = int(str(value))
    except ValueError:
        raise InvalidInput(f"{str(value)[:100]!r} is not an integer") from None
    if abs(number) >= 2**62:
        raise InvalidInput(f"the number {str(value)[:100]} is too large")
    return number


_ALWAYS_THERE = frozenset({"fullyQualifiedName", "name", "id", "entityType", "deleted", "updatedAt"})


def _inherited_field(key: str) -> str | None:
    return key if key in INHERITED else None


def _field_name(name: str) -> str:
    bare = name.removesuffix(".keyword")
    if bare in ONLY_EXISTS:
        return bare
    return field_of(name).name


def _parse_deleted_flag(value: object) -> bool:
    text = str(value).lower()
    if text not in ("true", "false"):
        raise InvalidInput(f"deleted must be true or false, not {str(value)[:100]!r}")
    return text == "true"


def _whole_parts(field: SearchField, pattern: str) -> list[Node]:
    """Return, of a pattern of FQNs, the parts that are written out: they narrow the search before it compares."""
    if field.column != "fqn_key":
        return []
    try:
        parts = names.split(pattern)
    except InvalidInput:
        return []
    return [
        IndexedFact(token_of(PART, part)) for part in parts if "*" not in part and "?" not in part and "\\" not in part
    ]
