"""Changes that are proposed, rehearsed on what is in the catalogue: what would change, and which tests read it.

Nothing is kept. Columns are found by their names in any case, since the tools that propose spell them otherwise than
databases do. Next: ``server/alerts/change_checks.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tocsin.errors import InvalidInput
from tocsin.flow.capture import removal
from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.prepare import patched_fields
from tocsin.flow.capture.upsert import change
from tocsin.flow.capture.write import Record
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.list_identity import SERVER_KEPT
from tocsin.model.proposed_change import ProposedChange
from tocsin.model.stored import CapturedEvent, Key, Stored

_TEST = "testCase"
_TYPE_KEYS = ("dataType", "dataLength", "precision", "scale", "arrayDataType", "dataTypeDisplay", "children")
"""What belongs to the type of a column, and goes when it gets another."""

ColumnPath = tuple[str, ...]
"""Names of a column and of what it is in, in lower case, from the outermost."""


@dataclass(frozen=True)
class RehearsedProposal:
    """What a proposed change would do.

    Attributes
    ----------
    stored : the asset as it is
    events : what the log would get, the asset's own event first; empty if nothing changes
    columns : FQNs of the columns that would go or change
    missing : columns that the proposal names and the asset does not have
    tests : references to the tests of what would go or change
    """

    stored: Stored
    events: tuple[CapturedEvent, ...]
    columns: frozenset[str]
    missing: tuple[str, ...]
    tests: tuple[Document, ...]


def rehearse(record: Record, proposal: ProposedChange) -> RehearsedProposal | None:
    """Make a proposed change in a transaction that is not kept; None: there is no such asset, or it is deleted.

    Raises
    ------
    InvalidInput : the asset has no columns or no messages, or would be malformed
    """
    key = Key.by_name(proposal.fully_qualified_name)
    asset = record.transaction.find(proposal.entity_type, key, Hold.SHARED)
    if asset is None or asset.is_deleted:
        return None
    edit = _ColumnEdit.of(proposal, asset)
    tests = _tests_of(record, asset, None if proposal.deleted else edit.fqns)
    if proposal.deleted:
        removal.delete(record, asset, recursive=True, hard=False)
    else:
        fields = patched_fields(ENTITY_TYPES[asset.entity_type], asset, _edited_document(asset, proposal, edit))
        change(record, record.resolver(), asset, fields)
    own_first = sorted(record.events, key=lambda captured: captured.event.entity_id != asset.id)
    return RehearsedProposal(asset, tuple(own_first), edit.fqns, edit.missing, tests)


def _edited_document(stored: Stored, proposal: ProposedChange, edit: _ColumnEdit) -> Document:
    document = {key: value for key, value in stored.document.items() if key not in SERVER_KEPT}
    if proposal.columns or proposal.removed_columns:
        document["columns"] = edit.columns
    if proposal.message_schema is not None:
        if "messageSchema" not in ENTITY_TYPES[stored.entity_type].keys:
            raise InvalidInput(f"{stored.entity_type} {stored.fqn} has no messages", field="messageSchema")
        document["messageSchema"] = {**(document.get("messageSchema") or {}), **proposal.message_schema.to_wire()}
    return document


def _tests_of(record: Record, stored: Stored, column_fqns: Collection[str] | None) -> tuple[Document, ...]:
    """Return references to the tests of these columns of an asset; None: to all of its tests."""
    tests = record.transaction.descendants((_TEST,), stored.fqn)
    return tuple(
        {"id": test.id, "type": _TEST}
        for test in tests
        if not test.is_deleted and (column_fqns is None or fqn.parent(test.fqn) in column_fqns)
    )


@dataclass(frozen=True)
class _ColumnEdit:
    """The columns of an asset as a proposal would leave them, what is touched, and what it names in vain."""

    columns: list[Document]
    fqns: frozenset[str]
    missing: tuple[str, ...]

    @classmethod
    def of(cls, proposal: ProposedChange, stored: Stored) -> _ColumnEdit:
        if not proposal.columns and not proposal.removed_columns:
            return cls([], frozenset(), ())
        if "columns" not in ENTITY_TYPES[stored.entity_type].keys:
            raise InvalidInput(f"{stored.entity_type} {stored.fqn} has no columns", field="columns")
        old: list[Document] = list(stored.document.get("columns") or ())
        removed_paths = {_path_of(path): path for path in proposal.removed_columns}
        new_columns = {_path_of(column["name"]): column for column in proposal.columns}
        edit = _Touched(removed_paths.keys(), new_columns)
        columns = edit.edit(old, (), stored.fqn)
        missing = [text for path, text in removed_paths.items() if path not in edit.met]
        for path, column in new_columns.items():
            if path in edit.met:
                continue
            if len(path) == 1 and "dataType" in column:
                columns.append(column)
            else:
                missing.append(column["name"])
        return cls(columns, frozenset(edit.fqns), tuple(missing))


class _Touched:
    """Edits columns at every level, and notes which paths it met."""

    def __init__(self, removed: Collection[ColumnPath], changed: Mapping[ColumnPath, Document]) -> None:
        self._removed, self._changed = removed, changed
        self.met: set[ColumnPath] = set()
        self.fqns: set[str] = set()

    def edit(self, columns: Sequence[Document], above: ColumnPath, above_fqn: str) -> list[Document]:
        """Return columns of one level as they would be."""
        edited_columns = []
        for column in columns:
            path, column_fqn = (*above, str(column["name"]).lower()), fqn.child(above_fqn, str(column["name"]))
            edited_column = self._edit_one(column, path, column_fqn)
            if edited_column is not None:
                edited_columns.append(edited_column)
        return edited_columns

    def _edit_one(self, column: Document, path: ColumnPath, column_fqn: str) -> Document | None:
        if path in self._removed or path in self._changed:
            self.met.add(path)
        if path in self._removed and path not in self._changed:
            self.fqns.add(column_fqn)
            return None
        edited_column = dict(column)
        if edited_column.get("children"):
            edited_column["children"] = self.edit(edited_column["children"], path, column_fqn)
        if (new := self._changed.get(path)) is not None:
            new_values = {key: value for key, value in new.items() if key != "name"}
            dropped_keys = _TYPE_KEYS if "dataType" in new_values else ()
            edited_column = {key: value for key, value in edited_column.items() if key not in dropped_keys} | new_values
            if edited_column != column:
                self.fqns.add(column_fqn)
        return edited_column


def _path_of(name: str) -> ColumnPath:
    return tuple(step.lower() for step in fqn.split(name))
