"""``tocsin admin``: people, bots and the store's schema. It opens the store directly and needs no running server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tocsin.cli.configuration import settings_of
from tocsin.cli.extras import needing
from tocsin.cli.local_store import existing_store, opened_store
from tocsin.cli.output import AsJson, show_facts, show_json
from tocsin.clock import SystemClock
from tocsin.errors import NotFound
from tocsin.model.people import SYSTEM

if TYPE_CHECKING:  # the store's library is an extra
    from sqlalchemy import Engine

    from tocsin.store.access.people import People

app = typer.Typer(help="Make people and bots, reset passwords, migrate the store.", no_args_is_help=True)

UserName = Annotated[str, typer.Argument(help="Name of the user.")]


@app.command()
def create_user(
    name: UserName,
    *,
    email: Annotated[str, typer.Option(help="Address to log in with and to send mail to.")],
    admin: Annotated[bool, typer.Option("--admin", help="Make it an administrator.")] = False,
    as_json: AsJson = False,
) -> None:
    """Create a person and print the password made for them, once."""
    with opened_store(settings_of()) as engine:
        user_id = _create(engine, {"name": name, "email": email, "isAdmin": admin})
        password = _set_new_password(engine, user_id)
    show_facts({"name": name, "email": email, "password": password}, as_json=as_json)


@app.command()
def reset_password(name: UserName, *, as_json: AsJson = False) -> None:
    """Give a person a new password and print it, once; the old one and every token of theirs stop working."""
    with existing_store(settings_of()) as engine:
        person = _people(engine).by_name(name)
        if person is None or person.deleted:
            raise NotFound(f"user {name!r} not found")
        password = _set_new_password(engine, person.id)
    show_facts({"name": name, "password": password}, as_json=as_json)


@app.command()
def forget_identity(name: UserName, *, as_json: AsJson = False) -> None:
    """Forget which identity of OpenID Connect a person has: their next log-in goes by their e-mail address again."""
    with existing_store(settings_of()) as engine:
        person = _people(engine).by_name(name)
        if person is None:
            raise NotFound(f"user {name!r} not found")
        count = _people(engine).forget_identities(person.id)
    show_facts({"name": name, "forgotten": count}, as_json=as_json)


@app.command()
def token(
    name: Annotated[str, typer.Argument(help="Name of the bot; it is created when there is none.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Print a token for a bot, which does not expire: export TOCSIN_TOKEN=$(tocsin admin token ingestion)."""
    settings = settings_of()
    with opened_store(settings) as engine:
        from tocsin.server.login.tokens import issue_token

        people = _people(engine)
        if people.by_name(name) is None:
            _create(engine, {"name": name, "email": f"{name}@bots.tocsin.example.org", "isBot": True})
            typer.echo(f"Created bot {name}.", err=True)
        made = issue_token(people, SystemClock(), name, lifetime_s=settings.token_hours * 3600)
    if as_json:
        show_json({"name": name, "token": made.text, "expiresAt": made.expires_at_ms})
    else:
        typer.echo(made.text)


@app.command()
def migrate(*, as_json: AsJson = False) -> None:
    """Bring the store to the newest schema; safe to repeat, and to run while servers start."""
    settings = settings_of()
    with opened_store(settings) as engine:
        store = engine.url.render_as_string(hide_password=True)
    show_facts({"store": store, "schema": "newest"}, as_json=as_json)


@app.command()
def secrets_key() -> None:
    """Print a fresh key for the setting `secrets_key`."""
    with needing("server"):
        from tocsin.store.vault import new_key
    typer.echo(new_key())


@app.command()
def reseal(*, as_json: AsJson = False) -> None:
    """Seal all secrets, and the keys that sign, with the first key of `secrets_key`; no other is needed then."""
    with existing_store(settings_of()) as engine:
        from tocsin.store.vault import reseal as seal_anew

        count = seal_anew(engine)
    show_facts({"sealed": count}, as_json=as_json)


@app.command()
def renew_keys(*, as_json: AsJson = False) -> None:
    """Make the keys anew that sign tokens and links in mails: everybody logs in again, and bots need new tokens.

    For who has lost the key that they were sealed with. Start all servers and workers anew afterwards.
    """
    with existing_store(settings_of()) as engine:
        count = _people(engine).forget_secrets()
    show_facts({"forgotten": count}, as_json=as_json)


def _people(engine: Engine) -> People:
    from tocsin.store.access.people import People

    return People(engine)


def _create(engine: Engine, request: dict[str, object]) -> str:
    from tocsin.flow.capture.operations import Writes
    from tocsin.store.catalogue.entities import SqlCatalogue

    written = Writes(SqlCatalogue(engine), SystemClock()).create("user", request, actor=SYSTEM)
    return str(written.document["id"])


def _set_new_password(engine: Engine, user_id: str) -> str:
    from tocsin.server.login.tokens import hash_password, new_password

    password = new_password()
    _people(engine).set_password(user_id, hash_password(password))
    return password
