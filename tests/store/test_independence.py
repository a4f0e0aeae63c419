"""Property: what one alert sends is the same whether or not others exist, except that they share notifications."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine
from tests.company import destination_id
from tests.notifying import notify_all
from tests.soak import SOAK
from tests.store.test_access import Small
from tests.workers import worker_parts

from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.worker.attempt import Attempts
from tocsin.model.entity import Document
from tocsin.model.message import Delivered, Outcome
from tocsin.model.mute import Mute, MuteKind
from tocsin.model.people import SYSTEM, Actor
from tocsin.model.stored import Key
from tocsin.model.subscription import Channel, Destination
from tocsin.store.database.engine import open_engine
from tocsin.store.outbox.messages import Messages
from tocsin.store.recipients.mutes import Mutes

NAMES = ("first", "second", "third")
TO_BERT = "bert@example.org"
Sent = tuple[str, str, str, str]
"""(target, asset, kind of the reason, connecting asset or empty), as one alert sends it."""


@dataclass(frozen=True)
class Made:
    """An alert: who makes it, whom it mails, and what becomes of it before the mail goes out."""

    maker: str
    category: str
    fate: str = "stays"


ALERTS = st.builds(
    Made,
    st.sampled_from(["bert", "anna", "root"]),
    st.sampled_from(["Owners", "External", "Users"]),
    st.sampled_from(["stays", "deleted", "disabled", "muted"]),
)


@dataclass
class Collecting:
    """A channel that takes everything."""

    sent: list[Dispatch] = field(default_factory=list)

    async def send(self, dispatch: Dispatch, _destination: Destination, *, now_ms: int) -> Outcome:
        self.sent.append(dispatch)
        return Delivered()


@given(choices=st.lists(ALERTS, min_size=2, max_size=3), hidden=st.sampled_from(["never", "before", "after"]))
@example(choices=[Made("bert", "External"), Made("root", "External")], hidden="before")
@example(choices=[Made("bert", "External", "deleted"), Made("root", "External")], hidden="never")
@example(choices=[Made("anna", "External"), Made("bert", "Users", "muted")], hidden="after")
@settings(max_examples=40 if SOAK else 4)
def test_what_an_alert_sends_does_not_depend_on_the_others(
    sqlite_template: Path, choices: list[Made], hidden: str
) -> None:
    choices_by_name = dict(zip(NAMES, choices, strict=False))
    together = _messages_sent(sqlite_template, choices_by_name, hidden)
    alone = [
        sent
        for name in choices_by_name
        for sent in _messages_sent(sqlite_template, {name: choices_by_name[name]}, hidden).items()
    ]
    assert together == {name: sent for name, sent in alone if sent}


def _messages_sent(template: Path, choices_by_name: dict[str, Made], hidden: str) -> dict[str, set[Sent]]:
    """Return what each alert sends when just these are there; fail where a recipient gets one event twice."""
    with opened_copy(template) as engine:
        small = Small(engine)
        small.make("user", "root", email="root@example.org", isAdmin=True)
        ids = {name: _alert(small, name, one) for name, one in choices_by_name.items()}
        owners = [{"type": "user", "id": small.ids["bert"]}, *([_team(small)] if hidden == "before" else [])]
        small.table("free", owners=owners)
        notify_all(engine)
        for name, choice in choices_by_name.items():
            _end(small, ids[name], choice)
        if hidden == "after":
            change = [{"op": "add", "path": "/owners/-", "value": _team(small)}]
            small.company.writes.patch("table", Key.by_name("pg.shop.public.free"), change, actor=SYSTEM)
        return _by_alert(asyncio.run(_work_off(engine)))


@contextmanager
def opened_copy(template: Path) -> Iterator[Engine]:
    """Yield a store that is a copy of an empty one."""
    with TemporaryDirectory() as folder:
        shutil.copy(template, path := Path(folder) / "store.db")
        engine = open_engine(f"sqlite:///{path}")
        try:
            yield engine
        finally:
            engine.dispose()


def _team(small: Small) -> dict[str, str]:
    return {"type": "team", "id": small.ids["Tills"]}


def _alert(small: Small, name: str, choice: Made) -> str:
    receivers = {"Owners": [], "External": [TO_BERT], "Users": ["bert"]}[choice.category]
    to = {"id": destination_id(name), "category": choice.category, "type": "Email", "config": {"receivers": receivers}}
    request: Document = {"name": name, "alertType": "Notification", "destinations": [to]}
    request["filteringRules"] = {"resources": ["table"]}
    actor = Actor(small.ids[choice.maker], choice.maker)
    return str(small.company.writes.create("eventsubscription", request, actor=actor).document["id"])


def _end(small: Small, alert_id: str, choice: Made) -> None:
    writes, key = small.company.writes, Key.by_id(alert_id)
    if choice.fate == "deleted":
        writes.delete("eventsubscription", key, actor=SYSTEM, hard=True)
    if choice.fate == "disabled":
        writes.patch("eventsubscription", key, [{"op": "add", "path": "/enabled", "value": False}], actor=SYSTEM)
    if choice.fate == "muted":
        for who in (small.ids["bert"], TO_BERT):
            Mutes(small.engine).put(Mute(who, MuteKind.ALERT, alert_id))


async def _work_off(engine: Engine) -> list[Dispatch]:
    channel = Collecting()
    parts, messages = worker_parts(engine, {Channel.EMAIL: channel}), Messages(engine)
    parts.queue.sessions.begin("s", lease_ms=90_000, now_ms=0)
    attempts = Attempts(parts.attempts, parts.time)
    for dispatch in messages.dispatches(messages.claim("s", 64, now_ms=10**15)):
        await attempts.make(dispatch, yes)
    return channel.sent


async def yes() -> bool:
    """Say that a message is still held."""
    return True


def _by_alert(dispatches: list[Dispatch]) -> dict[str, set[Sent]]:
    at = [(one.message.target, entry.event.id) for one in dispatches for entry in one.entries]
    assert len(at) == len(set(at))
    sent_by_alert: dict[str, set[Sent]] = {}
    for dispatch in dispatches:
        for entry in dispatch.entries:
            about = entry.event.entity_fully_qualified_name or ""
            for reason in entry.reasons:
                sent = (dispatch.message.target, about, reason.kind.value, reason.via or "")
                sent_by_alert.setdefault(reason.subscription_name, set()).add(sent)
    return sent_by_alert
