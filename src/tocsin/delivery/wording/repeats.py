"""Repeated changes of one field as one change, with how often it changed; members that are there or gone as before.

Next: ``delivery/wording/changes.py`` words them.
"""

from __future__ import annotations

from tocsin.delivery.lines import ChangeLine, Rank
from tocsin.model.change import FieldChange

_CHANGED = " changed"
_RENAMED = "renamed"


class RepeatedChange(FieldChange):
    """What became of a field that changed several times: its first value, its last one, and how often it changed."""

    times: int


class UndoneChange(FieldChange):
    """A member that came and went, or went and came, and so is as before: ``old_value`` holds it.

    ``is_there``: it went first.
    """

    is_there: bool

    @property
    def first_verb(self) -> str:
        """Return what happened to it first."""
        return "removed" if self.is_there else "added"


def counted_line(line: ChangeLine, *changes: FieldChange) -> ChangeLine:
    """Return a line that says how often what it tells of has changed: ``description changed 3 times``.

    Of a member that is as before it says both: ``owner Shop removed, and added again``.
    """
    if isinstance(changes[0], UndoneChange):
        second_verb = "added" if changes[0].is_there else "removed"
        return line._replace(text=f"{line.text}, and {second_verb} again", rank=Rank.OTHER)
    repeats = [change for change in changes if isinstance(change, RepeatedChange)]
    if not repeats:
        return line
    times = f"{max(change.times for change in repeats):,} times"
    subject = (line.lead or line.text).removesuffix(_CHANGED)
    count = times if subject == _RENAMED else f"changed {times}"
    if all(change.old_value == change.new_value for change in changes):
        return line._replace(text=f"{subject} {count}, and is as before", old=None, new=None, lead="")
    if line.is_inline:
        lead = f"{line.lead} {count}:"
        return line._replace(text=f"{lead}{line.text.removeprefix(line.lead)}", lead=lead)
    separator = " " if subject != line.text or subject == _RENAMED else ", "
    return line._replace(text=f"{subject}{separator}{count}")
