"""Comparison of values of documents: what is a change, and who counts as a bot.

Source: ``docs/entities.md``. Next: ``truth/predicted.py``.
"""

from __future__ import annotations

import json
from typing import Any

from truth.history import Json

_UNORDERED = frozenset({"tags", "domains", "owners", "columns", "children", "tasks", "charts"})
"""Lists whose order is no change, at any depth."""
_BOOKKEEPING = frozenset({"lifeCycle", "sourceHash"})


def is_bot(name: str) -> bool:
    """Say whether a pseudonym of the history names a bot."""
    return name.startswith("bot_")


def differs(key: str, before: Json | None, after: Json | None) -> bool:
    """Say whether the value of a key changes from one to the other."""
    return key not in _BOOKKEEPING and bool(_sort_lists(key, before or None) != _sort_lists(key, after or None))


def _sort_lists(key: str, value: Any) -> Any:  # Any: JSON
    """Return the value of a key, its lists without an order sorted."""
    if isinstance(value, dict):
        return {name: _sort_lists(name, inner) for name, inner in value.items()}
    if not isinstance(value, list):
        return value
    members = [_sort_lists("", one) for one in value]
    return sorted(members, key=_text_of) if key in _UNORDERED else members


def _text_of(member: Any) -> str:  # Any: JSON
    return json.dumps(member, sort_keys=True)
