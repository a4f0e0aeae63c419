"""YAML documents with the place of every value, and back; also finds the places in JSON, which YAML includes.

Scalars are read as JSON has them (YAML 1.2): ``yes``, ``012`` and dates are texts. Next: ``cli/alertfiles.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml

from tocsin.cli.output import CONTROL
from tocsin.errors import InvalidInput

Node: TypeAlias = Any  # PyYAML is untyped

_MOST_VALUES = 100_000
_MOST_CHARACTERS = 10_000_000
_LONGEST_NUMBER = 40
_WORDS: dict[str, object] = {"": None, "~": None}
_WORDS |= dict.fromkeys(("null", "Null", "NULL"))
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]{1,2})?")
_STEP = re.compile(r"[^.\[\]]+|\[\d+\]")
_PROPERTIES = re.compile(r"(?:[&!]\S*\s*)*")
_UNITS = {
    '"': re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\x..|\\u.{4}|\\U.{8}|\\\s|\\.|\S", re.DOTALL),
    "'": re.compile(r"''|\S"),
    "": re.compile(r"\S"),
}
_PLAIN_TAGS = ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_BLANK_ESCAPES = re.compile(r"\\[\s0abtnvfreNLP_]")
"""Escapes of blanks and of characters that are not seen."""


@dataclass(frozen=True)
class FilePlace:
    """A place in a file, from 1, and the text of its line."""

    line: int
    column: int
    source: str


class YamlDocument:
    """One document: its value, and where in the text each part of it is."""

    def __init__(self, text: str, node: Node, value: Any) -> None:  # Any: any JSON value
        self.value = value
        self._text, self._node = text, node

    def place(self, field: str = "") -> FilePlace:
        """Return the place of a field (``destinations[0].type``), or of the nearest around it that is there."""
        return self._place_at(self._find(field)[0].start_mark.index)

    def place_within(self, field: str, line: int, column: int) -> FilePlace:
        """Return where a line and column of a text, from 1, are in the file."""
        node, value = self._find(field)[1:]
        if not isinstance(node, yaml.ScalarNode) or not isinstance(value, str):
            return self.place(field)
        before = "\n".join([*value.split("\n")[: line - 1], value.split("\n")[line - 1][: column - 1]])
        return self._place_at(_position(self._text, node, len("".join(before.split()))))

    def _find(self, field: str) -> tuple[Node, Node, Any]:
        """Return what marks a field (its key, or the member of a list), its node and its value."""
        mark = node = self._node
        value = self.value
        for step in _STEP.findall(field):
            if isinstance(node, yaml.SequenceNode) and step[0] == "[" and int(step[1:-1]) < len(node.value):
                mark = node = node.value[int(step[1:-1])]
                value = value[int(step[1:-1])]
            elif isinstance(node, yaml.MappingNode) and isinstance(value, dict) and step in value:
                mark, node = next(entry for entry in node.value if entry[0].value == step)
                value = value[step]
            else:
                break
        return mark, node, value

    def _place_at(self, index: int) -> FilePlace:
        start = self._text.rfind("\n", 0, index) + 1
        end = self._text.find("\n", index)
        source = self._text[start : end if end >= 0 else len(self._text)]
        return FilePlace(self._text.count("\n", 0, index) + 1, index - start + 1, source.rstrip("\r"))


def read_yaml(text: str) -> list[YamlDocument]:
    """Return the documents of a text; empty ones are left out.

    Raises
    ------
    InvalidInput : it is not YAML, or means more than it should; the message begins with line and column
    """
    try:
        nodes = [node for node in yaml.compose_all(text, Loader=yaml.BaseLoader) if node is not None]
        return [YamlDocument(text, node, _Reading(text).value_of(node)) for node in nodes]
    except yaml.MarkedYAMLError as error:
        raise _invalid(error.problem_mark or error.context_mark, error.problem or "is not valid YAML") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        column = error.position - text.rfind("\n", 0, error.position)
        raise InvalidInput(f"{line}:{column}: contains {chr(error.character)!a}, which YAML does not allow") from error
    except RecursionError as error:
        raise InvalidInput("1:1: is nested too deeply") from error


def placed_json(text: str, value: Any) -> YamlDocument | None:  # Any: any JSON value
    """Return a JSON text and its value with places; None where YAML reads something else into the text."""
    try:
        node = yaml.compose(text.replace("\t", " "), Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError):
        return None
    return YamlDocument(text, node, value)


def to_yaml(value: object) -> str:
    """Return a JSON value as YAML that ``read_yaml``, and any reader of YAML 1.1 or 1.2, reads as the same value."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return CONTROL.sub(lambda one: f"\\u{ord(one[0]):04x}", text)  # they stand between double quotes


