"""Fully qualified names: names joined by dots, quoted where a name contains one.

Source: OpenMetadata's ``FullyQualifiedName.java`` and ``Fqn.g4``: a name that holds a dot or a quotation mark
is quoted, and a mark inside is doubled. The paths of field changes are written the same way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tocsin.errors import InvalidInput

_PART = re.compile(r'"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>[^".]+)')


def quote(name: str) -> str:
    """Return ``name`` as a part of an FQN, quoted if needed."""
    if "." in name or '"' in name:
        return '"' + name.replace('"', '""') + '"'
    return name


def join(names: Sequence[str]) -> str:
    """Return the FQN made of these names."""
    plain = ".".join(names)
    if '"' not in plain and plain.count(".") == len(names) - 1:  # no name needs quotation marks
        return plain
    return ".".join(map(quote, names))


def child(parent_fqn: str, name: str) -> str:
    """Return the FQN of the member ``name`` of ``parent_fqn``."""
    return f"{parent_fqn}.{quote(name)}"


def split(fqn: str) -> list[str]:
    """Return the names of which ``fqn`` is made, without their quotation marks.

    Raises
    ------
    InvalidInput : a name is empty, or a quotation mark is not closed.
    """
    if '"' not in fqn:
        names = fqn.split(".")
        if all(names):
            return names
        raise InvalidInput(f"{fqn!r} is not a fully qualified name, such as shop.public.orders")
    return _split_quoted(fqn)


def steps_of(path: str) -> list[str]:
    """Return the names of which ``path`` is made, as ``split`` does; a text that is no path is its own only name."""
    if '"' not in path:
        names = path.split(".")
        return names if all(names) else [path]
    try:
        return _split_quoted(path)
    except InvalidInput:
        return [path]


def parent(fqn: str) -> str | None:
    """Return the FQN one name shorter, or None for a single name."""
    names = split(fqn)
    if len(names) == 1:
        return None
    return join(names[:-1]) if '"' in fqn else fqn[: -len(names[-1]) - 1]


def _split_quoted(fqn: str) -> list[str]:
    names: list[str] = []
    at = 0
    while at <= len(fqn):
        part = _PART.match(fqn, at)
        if part is None or (part.end() < len(fqn) and fqn[part.end()] != "."):
            raise InvalidInput(f"{fqn!r} is not a fully qualified name, such as shop.public.orders")
        quoted = part["quoted"]
        names.append(part["plain"] if quoted is None else quoted.replace('""', '"'))
        at = part.end() + 1
    return names
