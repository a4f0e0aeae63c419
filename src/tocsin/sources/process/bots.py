"""Bots as which sources write, made when they are first needed.

Next: ``sources/process/build.py``, ``sources/process/dbt.py``.
"""

from __future__ import annotations

from contextlib import suppress

from sqlalchemy import Engine

from tocsin.access.subject import ORGANIZATION
from tocsin.catalogue.writes import Writes
from tocsin.errors import Conflict
from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM, Actor
from tocsin.model.stored import Key
from tocsin.store.catalogue.people.identities import People


def check_policies(writes: Writes) -> None:
    """Check that the store has policies, without which nobody may see what a source brings.

    Raises
    ------
    Conflict : the server was never started on it
    """
    if not writes.within(_has_policies, actor=SYSTEM):
        raise Conflict("The store has no policies, so nobody may see anything: start the server once.")


def bot_of(engine: Engine, writes: Writes, bot: Document, *, is_dry: bool = False) -> Actor:
    """Return the bot of a source, made if it is missing; a dry run makes none, and writes as the system would.

    Raises
    ------
    Conflict : the store has no policies, or the bot was deleted or is no bot
    """
    check_policies(writes)
    if is_dry and People(engine).by_name(bot["name"]) is None:
        return Actor("system", bot["name"], is_bot=True)
    with suppress(Conflict):
        writes.ensure("user", bot, actor=SYSTEM)
    person = People(engine).by_name(bot["name"])
    if person is None or person.deleted or not person.is_bot:
        raise Conflict(f"The bot {bot['name']} is missing, deleted or no bot: restore it.")
    return Actor(person.id, person.name, is_bot=True)


def _has_policies(record: Record) -> bool:
    return record.transaction.find("team", Key.by_name(ORGANIZATION), Hold.SHARED) is not None
