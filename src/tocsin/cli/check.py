"""``tocsin check``: what a pull request changes, before it is merged."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from tocsin.check.announcing import announce_unannounced
from tocsin.check.markdown import markdown_text
from tocsin.check.policy import DEFAULT_POLICY, CheckPolicy, parse_policy
from tocsin.check.proposals import FiledProposal
from tocsin.check.report import CheckReport, RecipientSum, build_report, text_lines
from tocsin.check.sarif import sarif_document
from tocsin.chunks import chunks_of
from tocsin.cli.alertfiles import text_of
from tocsin.cli.exit_codes import AGAINST_RULES
from tocsin.cli.extras import needing
from tocsin.cli.output import AsJson, printable
from tocsin.cli.progress import progress_bar
from tocsin.cli.yaml_documents import read_yaml
from tocsin.client import Client
from tocsin.clock import moment_of
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.proposed_change import MOST_PROPOSED
from tocsin.model.validation_errors import field_of

_DATABASE, _SCHEMA = "default", "public"


class CheckFormat(StrEnum):
    """What is printed."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    SARIF = "sarif"


Dbt = Annotated[Path | None, typer.Option(metavar="FOLDER", help="Target folder of the dbt project, as changed.")]
Sql = Annotated[list[Path] | None, typer.Option(metavar="FILE", help="A migration; may be given several times.")]
Schemas = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Folder of message schemas, as changed: .avsc, .proto, .json.")
]
Base = Annotated[Path | None, typer.Option(metavar="FOLDER", help="The same folder before the change.")]
Service = Annotated[str, typer.Option(help="Name of the service that holds the tables or topics.")]
Rules = Annotated[Path | None, typer.Option("--rules", metavar="FILE", help="YAML file of rules (docs/check.md).")]
Acknowledge = Annotated[
    str | None, typer.Option(metavar="REASON", help="Why changes against rules that allow it may be.")
]
AnnounceOn = Annotated[
    str | None, typer.Option(metavar="DATE", help="Announce what breaks readers and is not announced, for this date.")
]


def check(  # noqa: PLR0913  # each option of the command is a parameter
    *,
    service: Service,
    dbt: Dbt = None,
    sql: Sql = None,
    schemas: Schemas = None,
    base: Base = None,
    database: Annotated[str, typer.Option(help="Database of tables that SQL names without one.")] = _DATABASE,
    schema: Annotated[str, typer.Option(help="Schema of tables that SQL names without one.")] = _SCHEMA,
    dialect: Annotated[str, typer.Option(help="SQL dialect, as sqlglot calls it.")] = "postgres",
    folder: Annotated[str, typer.Option(help="Where the dbt project is in the repository.")] = "",
    rules: Rules = None,
    acknowledge: Acknowledge = None,
    people: Annotated[bool, typer.Option("--people", help="Name owners, and who would be notified.")] = False,
    announce_on: AnnounceOn = None,
    why: Annotated[str | None, typer.Option(help="Reason of what is announced, such as the pull request.")] = None,
    output_format: Annotated[CheckFormat, typer.Option("--format", help="What is printed.")] = CheckFormat.TEXT,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report here, and print text.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check what a pull request changes: what breaks, what reads it, which tests, who would be notified and why.

    Nothing is kept and nobody is notified, unless --announce-on opens change requests. Exits with 10 if a change is
    against the rules; without --rules, what breaks readers must be announced or acknowledged.

    Examples
    tocsin check --dbt target/ --base main-target/ --service warehouse
    tocsin check --sql migrations/0042.sql --service postgres_prod --database shop
    tocsin check --schemas schemas/ --base main-schemas/ --service kafka_prod --format sarif --output tocsin.sarif
    """
    remarks: list[str] = []
    with needing("server"):
        from tocsin.check.files import CheckedFiles
        from tocsin.check.sql_files import SqlPlaces
    files = CheckedFiles(service, SqlPlaces(service, database, schema, dialect), dbt, sql or (), schemas, base, folder)
    policy = DEFAULT_POLICY if rules is None else _policy_in(rules)
    announce_ms = None if announce_on is None else _moment(announce_on, why)
    with progress_bar("Reading") as progress:
        proposals = files.proposals(remarks.append, progress)
    check_proposals = partial(_check_proposals, proposals, policy, people=people)
    with Client() as client:
        report = check_proposals(client, remarks, acknowledge)
        if announce_ms is not None and announce_unannounced(client, report, announce_ms, str(why)):
            report = check_proposals(client, remarks, acknowledge)
    _show(report, CheckFormat.JSON if as_json else output_format, output)
    if report.has_errors:
        raise typer.Exit(AGAINST_RULES)


def _check_proposals(
    proposals: Sequence[FiledProposal],
    policy: CheckPolicy,
    client: Client,
    remarks: Sequence[str],
    acknowledgement: str | None,
    *,
    people: bool,
) -> CheckReport:
    conditions = [rule.when for rule in policy.rules]
    data: list[Document] = []
    recipients = RecipientSum(is_named=people)
    with progress_bar("Checking") as progress:
        for portion in chunks_of(proposals, MOST_PROPOSED):
            documents = [proposal.document for proposal in portion]
            names_people = people or len(proposals) > MOST_PROPOSED  # only names add up
            answer = client.check_changes(documents, conditions=conditions, people=names_people)
            data += answer["data"]
            recipients.add(answer["recipients"])
            progress(len(data), len(proposals))
    answer = {"data": data, "recipients": recipients.as_document()}
    return build_report(proposals, answer, policy, remarks=remarks, acknowledgement=acknowledgement)


def _policy_in(path: Path) -> CheckPolicy:
    """Return the policy of a file; an error names the line."""
    documents = read_yaml(text_of(str(path)))
    if len(documents) != 1:
        raise InvalidInput(f"{path} must be one document: rules", field="--rules")
    (document,) = documents
    try:
        return parse_policy(document.value)
    except InvalidInput as error:
        place = document.place(field_of(error.message) or "")
        raise InvalidInput(f"{path}:{place.line}:{place.column}: {error.message}") from error


def _moment(date: str, why: str | None) -> int:
    if not why:
        raise InvalidInput("is missing: the reason of what is announced, such as the pull request", field="--why")
    at_ms = moment_of(date)
    if at_ms is None:
        raise InvalidInput(f"must be a date such as 2026-12-09T10:00, not {date!r}", field="--announce-on")
    return at_ms


def _show(report: CheckReport, output_format: CheckFormat, output: Path | None) -> None:
    """Print the report; with ``output`` write it there, and print text beside."""
    for remark in report.remarks:
        typer.echo(printable(f"Not checked: {remark}"), err=True)
    if output is not None:
        try:
            output.write_text(_FORMS[output_format](report), encoding="utf-8")
        except OSError as error:
            raise InvalidInput(f"{output} cannot be written: {error.strerror}", field="--output") from error
        output_format = CheckFormat.TEXT
    typer.echo(_FORMS[output_format](report), nl=False)


def _text_of(report: CheckReport) -> str:
    return "".join(f"{printable(line)}\n" for line in text_lines(report))


def _json_of(document: Document) -> str:
    return f"{json.dumps(document, indent=2, ensure_ascii=False)}\n"


_FORMS: dict[CheckFormat, Callable[[CheckReport], str]] = {
    CheckFormat.TEXT: _text_of,
    CheckFormat.JSON: lambda report: _json_of(report.as_json()),
    CheckFormat.MARKDOWN: markdown_text,
    CheckFormat.SARIF: lambda report: _json_of(sarif_document(report, version=version("tocsin"))),
}
