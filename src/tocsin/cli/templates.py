"""``tocsin templates``: previews of notification templates kept in files."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tocsin.cli.alertfiles import file_label, text_of
from tocsin.cli.output import AsJson, console, show_json
from tocsin.cli.yaml_documents import read_yaml
from tocsin.client import Client
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document

app = typer.Typer(help="Preview notification templates.", no_args_is_help=True)

_TEXTS = ("templateSubject", "templateBody")


@app.callback()
def _templates() -> None:
    """Preview notification templates."""


@app.command()
def preview(
    file: Annotated[
        str, typer.Argument(help="YAML or JSON file with templateSubject and templateBody; - reads standard input.")
    ],
    *,
    event: Annotated[str | None, typer.Option(help="Id of a change event. Default: an artificial one.")] = None,
    resource: Annotated[str, typer.Option(help="Entity type of the artificial event.")] = "table",
    channel: Annotated[str | None, typer.Option(help="Show the message of Email, Slack, MsTeams or GChat.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a template makes of an event: subject and HTML, or the message of a channel.

    Examples
    tocsin templates preview columns.yaml --event 0199c6f2-7c00-7000-8000-000000000001 --channel Slack
    """
    about = {"eventId": event} if event else {"resource": resource}
    request = _texts_of(file) | about | ({"channel": channel} if channel else {})
    with Client() as client:
        answer = client.render_template(request)
    if as_json:
        show_json(answer)
        return
    _check(answer["validation"], file)
    _show_rendering(answer.get("message") or answer["render"])


def _texts_of(file: str) -> Document:
    documents = read_yaml(text_of(file))
    value: Any = documents[0].value if len(documents) == 1 else None  # Any: what a file may hold
    if not isinstance(value, dict) or not all(isinstance(value.get(key), str) for key in _TEXTS):
        raise InvalidInput(f"{file_label(file)} must be one template, with the texts {' and '.join(_TEXTS)}.")
    return {key: value[key] for key in _TEXTS}


def _check(validation: Document, file: str) -> None:
    for key, error in (("templateSubject", "subjectError"), ("templateBody", "bodyError")):
        if validation.get(error):
            raise InvalidInput(f"{file_label(file)}: {key}: {validation[error]}")


def _show_rendering(message: Document) -> None:
    """Show the texts of a mail one below the other, and what a chat gets as JSON."""
    if not all(isinstance(part, str) for part in message.values()):
        show_json(message)
        return
    for name, text in message.items():
        console().print(name, style="bold", highlight=False)
        console().print(text, markup=False, highlight=False, soft_wrap=True)
