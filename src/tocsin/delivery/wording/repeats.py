"""Repeated changes of one field as one change, with how often it changed.

Next: ``delivery/wording/changes.py`` words them.
"""

from __future__ import annotations

from tocsin.delivery.lines import ChangeLine
from tocsin.model.change import FieldChange

_CHANGED = " changed"


class RepeatedChange(FieldChange):
    """What became of a field that changed several times: its first value, its last one, and how often it changed."""

    times: int


def counted_line(line: ChangeLine, *changes: FieldChange) -> ChangeLine:
    """Return a line that says how often what it tells of has changed: ``description changed 3 times``."""
    repeats = [change for change in changes if isinstance(change, RepeatedChange)]
    if not repeats:
        return line
    count = f"changed {max(change.times for change in repeats):,} times"
    if all(change.old_value == change.new_value for change in changes):
        lead = (line.lead or line.text).removesuffix(_CHANGED)
        return line._replace(text=f"{lead} {count}, and is as before", old=None, new=None, lead="")
    if line.is_inline:
        lead = f"{line.lead} {count}:"
        return line._replace(text=f"{lead}{line.text.removeprefix(line.lead)}", lead=lead)
    text = line.text.removesuffix(_CHANGED)
    return line._replace(text=f"{text}{' ' if text != line.text else ', '}{count}")
