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


def import_rows(record: Record, sheet_rows: Sequence[Row], bring: Bring, links: RowLinks) -> list[Outcome]:
    """Return the result of each row; rejected rows are skipped."""
    outcomes: dict[int, Outcome] = {}

    def settle(waiting: Iterable[int], *, without: frozenset[str] = frozenset()) -> list[int]:
        """Import rows until no more of them succeed; return those that do not."""
        failed_places = list(waiting)
        while failed_places:
            before = failed_places
            for at in before:
                outcomes[at] = _try_row(record, sheet_rows[at], bring, without)
            failed_places = [at for at in before if outcomes[at].failed]
            if len(failed_places) == len(before):
                break
        return failed_places

    waiting = settle(range(len(sheet_rows)))
    mutual = _naming_each_other({at: sheet_rows[at] for at in waiting}, links)
    refused = settle(mutual, without=links.optional)
    settled = [at for at in mutual if at not in refused]
    messages = {at: outcomes[at].message for at in settled}
    settle(settled)
    for at, message in messages.items():
        last = outcomes[at]
        new_message = f"{message}, but {last.message}" if last.failed else message
        outcomes[at] = replace(last, message=new_message)
    return [outcomes[at] for at in range(len(sheet_rows))]


def _try_row(record: Record, row: Row, bring: Bring, without: frozenset[str]) -> Outcome:
    values = {header: text for header, text in row.values.items() if header not in without}
    return replace(outcome(record, row, partial(bring, replace(row, values=values))), row=row)


def _naming_each_other(rows_by_place: dict[int, Row], links: RowLinks) -> list[int]:
    """Return those of these rows that name nothing unknown but each other."""
    names_by_place = {at: _linked_names(row, links) for at, row in rows_by_place.items()}
    places = {at for at, names in names_by_place.items() if names}
    while True:
        present = {links.name(rows_by_place[at]) for at in places}
        next_places = {at for at in places if names_by_place[at] <= present}
        if next_places == places:
            return sorted(places)
        places = next_places


def _linked_names(row: Row, links: RowLinks) -> set[str]:
    """Return the FQNs that a row names; none if it is unreadable, which its own import has said."""
    try:
        return set(links.links(row))
    except InvalidInput:
        return set()
