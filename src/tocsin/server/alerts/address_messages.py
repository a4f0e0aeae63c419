"""Messages with codes that verify own addresses: made and sent at once, never stored.

What the receiver answers is reported as that of a test send is: a status and a reason, never its body. Next:
``store/catalogue/people/address_codes.py``, which keeps the hash of the code.
"""

from __future__ import annotations

import secrets
from typing import NamedTuple
from uuid import uuid4

from tocsin.delivery.channels.sender_setup import SenderSetup
from tocsin.delivery.lines import clean_line
from tocsin.delivery.rich_text import BlockKind, RichBlock, RichText, Span
from tocsin.model.change import ChangeDescription, ChangeEvent, FieldChange
from tocsin.model.entity import Document
from tocsin.model.own_address import CODE_LIFE_MS
from tocsin.model.subscription import Category, Channel, Destination, DestinationConfig
from tocsin.server.alerts.trial import NOBODY, status_of, trial_dispatch, trial_event
from tocsin.server.request import Caller

_LETTERS = "ABCDEFGHJKMNPQRSTVWXYZ23456789"
"""Letters of codes: none that looks like another."""

_LENGTH, _GROUP = 12, 4
_MINUTE_MS = 60_000


class Errand(NamedTuple):
    """To whose address a code goes, over which channel, and when (epoch milliseconds)."""

    holder_type: str
    holder_id: str
    holder_name: str
    channel: Channel
    now_ms: int


def new_code() -> str:
    """Return a code that nobody can guess: one of 30^12."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))


def spell_code(code: str) -> str:
    """Return a code as messages show it: ``7KQM-X2TB-WH4C``."""
    return "-".join(code[start : start + _GROUP] for start in range(0, len(code), _GROUP))


async def send_code(errand: Errand, address: Document, code: str, caller: Caller) -> tuple[Document, str]:
    """Send a code to an own address, secrets in clear; return ``testDestinationStatus`` and the id of the message."""
    from tocsin.delivery.channels.senders import SENDERS  # libraries of HTTP and mail, which no start needs

    config = DestinationConfig.model_validate(address)
    destination = Destination(id=str(uuid4()), category=Category.EXTERNAL, type=errand.channel, config=config)
    sentences = _sentences(errand, caller, code)
    event = _event_of(errand, " ".join(sentences), caller)
    text = RichText(sentences[0], tuple(RichBlock(BlockKind.PARAGRAPH, (Span(one),)) for one in sentences))
    dispatch = trial_dispatch(destination, NOBODY, event, errand.now_ms, text=text)
    async with SENDERS[errand.channel](SenderSetup(caller.parts.settings)) as sender:
        outcome = await sender.send(dispatch, destination, now_ms=errand.now_ms)
    return status_of(outcome, errand.now_ms), dispatch.message.id


def _sentences(errand: Errand, caller: Caller, code: str) -> tuple[str, ...]:
    asker, holder = clean_line(caller.actor.name), clean_line(errand.holder_name)
    whose = f"of team {holder}" if errand.holder_type == "team" else f"of {holder}"
    minutes = CODE_LIFE_MS // _MINUTE_MS
    return (
        f"Code of Tocsin: {spell_code(code)}",
        f"{asker} wants notifications {whose} to come here. Who enters this code in Tocsin as {asker} confirms it;"
        f" it ends in {minutes} minutes.",
        "If you did not expect this, do nothing and give the code to nobody: without it nothing more comes here.",
    )


def _event_of(errand: Errand, words: str, caller: Caller) -> ChangeEvent:
    """Return the made-up event that carries a code to a webhook."""
    description = ChangeDescription(fields_updated=(FieldChange(name="description", old_value="", new_value=words),))
    event = trial_event(caller.actor, errand.now_ms)
    words_of_it = {"entity_fully_qualified_name": "tocsin.address.code", "change_description": description}
    return event.model_copy(update=words_of_it)
