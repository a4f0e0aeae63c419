"""Splitting of dotted names; a quoted part may contain dots: ``svc."a.b".c`` has three parts.

Source: OpenMetadata's FQN quoting. The Spark engine splits with the same pattern. Next: ``conditions/fields.py``.
"""

from __future__ import annotations

import re
from functools import lru_cache

PART_PATTERN = r'(?:"[^"]*"|[^."]+)+'
"""One part of a dotted name, in the words that Java's and Python's regular expressions share."""

_PART = re.compile(PART_PATTERN)


def parts(name: str) -> list[str]:
    """Return the parts of a dotted name, quotes kept."""
    return _PART.findall(name)


@lru_cache(maxsize=10_000)
def prefixes(name: str) -> tuple[str, ...]:
    """Return ``name`` and everything above it, shortest first: ``a.b.c`` gives ``a``, ``a.b``, ``a.b.c``."""
    cut = parts(name)
    return tuple(dict.fromkeys([".".join(cut[:end]) for end in range(1, len(cut) + 1)] + [name]))


def suffixes(name: str) -> tuple[str, ...]:
    """Return every ending of ``name`` that begins at a part: ``a.b.c`` gives ``a.b.c``, ``b.c``, ``c``."""
    cut = parts(name)
    return tuple(dict.fromkeys([".".join(cut[start:]) for start in range(len(cut))] + [name]))


@lru_cache(maxsize=10_000)
def ancestor(name: str, depth: int) -> tuple[str, ...]:
    """Return the ancestor of ``name`` (or ``name`` itself) at ``depth`` (from 1): its own plain name, and its full one.

    Nothing for a name that is not so deep.
    """
    cut = parts(name)[:depth]
    return tuple(dict.fromkeys((unquote(cut[-1]), ".".join(cut)))) if len(cut) == depth else ()


def stem(text: str) -> str:
    """Return the longest path that every name beginning with ``text`` is below; empty when there is none.

    ``a.b.c`` gives ``a.b``: the name may continue as ``a.b.cd``. Only plain parts are supported.
    """
    place = text.rpartition(".")[0]
    return place if all(place.split(".")) and '"' not in place else ""


def unquote(part: str) -> str:
    """Return one part without its quotes."""
    if len(part) > 1 and part[0] == part[-1] == '"':
        return part[1:-1].replace('""', '"')
    return part
