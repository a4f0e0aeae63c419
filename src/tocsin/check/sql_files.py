"""Changes that SQL migrations make to tables: dropped, renamed, with other columns. Next: ``check/proposals.py``.

Statements of all files add up in the order of the files: a column that one adds and another drops is no change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sqlglot import exp, parse
from sqlglot.dialects.dialect import Dialects
from sqlglot.errors import SqlglotError

from tocsin.check.proposals import FiledProposal, Remark
from tocsin.errors import InvalidInput
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.phrases import hint
from tocsin.sources.column_types import column_type_of

LARGEST_FILE = 10 * 2**20
"""Bytes of one file."""

_RELATIONS = ("TABLE", "VIEW")
_NOT_NULL, _NULL = {"constraint": "NOT_NULL"}, {"constraint": "NULL"}


@dataclass(frozen=True)
class SqlPlaces:
    """Where tables are that statements name without their database or schema; ``dialect`` is sqlglot's name."""

    service: str
    database: str
    schema: str
    dialect: str

    def fqn_of(self, table: exp.Table) -> str:
        """Return the FQN of a table."""
        return fqn.join((self.service, table.catalog or self.database, table.db or self.schema, table.name))


@dataclass
class _TableChange:
    """What the statements read so far make of a table; columns by their names in lower case."""

    fqn: str
    file: str
    line: int
    is_dropped: bool = False
    removed: dict[str, str] = field(default_factory=dict)
    columns: dict[str, Document] = field(default_factory=dict)
    added: set[str] = field(default_factory=set)

    def add(self, name: str, column: Document) -> None:
        """Add a column."""
        if name.lower() not in self.removed:
            self.added.add(name.lower())
        self.removed.pop(name.lower(), None)
        self.columns[name.lower()] = {"name": name, **column}

    def change(self, name: str, values: Document) -> None:
        """Change what is said of a column."""
        self.columns[name.lower()] = {"name": name, **self.columns.get(name.lower(), {}), **values}

    def remove(self, name: str) -> None:
        """Remove a column; one that was added before is no change."""
        self.columns.pop(name.lower(), None)
        if name.lower() in self.added:
            self.added.discard(name.lower())
        else:
            self.removed[name.lower()] = name

    def proposal(self) -> FiledProposal | None:
        """Return it as a proposal; None if nothing is left to change."""
        document: Document = {"entityType": "table", "fullyQualifiedName": self.fqn}
        if self.is_dropped:
            return FiledProposal(document | {"deleted": True}, self.file, self.line)
        document |= {"removedColumns": list(self.removed.values())} if self.removed else {}
        document |= {"columns": list(self.columns.values())} if self.columns else {}
        return FiledProposal(document, self.file, self.line) if len(document) > 2 else None


@dataclass
class MigrationReader:
    """Reads migrations one after the other; ``remark`` takes the statements that are not understood."""

    places: SqlPlaces
    remark: Remark
    _changes: dict[str, _TableChange] = field(default_factory=dict)
    _file: str = ""

    def read(self, paths: Sequence[Path]) -> list[FiledProposal]:
        """Return what the statements of these files change.

        Raises
        ------
        InvalidInput : a file is no SQL of this dialect, is no text, or too large
        """
        for path in paths:
            self._file = str(path)
            for statement in _statements_in(path, self.places.dialect):
                self._read_statement(statement)
        proposals = (change.proposal() for change in self._changes.values())
        return [proposal for proposal in proposals if proposal is not None]

    def _read_statement(self, statement: exp.Expr) -> None:
        if isinstance(statement, exp.Drop) and statement.args.get("kind") in _RELATIONS:
            for table in statement.find_all(exp.Table):
                self._change_of(table).is_dropped = True
        elif isinstance(statement, exp.Alter) and statement.args.get("kind") in _RELATIONS:
            self._read_alteration(statement)
        elif isinstance(statement, exp.Drop | exp.Alter | exp.Command):
            self.remark(f"{self._file}: not understood, so not checked: {_excerpt(statement)}")
        elif isinstance(statement, exp.Create) and (created_table := statement.find(exp.Table)) is not None:
            self._read_creation(statement, created_table)

    def _read_creation(self, statement: exp.Create, table: exp.Table) -> None:
        """Note a table that replaces one: that is a change of columns which only the database could tell."""
        change = self._changes.get(self.places.fqn_of(table).lower())
        if (change is not None and change.is_dropped) or statement.args.get("replace"):
            self.remark(f"{self._file}: replaces {self.places.fqn_of(table)}: its columns were not compared")
            self._changes.pop(self.places.fqn_of(table).lower(), None)

    def _read_alteration(self, statement: exp.Alter) -> None:
        table = statement.this
        for action in statement.args.get("actions") or ():
            read = _ACTIONS.get(type(action))
            if read is None or not read(self._change_of(table), action, self.places.dialect):
                self.remark(f"{self._file}: not understood, so not checked: {_excerpt(statement)}")

    def _change_of(self, table: exp.Table) -> _TableChange:
        table_fqn = self.places.fqn_of(table)
        line = int(table.this.meta.get("line", 1))
        return self._changes.setdefault(table_fqn.lower(), _TableChange(table_fqn, self._file, line))


