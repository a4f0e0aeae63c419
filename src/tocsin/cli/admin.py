"""``tocsin admin``: people, bots and the store's schema. It opens the store directly and needs no running server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tocsin.cli.configuration import settings_of
from tocsin.cli.extras import needing
from tocsin.cli.local_store import existing_store, opened_store
from tocsin.cli.output import AsJson, entered_secret, show_facts, show_text
from tocsin.clock import SystemClock
from tocsin.errors import InvalidInput, NotFound
from tocsin.model.people import SYSTEM

if TYPE_CHECKING:  # the store's library is an extra
    from sqlalchemy import Engine

    from tocsin.store.catalogue.people.identities import People

app = typer.Typer(help="Create users and bots, reset passwords, migrate the store.", no_args_is_help=True)

UserName = Annotated[str, typer.Argument(help="Name of the user.")]


@app.command()
def create_user(
    name: UserName,
    *,
    email: Annotated[str, typer.Option(help="E-mail address, for log-in and notifications.")],
    admin: Annotated[bool, typer.Option("--admin", help="Make the user an administrator.")] = False,
    as_json: AsJson = False,
) -> None:
    """Create a user and print a generated password, once."""
    with opened_store(settings_of()) as engine:
        user_id = _create(engine, {"name": name, "email": email, "isAdmin": admin})
        password = _set_new_password(engine, user_id)
    show_facts({"name": name, "email": email, "password": password}, as_json=as_json)


@app.command()
def reset_password(name: UserName, *, as_json: AsJson = False) -> None:
    """Set and print a new password for a user, once; revokes the old one and all of the user's tokens."""
    with existing_store(settings_of()) as engine:
        person = _people(engine).by_name(name)
        if person is None or person.deleted:
            raise NotFound(f"user {name} not found")
        password = _set_new_password(engine, person.id)
    show_facts({"name": name, "password": password}, as_json=as_json)


@app.command()
def forget_identity(name: UserName, *, as_json: AsJson = False) -> None:
    """Forget a user's OpenID Connect identity; the next log-in is matched by e-mail address."""
    with existing_store(settings_of()) as engine:
        person = _people(engine).by_name(name)
        if person is None:
            raise NotFound(f"user {name} not found")
        count = _people(engine).forget_identities(person.id)
    show_facts({"name": name, "forgotten": count}, as_json=as_json)


@app.command()
def token(
    name: Annotated[str, typer.Argument(help="Name of the bot; created if it does not exist.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Print a token for a bot. It does not expire: export TOCSIN_TOKEN=$(tocsin admin token ingestion)."""
    settings = settings_of()
    with opened_store(settings) as engine:
        from tocsin.server.login.tokens import issue_token

        people = _people(engine)
        if people.by_name(name) is None:
            _create(engine, {"name": name, "email": f"{name}@bots.tocsin.example.org", "isBot": True})
            typer.echo(f"Created bot {name}.", err=True)
        new_token = issue_token(people, SystemClock(), name, lifetime_s=settings.token_hours * 3600)
    answer = {"name": name, "token": new_token.text, "expiresAt": new_token.expires_at_ms}
    show_text(new_token.text, answer=answer, as_json=as_json)


@app.command()
def migrate(*, as_json: AsJson = False) -> None:
    """Migrate the store to the latest schema. Safe to repeat and to run while servers start."""
    settings = settings_of()
    with opened_store(settings) as engine:
        store = engine.url.render_as_string(hide_password=True)
    show_facts({"store": store, "schema": "newest"}, as_json=as_json)


@app.command()
def secrets_key() -> None:
    """Print a new key for the setting `secrets_key`."""
    with needing("server"):
        from tocsin.store.database.vault import new_key
    typer.echo(new_key())


@app.command()
def reseal(*, as_json: AsJson = False) -> None:
    """Encrypt all secrets and signing keys with the first key of `secrets_key`; the others are no longer needed."""
    with existing_store(settings_of()) as engine:
        from tocsin.store.database.vault import reseal as seal_anew

        count = seal_anew(engine)
    show_facts({"sealed": count}, as_json=as_json)


@app.command()
def secret(
    setting: Annotated[str, typer.Argument(help="Name of the setting, such as kafka_password.")],
    *,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the stored value.")] = False,
    as_json: AsJson = False,
) -> None:
    """Store the value of a secret setting in the store, encrypted: tocsin admin secret kafka_password < FILE.

    It is read from standard input, in a terminal without showing it. The environment and tocsin.toml win over it.
    """
    with opened_store(settings_of()) as engine:
        from tocsin.store.upkeep.stored_settings import STORED_SETTINGS, remove_secret, store_secret

        if setting not in STORED_SETTINGS:
            raise InvalidInput(f"must be one of {', '.join(STORED_SETTINGS)}", field="setting")
        if remove:
            show_facts({"setting": setting, "removed": remove_secret(engine, setting)}, as_json=as_json)
            return
        if not (value := entered_secret(setting)):
            raise InvalidInput("standard input is empty; it must be the value", field="setting")
        store_secret(engine, setting, value)
    show_facts({"setting": setting, "stored": True}, as_json=as_json)


@app.command()
def renew_keys(*, as_json: AsJson = False) -> None:
    """Replace the keys that sign tokens and mail links: all users must log in again, and bots need new tokens.

    Use it if the key that encrypted them is lost. Restart all servers and workers afterwards.
    """
    with existing_store(settings_of()) as engine:
        count = _people(engine).forget_secrets()
    show_facts({"forgotten": count}, as_json=as_json)


def _people(engine: Engine) -> People:
    from tocsin.store.catalogue.people.identities import People

    return People(engine)


def _create(engine: Engine, request: dict[str, object]) -> str:
    from tocsin.catalogue.writes import Writes
    from tocsin.store.catalogue.entities.catalogue import SqlCatalogue

    written = Writes(SqlCatalogue(engine), SystemClock()).create("user", request, actor=SYSTEM)
    return str(written.document["id"])


def _set_new_password(engine: Engine, user_id: str) -> str:
    from tocsin.server.login.tokens import hash_password, new_password

    password = new_password()
    _people(engine).set_password(user_id, hash_password(password))
    return password
