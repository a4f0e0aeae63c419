"""``tocsin conditions``: is what stands in a file right? Works by itself, without a server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from tocsin.cli.alertfiles import holds_alerts, named, parse_alerts, text_of
from tocsin.cli.exits import exit_code
from tocsin.cli.extras import needing
from tocsin.cli.output import AsJson, show_json
from tocsin.errors import InvalidCondition, InvalidInput
from tocsin.model.entity import Document

app = typer.Typer(help="Check conditions and alerts before they are saved.", no_args_is_help=True)

_AT = re.compile(r"filteringRules\.(?P<key>rules|actions)\[(?P<index>\d+)\]\.condition")


@dataclass(frozen=True)
class Finding:
    """An error, or what is worth knowing, and where it stands: line and column of the file, or a place in an alert."""

    place: str
    message: str
    is_error: bool = False
    source: str = ""
    column: int = 1

    def lines(self) -> Iterator[str]:
        """Yield it as people read it: where and what, then the line with a caret below."""
        yield f"{self.place}: {'' if self.is_error else 'warning: '}{self.message}"
        if self.is_error and self.source:
            yield f"  {self.source}"
            yield f"  {' ' * (self.column - 1)}^"

    def to_wire(self) -> Document:
        """Return it as JSON."""
        return {"place": self.place, "message": self.message, "error": self.is_error}


@app.callback()
def conditions() -> None:
    """Check conditions and alerts before they are saved."""


@app.command()
def check(
    file: Annotated[str, typer.Argument(help="One condition a line, or alerts (.json, .toml); - for standard input.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Say what is wrong with conditions, where, and what was expected; a condition that cannot be meant is named, too.

    Empty lines and lines that begin with # are passed over. Ends with 2 when something is wrong.
    """
    with needing("server"):
        from tocsin.conditions.check import checked  # noqa: F401  # the language's library is an extra
    text = text_of(file)
    findings = list(_of_alerts(text, file) if holds_alerts(text, file) else _of_lines(text, named(file)))
    if as_json:
        show_json({"findings": [one.to_wire() for one in findings]})
    else:
        for one in findings:
            typer.echo("\n".join(one.lines()))
    if any(one.is_error for one in findings):
        raise typer.Exit(exit_code(InvalidInput()))


def _of_lines(text: str, file: str) -> Iterator[Finding]:
    from tocsin.conditions.check import checked
    from tocsin.flow.match.remarks import of_condition

    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            remarks = list(of_condition(checked(line)))
        except InvalidCondition as error:
            said = error.message.removeprefix(f"Line {error.line}, column {error.column}: ")
            yield Finding(f"{file}:{number}:{error.column}", said, is_error=True, source=line, column=error.column)
            continue
        yield from (Finding(f"{file}:{number}:1", remark.message) for remark in remarks)


def _of_alerts(text: str, file: str) -> Iterator[Finding]:
    for alert in parse_alerts(text, file):
        yield from _of_alert(alert, f"{named(file)}: {alert['name']}")


def _of_alert(alert: Document, place: str) -> Iterator[Finding]:
    from tocsin.server.alerts.offers import remarks_on
    from tocsin.server.alerts.request import readable

    try:
        remarks = remarks_on(readable(alert))
    except InvalidCondition as error:
        yield _refused(f"{place}: {error.field}", _written(alert, error.field or ""), error)
    except InvalidInput as error:
        yield Finding(f"{place}: {error.field}" if error.field else place, error.message, is_error=True)
    else:
        yield from (Finding(f"{place}: {remark.field}", remark.message) for remark in remarks)


def _refused(place: str, source: str, error: InvalidCondition) -> Finding:
    return Finding(place, error.message, is_error=True, source=source.split("\n")[error.line - 1], column=error.column)


def _written(alert: Document, field: str) -> str:
    """Return the condition that stands at ``field`` of an alert; empty when a named filter stands for it."""
    found = _AT.fullmatch(field)
    rules = (alert.get("filteringRules") or {}).get(found["key"], ()) if found else ()
    return str(rules[int(found["index"])]["condition"]) if found and int(found["index"]) < len(rules) else ""
