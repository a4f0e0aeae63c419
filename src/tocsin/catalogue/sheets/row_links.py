"""Import of rows that may name each other, whatever their order in the sheet.

A row that names what is not there yet is tried again after the others. Rows that wait for each other are first imported
without the cells that can be added later. Next: ``terms.py``, ``children.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tocsin.catalogue.sheets.import_row import outcome
from tocsin.catalogue.sheets.rows import Outcome, Row
from tocsin.errors import InvalidInput
from tocsin.flow.capture.write import Record

Bring = Callable[[Row], str]
"""Writes what a row says and returns what was done."""


@dataclass(frozen=True)
class RowLinks:
    """How the rows of a sheet name each other.

    Attributes
    ----------
    name : the FQN of a row's own entity; None if the row is unreadable
    links : the FQNs of other entities of the type that a row names and that are not in the store; raises
        ``InvalidInput`` if the row is unreadable
    optional : headers of the cells with such names that an entity can get later
    """

    name: Callable[[Row], str | None]
    links: Callable[[Row], Iterable[str]]
    optional: frozenset[str]


def import_rows(record: Record, rows: Sequence[Row], bring: Bring, links: RowLinks) -> list[Outcome]:
    """Return the result of each row; rejected rows are skipped."""
    outcomes: dict[int, Outcome] = {}

    def settle(waiting: Iterable[int], *, without: frozenset[str] = frozenset()) -> list[int]:
        """Import rows until no more of them succeed; return those that do not."""
        left = list(waiting)
        while left:
            before = left
            for at in before:
                outcomes[at] = _tried(record, rows[at], bring, without)
            left = [at for at in before if outcomes[at].failed]
            if len(left) == len(before):
                break
        return left

    waiting = settle(range(len(rows)))
    mutual = _naming_each_other({at: rows[at] for at in waiting}, links)
    refused = settle(mutual, without=links.optional)
    made = [at for at in mutual if at not in refused]
    messages = {at: outcomes[at].message for at in made}
    settle(made)
    for at, message in messages.items():
        last = outcomes[at]
        said = f"{message}, but {last.message}" if last.failed else message
        outcomes[at] = replace(last, message=said)
    return [outcomes[at] for at in range(len(rows))]


def _tried(record: Record, row: Row, bring: Bring, without: frozenset[str]) -> Outcome:
    values = {header: text for header, text in row.values.items() if header not in without}
    return replace(outcome(record, row, partial(bring, replace(row, values=values))), row=row)


def _naming_each_other(rows: dict[int, Row], links: RowLinks) -> list[int]:
    """Return those of these rows that name nothing unknown but each other."""
    named = {at: _linked(row, links) for at, row in rows.items()}
    left = {at for at, names in named.items() if names}
    while True:
        present = {links.name(rows[at]) for at in left}
        kept = {at for at in left if named[at] <= present}
        if kept == left:
            return sorted(left)
        left = kept


def _linked(row: Row, links: RowLinks) -> set[str]:
    """Return the FQNs that a row names; none if it is unreadable, which its own import has said."""
    try:
        return set(links.links(row))
    except InvalidInput:
        return set()
