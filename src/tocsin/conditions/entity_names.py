"""Names of entities in the text of conditions: found by what they are compared with, and replaced in place.

Only the name is replaced: spaces, quotation marks and all else stay as a person wrote them. Conditions of alerts and of
policies have the same grammar. Next: ``catalogue/naming/alert_names.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from tocsin.conditions.functions import FUNCTIONS
from tocsin.conditions.operands import ALIASES, PERSON
from tocsin.conditions.parse import MAX_BYTES, parse
from tocsin.conditions.paths import unquote
from tocsin.conditions.relations import MEMBER
from tocsin.conditions.syntax import (
    Call,
    Comparison,
    LiteralList,
    Method,
    Name,
    PathStep,
    Position,
    Word,
    Written,
    children,
)
from tocsin.errors import InvalidCondition
from tocsin.model.entity_types import ENTITY_TYPES

Types = tuple[str, ...]

PEOPLE: Types = ("user", "team")
LABELS: Types = ("tag", "glossaryTerm")
_TEAM: Types = ("team",)
_SERVICES: Types = tuple(row.name for row in ENTITY_TYPES.values() if row.is_service)
_ANY: Types = tuple(ENTITY_TYPES)
_VALUES: Types = (*LABELS, "domain", "dataProduct", *PEOPLE)

_OF_PARAMETER: dict[tuple[str, str], Types] = {
    ("matchAnyOwnerName", "names"): PEOPLE,
    ("matchAnyEntityFqn", "fqns"): _ANY,
    ("getTestCaseStatusIfInTestSuite", "suites"): ("testSuite",),
    ("matchUpdatedBy", "users"): ("user",),
    ("changedBy", "users"): ("user",),
    ("matchAnyChange", "values"): _VALUES,
    ("matchAnyDomain", "domains"): ("domain",),
    ("matchAnyTag", "tags"): LABELS,
    ("matchAnyTier", "tiers"): ("tag",),
    ("matchAnyService", "services"): _SERVICES,
    ("matchAnyDatabase", "databases"): ("database",),
    ("matchAnySchema", "schemas"): ("databaseSchema",),
    ("matchConversationUser", "names"): PEOPLE,
}
OF_ARGUMENT: dict[str, Types] = {
    "ownerNameList": PEOPLE,
    "fqnList": _ANY,
    "updateByUserList": ("user",),
    "domainList": ("domain",),
    "userList": PEOPLE,
    "testSuiteList": ("testSuite",),
    "tagList": LABELS,
    "tierList": ("tag",),
    "serviceList": _SERVICES,
}
"""What the arguments of named filters name, as the conditions that they are compiled to say."""
_OF_POLICY_FUNCTION: dict[str, Types] = {
    "matchAnyTag": LABELS,
    "matchAllTags": LABELS,
    "matchAnyCertification": ("tag",),
    "inAnyTeam": _TEAM,
    "hasAnyRole": ("role",),
}
_OF_FIELD: dict[str, Types] = {
    "tags": LABELS,
    "owners": PEOPLE,
    "domains": ("domain",),
    "tier": ("tag",),
    "service": _SERVICES,
    "userName": ("user",),
    "mentions": PEOPLE,
    "testSuites": ("testSuite",),
    "testedEntityFqn": ("table",),
    "entityFullyQualifiedName": _ANY,
}
_OF_REFERENCE: dict[str, Types] = {
    "owners": PEOPLE,
    "domains": ("domain",),
    "dataProducts": ("dataProduct",),
    "experts": ("user",),
    "reviewers": PEOPLE,
    "teams": _TEAM,
    "glossary": ("glossary",),
    "classification": ("classification",),
}
REMEMBERED: frozenset[str] = frozenset(
    {*_VALUES, *_SERVICES, "classification", "glossary", "database", "databaseSchema", "testSuite", "role"}
)
"""Types whose names conditions use to say where or about whom, so that the loss of one has to be told."""
CALLED_BY_NAME: Types = (*PEOPLE, "role")
"""Types whose entities are called by their names, where others are by their FQNs."""
_NAMED_PLAINLY = frozenset({*CALLED_BY_NAME, *_SERVICES})
"""Types that conditions compare by names without quotes, though they may be written with them, as FQNs are."""
_NAME_KEYS = ("name", "fullyQualifiedName")
_ANYTHING = frozenset({"*", "all"})
"""Arguments of functions that stand for every name."""


_LITERAL = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*["]""")


class Comparing(StrEnum):
    """How a text is compared with names."""

    EXACT = "exact"
    PREFIX = "prefix"
    PATTERN = "pattern"


