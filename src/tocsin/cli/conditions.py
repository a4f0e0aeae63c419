"""``tocsin conditions``: validation of the conditions in a file, without a server."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Annotated

import typer

from tocsin.cli.alertfiles import FiledAlert, Variables, file_label, holds_alerts, parse_alerts, text_of
from tocsin.cli.condition_errors import below, condition_at
from tocsin.cli.exit_codes import exit_code
from tocsin.cli.extras import needing
from tocsin.cli.output import AsJson, show_json
from tocsin.errors import InvalidCondition, InvalidInput
from tocsin.model.entity import Document
from tocsin.model.phrases import count_text
from tocsin.model.validation_errors import field_of, mistakes_in

app = typer.Typer(help="Check conditions and alerts without saving them.", no_args_is_help=True)


@dataclass(frozen=True)
class ConditionFinding:
    """An error or a remark, and its place: line and column of the file, or a place in an alert.

    ``kind`` is that of the remark, ``invalidCondition`` or ``invalidAlert``; ``line`` and ``column`` count from 1 in
    the file, or in the condition of an alert; ``source`` is the line of a condition that is wrong.
    """

    place: str
    message: str
    kind: str
    is_error: bool = False
    source: str = ""
    line: int | None = None
    column: int | None = None
    suggestion: str | None = None

    def lines(self) -> Iterator[str]:
        """Yield it as people read it: where and what, then the line with a caret below."""
        yield f"{self._where()}: {'' if self.is_error else 'warning: '}{self.message}"
        if self.source and self.column is not None:
            yield from below(self.source, self.column)

    def to_wire(self) -> Document:
        """Return it as JSON."""
        document = {"place": self._where(), "message": self.message, "error": self.is_error, "kind": self.kind}
        place = {"line": self.line, "column": self.column, "suggestion": self.suggestion}
        return document | {key: value for key, value in place.items() if value is not None}

    def _where(self) -> str:
        return ":".join(str(one) for one in (self.place, self.line, self.column) if one is not None)


@app.callback()
def conditions() -> None:
    """Check conditions and alerts before they are saved."""


@app.command()
def check(
    file: Annotated[
        str,
        typer.Argument(
            help="A file with one condition per line, or with alerts (.yaml, .json, .toml); - reads standard input."
        ),
    ],
    *,
    env: Variables = None,
    as_json: AsJson = False,
) -> None:
    """Check conditions and report each error with its position and what was expected.

    Also reports conditions that are always or never true. Ignores empty lines and lines that begin with #. Exits with 2
    if there are errors.
    """
    with needing("server"):
        from tocsin.conditions.check import parse_and_check  # noqa: F401  # the language's library is an extra
    text = text_of(file)
    are_alerts = holds_alerts(text, file)
    if are_alerts:
        findings_by_part = [[*_of_alert(alert)] for alert in parse_alerts(text, file, env or ())]
    else:
        findings_by_part = [[*_of_line(number, line, file_label(file))] for number, line in _conditions(text)]
    findings = [*chain.from_iterable(findings_by_part)]
    if as_json:
        show_json({"findings": [finding.to_wire() for finding in findings]})
    else:
        for finding in findings:
            typer.echo("\n".join(finding.lines()))
        if sys.stdout.isatty():
            typer.echo(summary(len(findings_by_part), "alert" if are_alerts else "condition", findings))
    if any(finding.is_error for finding in findings):
        raise typer.Exit(exit_code(InvalidInput()))


def summary(count: int, noun: str, findings: Sequence[ConditionFinding]) -> str:
    """Return in a line what came of looking at so many: ``3 conditions, all right``."""
    wrong = sum(one.is_error for one in findings)
    counts = [f"{wrong} wrong"] if wrong else []
    if warnings := len(findings) - wrong:
        counts.append(count_text(warnings, "warning"))
    return (
        f"{count_text(count, noun)}: {', '.join(counts)}" if counts else f"{count_text(count, noun)} checked, no errors"
    )


def _conditions(text: str) -> list[tuple[int, str]]:
    """Return every line that is a condition, with its number."""
    lines = enumerate(text.splitlines(), start=1)
    return [(number, line) for number, line in lines if line.strip() and not line.lstrip().startswith("#")]


def _of_line(number: int, line: str, file: str) -> Iterator[ConditionFinding]:
    from tocsin.conditions.check import parse_and_check
    from tocsin.flow.match.remarks import of_condition

    try:
        remarks = list(of_condition(parse_and_check(line)))
    except InvalidCondition as error:
        yield _finding_of(error, file, line, number)
        return
    yield from (ConditionFinding(file, one.message, one.kind, line=number, column=1) for one in remarks)


def _of_alert(alert: FiledAlert) -> Iterator[ConditionFinding]:
    from tocsin.alerts.mistakes import condition_mistakes
    from tocsin.alerts.request import readable
    from tocsin.flow.match.remarks import RemarkKind

    try:
        remarks = [one for one in readable(alert.document).remarks if one.kind is not RemarkKind.NO_EFFECT]
    except InvalidCondition as error:
        yield from (_condition_refused(one, alert) for one in [*condition_mistakes(alert.document)] or [error])
    except InvalidInput as error:
        message = f"{error.field}: {error.message}" if error.field else error.message
        for mistake in mistakes_in(message):
            yield _placed_finding(alert, field_of(mistake), mistake, "invalidAlert", is_error=True)
    else:
        yield from (_placed_finding(alert, one.field, f"{one.field}: {one.message}", one.kind) for one in remarks)


def _placed_finding(
    alert: FiledAlert, field: str | None, message: str, kind: str, *, is_error: bool = False
) -> ConditionFinding:
    """Return a finding with its line and column in the file, if those are known."""
    place = alert.place_of(field or "")
    finding = ConditionFinding(alert.file, f"{alert.name}: {message}", kind, is_error=is_error)
    return replace(finding, line=place.line, column=place.column) if place else finding


def _condition_refused(error: InvalidCondition, alert: FiledAlert) -> ConditionFinding:
    yaml_document, field = alert.read_document(), error.field or ""
    written = condition_at(alert.document, field)
    if yaml_document is None or not written:
        source = dict(enumerate(written.split("\n"), start=1)).get(error.line, "")
        return _finding_of(error, f"{alert.file}: {alert.name}: {field}", source, error.line)
    place = yaml_document.place_within(f"{alert.path}.{field}", error.line, error.column)
    finding = _finding_of(error, alert.file, place.source, place.line)
    return replace(finding, column=place.column, message=f"{alert.name}: {field}: {finding.message}")


def _finding_of(error: InvalidCondition, place: str, source: str, line: int) -> ConditionFinding:
    """Return the finding for a condition that is wrong: its place is said once, in front."""
    message = error.message.removeprefix(f"{error.field}: ")
    return ConditionFinding(
        place,
        message.replace(f"Line {error.line}, column {error.column}: ", "", 1),
        "invalidCondition",
        is_error=True,
        source=source,
        line=line,
        column=error.column,
        suggestion=error.suggestion,
    )