def _text_node(dumper: Any, text: str) -> Node:  # Any: PyYAML is untyped
    style = '"' if CONTROL.search(text) else "|" if "\n" in text.strip("\n") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper: Any = type("AlertDumper", (yaml.SafeDumper,), {"ignore_aliases": lambda *_: True})
_Dumper.add_representer(str, _text_node)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER, list("-0123456789"))


class _Reading:
    """One reading of a document; what aliases repeat counts each time, and loops are refused."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._values = self._characters = 0
        self._around: set[int] = set()

    def value_of(self, node: Node) -> Any:  # Any: any JSON value
        self._count(node)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if node.tag not in _PLAIN_TAGS:
            raise _invalid(node.start_mark, f"tags such as {node.tag} are not supported")
        if id(node) in self._around:
            raise _invalid(node.start_mark, "contains itself")
        self._around.add(id(node))
        try:
            return self._mapping(node) if isinstance(node, yaml.MappingNode) else [*map(self.value_of, node.value)]
        finally:
            self._around.discard(id(node))

    def _count(self, node: Node) -> None:
        self._values += 1
        self._characters += len(node.value) if isinstance(node, yaml.ScalarNode) else 0
        if self._values > _MOST_VALUES or self._characters > _MOST_CHARACTERS:
            problem = f"more than {_MOST_VALUES:,} values or {_MOST_CHARACTERS:,} characters; aliases count each time"
            raise _invalid(node.start_mark, problem)

    def _mapping(self, node: Node) -> dict[str, Any]:
        result: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise _invalid(key_node.start_mark, "a key must be a text")
            key = key_node.value
            if key == "<<" and key_node.style is None:
                raise _invalid(key_node.start_mark, "merge keys are not supported; write the keys, or an alias (*name)")
            if key in result:
                raise _invalid(key_node.start_mark, f"key {key} is already in line {lines[key]}")
            lines[key] = key_node.start_mark.line + 1
            result[key] = self.value_of(value_node)
        return result

    def _scalar(self, node: Node) -> object:
        if any(one.startswith("!") for one in _properties(self._text, node).split()):
            raise _invalid(node.start_mark, "tags (!) are not supported; a text that begins with ! needs quotes")
        if node.style is not None:
            return node.value
        if node.value in _WORDS:
            return _WORDS[node.value]
        if not _NUMBER.fullmatch(node.value) or len(node.value) > _LONGEST_NUMBER:
            return node.value
        return int(node.value) if _INTEGER.fullmatch(node.value) else float(node.value)


def _invalid(mark: Any, problem: str) -> InvalidInput:  # Any: PyYAML is untyped
    return InvalidInput(f"{mark.line + 1}:{mark.column + 1}: {problem}" if mark else f"1:1: {problem}")


def _properties(text: str, node: Node) -> str:
    """Return the anchor and tag in front of a scalar, as they are written."""
    properties = _PROPERTIES.match(text, node.start_mark.index, node.end_mark.index)
    return properties[0] if properties else ""


def _position(text: str, node: Node, visible: int) -> int:
    """Return where in the text the character after so many visible ones of a scalar's value is."""
    index, end = node.start_mark.index + len(_properties(text, node)), node.end_mark.index
    if node.style in ("|", ">"):
        index = text.find("\n", index) + 1
    elif node.style in ("'", '"'):
        index, end = index + 1, end - 1
    after = index
    for unit in _UNITS[node.style if node.style in ("'", '"') else ""].finditer(text, index, end):
        if node.style == '"' and _BLANK_ESCAPES.fullmatch(unit[0]):
            continue
        if visible == 0:
            return unit.start()
        visible -= 1
        after = unit.end()
    return int(after)
