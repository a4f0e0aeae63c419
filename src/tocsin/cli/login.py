"""``tocsin login``: a personal token for the commands that use a server."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tocsin.cli.output import AsJson, show_text
from tocsin.client import Client


def login(
    email: Annotated[str, typer.Argument(help="Your e-mail address.")],
    *,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Log in and print a token: export TOCSIN_TOKEN=$(tocsin login you@example.com).

    The server is TOCSIN_SERVER; by default this machine at port TOCSIN_PORT (8585).
    """
    # The prompt goes to stderr, so that $(…) holds nothing but the token.
    piped = password_stdin or not sys.stdin.isatty()
    password = sys.stdin.readline().rstrip("\n") if piped else typer.prompt("Password", hide_input=True, err=True)
    with Client() as client:
        token = client.login(email, password)
    show_text(token, answer={"token": token}, as_json=as_json)
