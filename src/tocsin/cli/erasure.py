"""``tocsin erase``: erasure of a user through the server. Next: ``server/routes/people/erasure.py``."""

from __future__ import annotations

import time
from typing import Annotated
from uuid import UUID

import typer

from tocsin.cli.assets import find_user
from tocsin.cli.output import show_json
from tocsin.cli.progress import ReportProgress, progress_bar
from tocsin.client import Client
from tocsin.errors import InvalidInput, Unavailable
from tocsin.model.entity import Document

_LOOK_EVERY_S = 0.5


def erase(
    user: Annotated[str, typer.Argument(help="Name of the user; the id of one that is deleted already.")],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would be rewritten.")] = False,
    confirm: Annotated[
        str | None, typer.Option(help="The name (or id) again: an erasure cannot be taken back.")
    ] = None,
) -> None:
    """Erase a user: delete it, and replace its names and addresses by a pseudonym in all stored data.

    Prints the certificate as JSON. Begin with: tocsin erase ann --dry-run
    """
    if not dry_run and confirm is None:
        raise InvalidInput(f"An erasure cannot be taken back: add --confirm {user}, or look first with --dry-run.")
    with Client() as client:
        user_id = user if _is_id(user) else find_user(client, user).id
        client.erase_user(user_id, confirm=confirm, dry_run=dry_run)
        with progress_bar("Rewriting") as report:
            ended = _await_end(client, user_id, report)
    if ended["state"] != "done":
        raise Unavailable(f"The erasure failed: {ended.get('reason', ended['state'])}")
    show_json(ended["result"])


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _await_end(client: Client, user_id: str, report: ReportProgress) -> Document:
    """Wait until the erasure is over; it goes on if the command is interrupted."""
    message: str | None = None
    while (erasure := client.get_erasure(user_id))["state"] in ("waiting", "running"):
        if erasure["progress"]["total"]:
            report(erasure["progress"]["done"], erasure["progress"]["total"])
        if erasure.get("message") not in (None, message):
            message = erasure["message"]
            typer.echo(message, err=True)
        time.sleep(_LOOK_EVERY_S)
    return erasure
