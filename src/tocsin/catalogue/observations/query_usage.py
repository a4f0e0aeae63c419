"""Users and tables of a query, which connectors add one by one.

Source: OpenMetadata's ``QueryRepository``. Next: ``flow/capture/upsert.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tocsin.errors import InvalidInput
from tocsin.flow.capture.references import key_of
from tocsin.flow.capture.upsert import change
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.list_identity import REFERENCE_LISTS, target_of
from tocsin.model.stored import Stored, Written

USED_IN, USERS, USED_BY = "queryUsedIn", "users", "usedBy"
"""The lists: what a query runs on, who ran it, and who did that nobody knows here."""


def used(record: Record, query: Stored, field: str, given: object, *, belongs: bool = True) -> Written:
    """Add to a list of a query, or take out of it; nothing if it is so already.

    Raises
    ------
    NotFound : somebody or something of it is not there
    InvalidInput : it is no list, or holds something else than references or names
    """
    if not isinstance(given, list):
        raise InvalidInput("The body must be a list.")
    before: list[Any] = query.document.get(field) or []  # Any: names or references, as the list has it
    after: list[Any]
    if field == USED_BY:
        after = _names(before, given)
    else:
        wanted = [_reference(record, field, one) for one in given]
        ids = {target_of(one) for one in wanted}
        others = [one for one in before if target_of(one) not in ids]
        known = {target_of(one) for one in before}
        after = [*before, *(one for one in wanted if target_of(one) not in known)] if belongs else others
    if after == before:
        return Written(query.document, None)
    return change(record, record.resolver(), query, query.document | {field: after})


def _reference(record: Record, field: str, given: object) -> Document:
    types = REFERENCE_LISTS[field]
    named = given.get("type") if isinstance(given, dict) else None
    if named is not None and named not in types:
        raise InvalidInput(f"must be a {' or a '.join(types)}, not a {named}", field=field)
    key_of(given)  # refuses what is no reference
    return record.resolver().one(str(named or types[0]), given)


def _names(before: Sequence[str], given: Sequence[object]) -> list[str]:
    names = [one for one in given if isinstance(one, str) and one]
    if len(names) < len(given):
        raise InvalidInput("must be a list of names", field=USED_BY)
    return list(dict.fromkeys((*before, *names)))
