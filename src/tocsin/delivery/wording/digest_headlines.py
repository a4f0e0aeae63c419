"""Headlines of digests, the subjects of their mails: what is inside, the most important first.

Next: ``delivery/wording/content.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tocsin.delivery.wording.assets import asset_of
from tocsin.delivery.wording.causes import EventCause, causes_of_entries, only_cause
from tocsin.delivery.wording.importance import ToldKind, kind_of, nouns_of
from tocsin.model import fqn
from tocsin.model.causes import CauseKind
from tocsin.model.change import ChangeEvent
from tocsin.model.message import Entry
from tocsin.model.phrases import count_text

_MOST_NAMED = 3
_HIDDEN = "another asset"


def digest_headline(
    entries: Sequence[Entry], causes: Sequence[EventCause] | None = None, *, continues: bool = False
) -> str:
    """Return what is inside, the most important first: ``1 failure, 2 changes: orders, revenue, sales and 4 more``.

    What is told with a notification counts. What follows a failure upstream is counted apart:
    ``12 failures downstream of orders; 1 change: orders``. What is all of one run begins with that. What ``continues``
    an earlier message begins with how much more it is: ``dbt run 7 by dbt, 3 more: 3 changes: orders``.
    """
    known_causes = causes_of_entries(entries) if causes is None else causes
    return f"{_beginning(entries, known_causes, continues=continues)}{_text_by_root(_with_parts(entries))}"


def _beginning(entries: Sequence[Entry], causes: Sequence[EventCause], *, continues: bool) -> str:
    cause = only_cause(entries, causes)
    if cause is None or not (continues or cause.kind is CauseKind.RUN):
        return ""
    return f"{cause.in_words}, {told_count(entries):,} more: " if continues else f"{cause.in_words}: "


def _text_by_root(entries: Sequence[Entry]) -> str:
    roots = {entry.notification_id: _root(entry) for entry in entries}
    root_names = {root for root in roots.values() if root is not None}
    if len(root_names) != 1:
        return _count_text(entries)
    other_entries = [entry for entry in entries if roots[entry.notification_id] is None]
    count = told_count(entries) - told_count(other_entries)
    failures = "1 failure" if count == 1 else f"{count:,} failures"
    failures_text = f"{failures} downstream of {fqn.split(root_names.pop())[-1]}"
    return f"{failures_text}; {_count_text(other_entries)}" if other_entries else failures_text


def _root(entry: Entry) -> str | None:
    """Return the full name of the asset upstream whose failure a notification follows; None if it follows none."""
    names = (one.downstream_of for one in entry.reasons)
    return next((name or _HIDDEN for name in names if name is not None), None)


def _count_text(entries: Sequence[Entry]) -> str:
    ordered = sorted(entries, key=kind_of)
    names = list(dict.fromkeys(entry.carried.remember(_name_of) for entry in ordered))
    more_text = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    counts, nouns = Counter[ToldKind](), nouns_of(entries)
    for entry in entries:
        counts[kind_of(entry)] += entry.told_count
    counted = ", ".join(count_text(counts[kind], *nouns[kind]) for kind in sorted(counts))
    return f"{counted}: {', '.join(names[:_MOST_NAMED])}{more_text}"


def _name_of(event: ChangeEvent) -> str:
    asset = asset_of(event)
    return asset.checks or asset.title


def _with_parts(entries: Sequence[Entry]) -> list[Entry]:
    """Return notifications, each followed by those that are told with it."""
    return [each for entry in entries for each in (entry, *entry.parts)]


def told_count(entries: Sequence[Entry]) -> int:
    """Return of how many notifications these tell, with those that are told with them."""
    return sum(each.told_count for each in _with_parts(entries))