@dataclass(frozen=True)
class EntityName:
    """A text in a condition that names an entity of one of these types.

    ``is_recipient`` says that it selects who is notified, not what of.
    """

    types: Types
    text: str
    at: Position
    comparing: Comparing = Comparing.EXACT
    is_recipient: bool = False

    @property
    def beginning(self) -> str:
        """The text with which every name begins that it can match; empty if that can be any."""
        if self.comparing is not Comparing.PATTERN:
            return self.text
        start = _LITERAL_START.match(self.text)
        if start is None or "|" in self.text:
            return ""
        literal = start[0][:-1] if self.text[start.end() : start.end() + 1] in ("*", "?", "{") else start[0]
        return re.sub(r"\\(.)", r"\1", literal)


_COMPARING = {
    **dict.fromkeys(("contains", "containsAny", "==", "!=", "in"), Comparing.EXACT),
    "startsWith": Comparing.PREFIX,
    "matches": Comparing.PATTERN,
}
"""Methods and operators that compare with names."""

_LITERAL_START = re.compile(r"(?:\\[^A-Za-z0-9]|[^\\.\[\](){}*+?|^$])*")

Rename = Callable[[EntityName], str | None]
"""Returns what an entity is called now; None if its name stays."""


@lru_cache(512)
def entity_names(condition: str) -> tuple[EntityName, ...]:
    """Return the names in a condition, in their order; none if it cannot be parsed."""
    try:
        tree = parse(condition)
    except InvalidCondition:
        return ()
    names, waiting = list[EntityName](), [tree]
    while waiting:
        node = waiting.pop()
        names += _names_at(node)
        waiting += children(node)
    return tuple(sorted(names, key=lambda name: (name.at.line, name.at.column)))


def with_renamed(condition: str, rename: Rename) -> str:
    """Return a condition with other names; as it was if it would become longer than conditions may be."""
    renamed = condition
    for name in reversed(entity_names(condition)):  # from the end, so that the places before stay right
        new = rename(name)
        literal = _LITERAL.match(condition, _offset(condition, name.at))
        if new is not None and literal is not None:
            quote = literal[0][0]
            written = quote + new.replace(quote, quote * 2) + quote
            renamed = renamed[: literal.start()] + written + renamed[literal.end() :]
    return renamed if len(renamed.encode()) <= MAX_BYTES else condition


def _offset(text: str, at: Position) -> int:
    return sum(len(line) + 1 for line in text.split("\n")[: at.line - 1]) + at.column - 1


def _names_at(node: Written) -> Iterator[EntityName]:
    match node:
        case Call(function=function, arguments=arguments) if function in _OF_POLICY_FUNCTION:
            for argument in arguments:
                yield from _names_in(argument, _OF_POLICY_FUNCTION[function])
        case Call(function=function, arguments=arguments) if function in FUNCTIONS:
            for parameter, argument in zip(FUNCTIONS[function].parameters, arguments, strict=False):
                yield from _names_in(argument, _OF_PARAMETER.get((function, parameter.rstrip("?")), ()))
        case Method(receiver=Name(name=name), name=method, arguments=arguments) if (name, method) == (PERSON, MEMBER):
            for argument in arguments:
                yield from _names_in(argument, _TEAM, is_recipient=True)
        case Method(receiver=receiver, name=method, arguments=arguments) if method in _COMPARING:
            for argument in arguments:
                yield from _names_in(argument, _types_of(receiver), _COMPARING[method])
                yield from _names_in(receiver, _types_of(argument), _COMPARING[method])
        case Comparison(operator=operator, left=left, right=right) if operator in _COMPARING:
            yield from _names_in(right, _types_of(left), _COMPARING[operator])
            yield from _names_in(left, _types_of(right), _COMPARING[operator])


def _names_in(
    written: Written, types: Types, comparing: Comparing = Comparing.EXACT, *, is_recipient: bool = False
) -> Iterator[EntityName]:
    words = written.words if isinstance(written, LiteralList) else (written,)
    for word in words if types else ():
        if isinstance(word, Word) and isinstance(word.value, str) and word.value not in _ANYTHING:
            is_plain = comparing is Comparing.EXACT and _NAMED_PLAINLY.issuperset(types)
            yield EntityName(types, unquote(word.value) if is_plain else word.value, word.at, comparing, is_recipient)


def _types_of(node: Written) -> Types:
    """Return the types of what a field or path names; nothing for all else."""
    keys = list[str]()
    while isinstance(node, PathStep):
        keys += [node.key] if isinstance(node.key, str) else []
        node = node.parent
    keys.reverse()
    match node:
        case Name(name=name) if not keys:
            return _OF_FIELD.get(name, ())
        case Name(name=name) if len(keys) == 1 and keys[0] in ALIASES:
            return _OF_FIELD.get(ALIASES[keys[0]], ())
        case Name(name=name) if len(keys) == 1 and keys[0] in _NAME_KEYS and name in ENTITY_TYPES:
            return (name,)
        case Call(function="oldValue" | "newValue", arguments=(Word(value=str() as path),)):
            keys.insert(0, path.rpartition(".")[2])
    if keys[-1:] == ["tagFQN"]:
        return LABELS
    return _OF_REFERENCE.get(keys[-2], ()) if len(keys) > 1 and keys[-1] in _NAME_KEYS else ()