def _drop_columns(change: _TableChange, action: exp.Expr, dialect: str) -> bool:
    if action.args.get("kind") != "COLUMN":
        return action.args.get("kind") in ("CONSTRAINT", "INDEX")
    for column in action.find_all(exp.Column):
        change.remove(column.name)
    return True


def _alter_column(change: _TableChange, action: exp.Expr, dialect: str) -> bool:
    data_type, allows_null = action.args.get("dtype"), action.args.get("allow_null")
    if data_type is not None:
        change.change(action.this.name, column_type_of(data_type.sql(dialect=dialect)))
    if allows_null is not None:
        change.change(action.this.name, _NULL if allows_null else _NOT_NULL)
    return data_type is not None or allows_null is not None or "default" in action.args


def _rename_column(change: _TableChange, action: exp.Expr, dialect: str) -> bool:
    change.remove(action.this.name)
    change.add(action.args["to"].name, column_type_of(None))
    return True


def _rename_table(change: _TableChange, action: exp.Expr, dialect: str) -> bool:
    change.is_dropped = True
    return True


def _add_column(change: _TableChange, action: exp.Expr, dialect: str) -> bool:
    change.add(action.this.name, _column_of(action, dialect))
    return True


def _modify_column(change: _TableChange, action: exp.Expr, dialect: str) -> bool:
    definition = action.find(exp.ColumnDef)
    if definition is None:
        return False
    change.change(definition.this.name, _column_of(definition, dialect))
    return True


def _column_of(definition: exp.Expr, dialect: str) -> Document:
    data_type = definition.args.get("kind")
    column = column_type_of(data_type.sql(dialect=dialect) if data_type is not None else None)
    is_required = any(not one.args.get("allow_null") for one in definition.find_all(exp.NotNullColumnConstraint))
    return column | (_NOT_NULL if is_required else {})


_ACTIONS: dict[type[exp.Expr], Callable[[_TableChange, exp.Expr, str], bool]] = {
    exp.Drop: _drop_columns,
    exp.AlterColumn: _alter_column,
    exp.RenameColumn: _rename_column,
    exp.AlterRename: _rename_table,
    exp.ColumnDef: _add_column,
    exp.ModifyColumn: _modify_column,
}
"""What notes each kind of action; False: it is not understood."""


def _statements_in(path: Path, dialect: str) -> Iterator[exp.Expr]:
    if not path.is_file():
        raise InvalidInput(f"{path} is no file", field="--sql")
    if path.stat().st_size > LARGEST_FILE:
        raise InvalidInput(f"{path} has more than {LARGEST_FILE:,} bytes", field="--sql")
    if dialect not in (known_dialects := [one.value for one in Dialects]):
        raise InvalidInput(f"unknown dialect {dialect}{hint(dialect, known_dialects)}", field="--dialect")
    try:
        statements = parse(path.read_text(encoding="utf-8"), dialect=dialect)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8, at byte {error.start}", field="--sql") from None
    except (SqlglotError, RecursionError) as error:
        first_line = str(error).splitlines()[0] if str(error) else "it is nested too deep"
        raise InvalidInput(f"{path} is no SQL of {dialect}: {first_line}", field="--sql") from None
    return (statement for statement in statements if statement is not None)


def _excerpt(statement: exp.Expr) -> str:
    return " ".join(statement.sql().split())[:100]
