"""Files of change requests, YAML: what they announce, what of it is announced already, and what belongs into one.

Next: ``cli/changes.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from operator import attrgetter
from typing import Any

from tocsin.cli.alertfiles import file_label, text_of
from tocsin.cli.yaml_documents import FilePlace, YamlDocument, read_yaml, to_yaml
from tocsin.client import Client
from tocsin.clock import moment_of, to_datetime
from tocsin.errors import Conflict, Forbidden, InvalidInput, NotFound, TocsinError
from tocsin.model import fqn as names
from tocsin.model.entity import Document
from tocsin.model.validation_errors import field_of, mistakes_in

_LIST_KEY = "changes"
_IN_FILE = attrgetter("line", "column")
_OPTIONAL = ("column", "newValue", "replacement")


class FileOutcome(StrEnum):
    """What becomes of a change of a file."""

    ANNOUNCED = "announced"
    UNCHANGED = "unchanged"
    """The same is announced already, or even done."""
    WITHDRAWN = "withdrawn"
    """It had been announced and was withdrawn: a file does not undo that."""


@dataclass(frozen=True)
class FiledChange:
    """A change that a file announces, with the path and the places in the file."""

    document: Any  # whatever the file holds
    file: str
    path: str
    yaml_document: YamlDocument

    def where(self, field: str = "") -> str:
        """Return file, line and column of a field, or of the nearest around it that is there."""
        place = self.place(field)
        return f"{self.file}:{place.line}:{place.column}"

    def place(self, field: str) -> FilePlace:
        """Return the place of a field, or of the nearest around it that is there."""
        return self.yaml_document.place(f"{self.path}.{field}")

    @property
    def subject(self) -> str:
        """What changes, as the file says it."""
        entity = self.document.get("entity") if isinstance(self.document, dict) else None
        reference = entity if isinstance(entity, dict) else {}
        asset = reference.get("fullyQualifiedName") or reference.get("id") or "an asset"
        column = self.document.get("column") if isinstance(self.document, dict) else None
        return f"{asset}, column {column}" if column else str(asset)


@dataclass(frozen=True)
class PlannedChange:
    """A change of a file, what becomes of it, and the request as the server answers it."""

    filed: FiledChange
    outcome: FileOutcome
    request: Document

    def to_wire(self, *, is_done: bool) -> Document:
        """Return it as JSON; a request that is only planned has no number yet."""
        is_planned = self.outcome is FileOutcome.ANNOUNCED and not is_done
        request = self.request | ({"id": None, "name": None} if is_planned else {})
        return {"file": self.filed.where(), "outcome": "announce" if is_planned else self.outcome, "request": request}


def read_changes(files: Sequence[str]) -> list[FiledChange]:
    """Return the changes that files announce: each one, a list, or a list called ``changes``; ``-``: standard input.

    Raises
    ------
    NotFound : there is no such file
    InvalidInput : it is no YAML, or announces nothing
    """
    changes: list[FiledChange] = []
    for file in files:
        try:
            documents = read_yaml(text_of(file))
        except InvalidInput as error:
            raise InvalidInput(f"{file_label(file)}:{error.message}.") from error
        of_file = [change for one in documents for change in _changes_in(one, file_label(file))]
        if not of_file:
            raise InvalidInput(f"{file_label(file)} announces no changes.")
        changes += of_file
    return changes


def plan_changes(client: Client, filed: Sequence[FiledChange]) -> list[PlannedChange]:
    """Return what announcing would do; nothing is announced yet.

    Raises
    ------
    InvalidInput, NotFound, Forbidden, Conflict : the server refuses changes; a line for each mistake of all of them
    """
    plans: list[PlannedChange] = []
    errors: list[TocsinError] = []
    place_by_subject: dict[tuple[str, str | None], str] = {}
    for change in filed:
        try:
            plan = _plan_change(client, change)
            if plan.outcome is FileOutcome.ANNOUNCED:  # beside what is done or withdrawn there may be another change
                _note_place(plan, place_by_subject)
            plans.append(plan)
        except (InvalidInput, NotFound, Forbidden, Conflict) as error:
            errors.append(_with_places(error, change))
    if len(errors) == 1:
        raise errors[0]
    if errors:
        error_of_all = InvalidInput(f"{len(errors)} changes are refused, so nothing was announced:")
        for refusal in errors:
            error_of_all.add_note("\n".join((refusal.message, *getattr(refusal, "__notes__", ()))))
        raise error_of_all
    return plans


def announce_planned(client: Client, planned: Sequence[PlannedChange]) -> list[PlannedChange]:
    """Announce what is planned, and return it with its numbers.

    Raises
    ------
    TocsinError : one was refused, or the server is away; a note says what was announced before
    """
    results: list[PlannedChange] = []
    for plan in planned:
        if plan.outcome is not FileOutcome.ANNOUNCED:
            results.append(plan)
            continue
        try:
            results.append(replace(plan, request=client.announce_change(plan.filed.document)))
        except TocsinError as error:
            placed_error = _with_places(error, plan.filed)
            numbers = [one.request["name"] for one in results if one.outcome is FileOutcome.ANNOUNCED]
            placed_error.add_note(
                f"Announced before that: {', '.join(numbers) or 'nothing'}. Nothing is announced twice."
            )
            raise placed_error from error
    return results


def changes_as_yaml(requests: Sequence[Document]) -> str:
    """Return requests as a file that announces them: with the names of assets, so that it fits another server."""
    return to_yaml({_LIST_KEY: [_document_of(one) for one in requests]})


def _plan_change(client: Client, change: FiledChange) -> PlannedChange:
    if not isinstance(change.document, dict):
        raise InvalidInput("must be a change: entity, kind, date and why")
    try:
        request = client.announce_change(change.document, dry_run=True)
    except (InvalidInput, NotFound, Conflict):  # its date has passed since it was withdrawn, or another is announced
        withdrawn = _withdrawn_like(client, change.document)
        if withdrawn is None:
            raise
        return PlannedChange(change, FileOutcome.WITHDRAWN, withdrawn)
    if "firstConsumers" not in request:  # nobody would be asked: it is a request that there is
        return PlannedChange(change, FileOutcome.UNCHANGED, request)
    withdrawn = _withdrawn_like(client, request)
    return PlannedChange(change, FileOutcome.WITHDRAWN if withdrawn else FileOutcome.ANNOUNCED, withdrawn or request)


def _note_place(plan: PlannedChange, place_by_subject: dict[tuple[str, str | None], str]) -> None:
    """Note where a change of an asset or column is announced; ``InvalidInput`` if another was before."""
    subject = (plan.request["entity"]["id"], plan.request["column"])
    if subject in place_by_subject:
        raise InvalidInput(f"{place_by_subject[subject]} announces a change of it, too")
    place_by_subject[subject] = plan.filed.where()


def _withdrawn_like(client: Client, document: Document) -> Document | None:
    """Return the withdrawn request that announced what a document does; None: there is none, or it is malformed."""
    entity, date = document.get("entity"), document.get("date")
    reference = entity if isinstance(entity, dict) else {}
    asset, entity_type = reference.get("id") or reference.get("fullyQualifiedName"), reference.get("type")
    if not isinstance(asset, str) or not isinstance(entity_type, str):
        return None
    content = (document.get("kind"), document.get("newValue"), moment_of(date) if isinstance(date, str) else date)
    with suppress(InvalidInput, NotFound, Forbidden):  # the asset or its type is unknown
        for request in client.list_change_requests(asset=asset, type=entity_type, status="withdrawn"):
            path = request["column"]
            spellings = (path,) if path is None else (path, ".".join(names.split(path)))
            is_same = (request["kind"], request["newValue"], request["date"]) == content
            if is_same and document.get("column") in spellings:
                return request
    return None


def _changes_in(document: YamlDocument, file: str) -> Iterator[FiledChange]:
    value, path = document.value, ""
    if isinstance(value, dict) and _LIST_KEY in value:
        if unknown := next((key for key in value if key != _LIST_KEY), None):
            place = document.place(unknown)
            raise InvalidInput(f"{file}:{place.line}:{place.column}: unknown key {unknown} beside {_LIST_KEY}.")
        value, path = value[_LIST_KEY], _LIST_KEY
    if isinstance(value, list):
        yield from (FiledChange(one, file, f"{path}[{index}]", document) for index, one in enumerate(value))
    elif value:
        yield FiledChange(value, file, path, document)


def _with_places(error: TocsinError, change: FiledChange) -> TocsinError:
    """Return an error with a line for each mistake, and its place in the file, in the order of the file."""
    if isinstance(error, InvalidInput):
        mistakes = [(field_of(mistake) or "", mistake) for mistake in mistakes_in(error.message)]
        mistakes.sort(key=lambda pair: _IN_FILE(change.place(pair[0])))
    else:
        mistakes = [("entity" if isinstance(error, NotFound) else "", error.message)]
    lines = [f"{change.where(field)}: {change.subject}: {mistake}" for field, mistake in mistakes]
    placed = type(error)(lines[0])
    if lines[1:]:
        placed.add_note("\n".join(lines[1:]))
    return placed


def _document_of(request: Document) -> Document:
    entity = request["entity"]
    name = "fullyQualifiedName" if entity.get("fullyQualifiedName") else "id"
    return {
        "entity": {"type": entity["type"], name: entity[name]},
        "kind": request["kind"],
        **{key: request[key] for key in _OPTIONAL if request[key] is not None},
        "date": to_datetime(request["date"]).isoformat().replace("+00:00", "Z"),
        "why": request["why"],
        "remindEveryDays": request["remindEveryDays"],
    }
