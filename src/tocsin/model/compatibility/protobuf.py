"""Compatibility of Protobuf schemas: whether a reader with one ``.proto`` text understands the messages of another.

Fields are compared by their numbers. A field that is no longer written reads as its default, unless it is required; a
new one is ignored. Messages and enumerations that are gone are not judged: nothing is known of who used them.

Source: Protocol Buffers documentation, "Language Guide (proto 3)", section "Updating A Message Type", and "Language
Guide (proto 2)" for ``required``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tocsin.model.compatibility.budget import ComparisonBudget, NotJudged
from tocsin.model.compatibility.incompatibility import Incompatibility

_ALIKE = (
    frozenset({"int32", "uint32", "int64", "uint64", "bool"}),
    frozenset({"sint32", "sint64"}),
    frozenset({"string", "bytes"}),
    frozenset({"fixed32", "sfixed32"}),
    frozenset({"fixed64", "sfixed64"}),
)
"""Scalar types that are written alike; an enumeration is written as the first ones."""

_SCALARS = frozenset({"double", "float"}).union(*_ALIKE)
_LENGTH_DELIMITED = frozenset({"string", "bytes"})
_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.DOTALL)
_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[\w.]+|[^\s\w]')
_LABELS = frozenset({"optional", "required", "repeated"})
_OTHER_STATEMENTS = frozenset(
    {"option", "reserved", "extensions", "import", "package", "syntax", "edition", "extend", "service"}
)

_REQUIRED_AND_NOT_WRITTEN = Incompatibility("required, and no longer written", "required now")
_NO_LONGER_REQUIRED = Incompatibility("no longer required", "required now")


class _Field(NamedTuple):
    name: str
    type: str
    label: str


@dataclass
class _Declared:
    """What a ``.proto`` text declares: the fields of each message by number, and its enumerations, by full names."""

    messages: dict[str, dict[int, _Field]] = field(default_factory=dict)
    enums: set[str] = field(default_factory=set)

    def kind_of(self, type_name: str) -> str:
        """Return a scalar type, or ``enum``, ``message`` or ``map``, whose keys and values are not compared."""
        if type_name in _SCALARS:
            return type_name
        if type_name.startswith("map<"):
            return "map"
        last = type_name.rpartition(".")[2]
        return "enum" if any(name.rpartition(".")[2] == last for name in self.enums) else "message"


def problem_between(reader: str, writer: str) -> Incompatibility | None:
    """Return why messages of ``writer`` may not be readable by ``reader``, both ``.proto`` texts; None if they are.

    Raises
    ------
    NotJudged : a text is no schema
    """
    read, written = parse_proto(reader), parse_proto(writer)
    if not read.messages or not written.messages:
        raise NotJudged
    budget = ComparisonBudget()
    for name in sorted(read.messages.keys() & written.messages.keys()):
        for problem in _problems(name, read, written, budget):
            return problem
    return None


def _problems(message: str, read: _Declared, written: _Declared, budget: ComparisonBudget) -> Iterator[Incompatibility]:
    written_fields = written.messages[message]
    for number, read_field in sorted(read.messages[message].items()):
        budget.take(0)
        written_field = written_fields.get(number)
        kind = read.kind_of(read_field.type)
        if written_field is None:
            problem = _REQUIRED_AND_NOT_WRITTEN if read_field.label == "required" else None
        elif _are_alike(kind, written.kind_of(written_field.type)):
            problem = _label_problem(read_field, written_field, kind)
        else:
            problem = _type_problem(number, read_field.type, written_field.type)
        if problem is not None:
            yield problem.at(f"{message}.{read_field.name}")


def _type_problem(number: int, read: str, written: str) -> Incompatibility:
    return Incompatibility(
        f"number {number} is {written} now, not {read}", f"number {number} is {read} now, not {written}"
    )


def _label_problem(read: _Field, written: _Field, kind: str) -> Incompatibility | None:
    if _is_repeated(read) != _is_repeated(written) and not _may_repeat(kind):
        words = ("not repeated now", "repeated now")
        return Incompatibility(to_reader=words[_is_repeated(written)], to_writer=words[_is_repeated(read)])
    return _NO_LONGER_REQUIRED if read.label == "required" and written.label != "required" else None


def _are_alike(read: str, written: str) -> bool:
    if read == written:
        return True
    pair = {"int32" if kind == "enum" else kind for kind in (read, written)}
    return any(pair <= group for group in _ALIKE) or pair == {"message", "bytes"}


def _is_repeated(declared: _Field) -> bool:
    return declared.label == "repeated"


def _may_repeat(kind: str) -> bool:
    """Return whether one value may be written where several are read, and the reverse."""
    return kind in _LENGTH_DELIMITED or kind == "message"


def parse_proto(text: str) -> _Declared:
    """Return what a ``.proto`` text declares.

    Raises
    ------
    NotJudged : it is none
    """
    parser = _Parser(_TOKEN.findall(_COMMENT.sub(lambda match: match[1] or " ", text)))
    if parser.read_block(0, "", 0) != len(parser.tokens):
        raise NotJudged
    return parser.declared


@dataclass
class _Parser:
    """Parser of the tokens of one text; positions are indexes of tokens."""

    tokens: list[str]
    declared: _Declared = field(default_factory=_Declared)

    def read_block(self, at: int, scope: str, depth: int) -> int:
        """Read statements up to the brace that ends their block; return where it is."""
        ComparisonBudget().take(depth)
        while at < len(self.tokens) and self.tokens[at] != "}":
            is_block = self.tokens[at + 2 : at + 3] == ["{"]
            if is_block and self.tokens[at] in ("message", "oneof", "enum"):
                at = self._read_declaration(at, scope, depth)
            else:
                at = self._read_statement(at, scope)
        return at

    def _read_declaration(self, at: int, scope: str, depth: int) -> int:
        word, name = self.tokens[at : at + 2]
        full_name = f"{scope}.{name}" if scope else name
        if word == "enum":
            self.declared.enums.add(full_name)
            return _after_statement(self.tokens, at + 2)
        if word == "message":
            self.declared.messages.setdefault(full_name, {})
        end = self.read_block(at + 3, full_name if word == "message" else scope, depth + 1)
        if end >= len(self.tokens):
            raise NotJudged
        return end + 1

    def _read_statement(self, at: int, scope: str) -> int:
        end = _after_statement(self.tokens, at)
        statement = self.tokens[at : end - 1]
        if scope and statement and statement[0] not in _OTHER_STATEMENTS and "=" in statement:
            label = statement.pop(0) if statement[0] in _LABELS else ""
            equals = statement.index("=")
            number = statement[equals + 1] if equals + 1 < len(statement) else ""
            if equals < 2 or not number.isdecimal():
                raise NotJudged
            type_name = "".join(statement[: equals - 1])
            self.declared.messages[scope][int(number)] = _Field(statement[equals - 1], type_name, label)
        return end


def _after_statement(tokens: list[str], at: int) -> int:
    """Return where the statement ends that begins here: behind its semicolon, or behind the block it has."""
    depth = 0
    while at < len(tokens):
        token = tokens[at]
        depth += {"{": 1, "}": -1}.get(token, 0)
        at += 1
        if (token == ";" and not depth) or (token == "}" and depth <= 0):  # noqa: S105  # a sign, no secret
            return at
    raise NotJudged
