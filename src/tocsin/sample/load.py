"""Loader of the sample: writes the history through capture in one transaction, all or nothing.

Loading again completes an interrupted load. The address of the sample's webhook is the development receiver of this
start, on its current port; ``cli/up.py`` sets it before the processes start. Next: ``sample/history.py``.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING
from uuid import UUID

from argon2 import PasswordHasher

from tocsin.catalogue.writes import Writes
from tocsin.clock import Clock, FixedClock
from tocsin.delivery.transport.egress import egress_of
from tocsin.errors import NotFound
from tocsin.flow.capture.ports import Transaction
from tocsin.model.address import MASK
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.sample.alerts import HOOK_ALERT, alerts
from tocsin.sample.catalogue_writer import CatalogueWriter
from tocsin.sample.company import DEMO_PERSON
from tocsin.sample.history import SEED, history
from tocsin.sample.steps import Create, SampleStep
from tocsin.settings import Settings
from tocsin.store.catalogue.alerts.subscriptions import ENTITY_TYPE, Subscriptions
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.people.identities import People

if TYPE_CHECKING:
    from sqlalchemy import Engine

Progress = Callable[[int, int], None]

_STEWARD = "jonas.lindqvist"
_RECEIVER_ADDRESS = "127.0.0.1"
_RECEIVER_PORT = 8586


@dataclass(frozen=True)
class DemoLogin:
    """Credentials of a person of the sample; the password is stored nowhere else in clear."""

    name: str
    email: str
    password: str


def is_loaded(engine: Engine) -> bool:
    """Return whether the store holds the whole sample, its login included."""
    people = People(engine)
    person = people.by_name(DEMO_PERSON)
    return person is not None and people.password_hash(person.id) is not None


def load(
    engine: Engine,
    settings: Settings,
    *,
    now_ms: int,
    progress: Progress | None = None,
    receiver_port: int = _RECEIVER_PORT,
) -> DemoLogin:
    """Load the sample company into a migrated store; give its demo person a new password and return it.

    The year ends at ``now_ms`` (epoch milliseconds). Two loads with the same ``now_ms`` leave the same catalogue
    and log, ids included. ``progress`` is called with the number of finished and of all steps. The alert on the orders
    table calls ``receiver_port`` on this machine, unless ``settings`` keep webhooks from calling it.
    """
    people = People(engine)
    if people.by_name(DEMO_PERSON) is None:
        steps = history(now_ms)
        may_call_home = egress_of(settings.egress_allow).permits(_RECEIVER_ADDRESS, receiver_port)
        home = hook_url(receiver_port) if may_call_home else None
        with SqlCatalogue(engine).transaction() as transaction:
            _write_steps(steps, transaction, now_ms, home_url=home, progress=progress)
    _draw_webhook_secrets(Subscriptions(engine))
    return _reset_demo_password(people)


class _OneTransaction:
    """A catalogue all of whose writes share one transaction."""

    def __init__(self, shared: Transaction) -> None:
        self._shared = shared

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        yield self._shared


def _write_steps(
    past: list[SampleStep], transaction: Transaction, now_ms: int, *, home_url: str | None, progress: Progress | None
) -> None:
    clock = FixedClock(now_ms)
    ids = SeededIds(Random(SEED), clock)  # noqa: S311  # a story, not a secret
    writes = Writes(_OneTransaction(transaction), clock, ids.entity, event_id=ids.event, is_history=True)
    writer = CatalogueWriter(writes, clock)
    # Alerts come last: events before an alert notify nobody.
    present = [SampleStep(now_ms, _STEWARD, Create(ENTITY_TYPE, alert)) for alert in alerts(home_url, ids.entity)]
    steps = [*past, *present]
    for step_count, step in enumerate(steps, start=1):
        writer.write(step)
        if progress is not None:
            progress(step_count, len(steps))


def _draw_webhook_secrets(subscriptions: Subscriptions) -> None:
    """Give every webhook of the sample that has none yet a key to sign with."""
    for subscription in subscriptions.list_enabled():
        unsigned = [destination for destination in subscription.destinations if destination.config.secret_key == MASK]
        if unsigned and not subscriptions.secrets_of(subscription.id):
            drawn: dict[str, Document] = {
                destination.id: {"endpoint": destination.config.endpoint, "secretKey": secrets.token_urlsafe(24)}
                for destination in unsigned
            }
            subscriptions.keep_secrets(subscription.id, drawn)


def _reset_demo_password(people: People) -> DemoLogin:
    person = people.by_name(DEMO_PERSON)
    assert person is not None, "the sample has a demo user"  # noqa: S101
    password = secrets.token_urlsafe(15)
    people.set_password(person.id, PasswordHasher().hash(password))
    return DemoLogin(person.name, person.email or person.name, password)


_VERSION_7 = 0x7 << 76
_VARIANT = 0b10 << 62


@dataclass(frozen=True)
class SeededIds:
    """A source of ids that depend on nothing but its random numbers and its clock."""

    rng: Random
    clock: Clock

    def entity(self) -> str:
        """Return the next entity's id: a UUIDv4."""
        return str(UUID(int=self.rng.getrandbits(128), version=4))

    def event(self) -> str:
        """Return the next event's id: a UUIDv7 of the clock's time. Source: RFC 9562, section 5.7."""
        drawn_high, drawn_low = self.rng.getrandbits(12) << 64, self.rng.getrandbits(62)
        return str(UUID(int=self.clock.now_ms() << 80 | _VERSION_7 | drawn_high | _VARIANT | drawn_low))


_HOME = re.compile(r"http://127\.0\.0\.1:\d+/hook")


def hook_url(port: int) -> str:
    """Return the webhook URL of a development receiver on ``port`` of this machine."""
    return f"http://127.0.0.1:{port}/hook"


def lead_hook_to(engine: Engine, port: int, *, clock: Clock) -> None:
    """Point the sample's alert to the development receiver on ``port``, unless it calls something else."""
    catalogue, name = SqlCatalogue(engine), Key.by_name(HOOK_ALERT)
    try:
        document = catalogue.get(ENTITY_TYPE, name)
    except NotFound:  # a person has deleted it
        return
    operations = [
        {"op": "replace", "path": f"/destinations/{number}/config/endpoint", "value": hook_url(port)}
        for number, destination in enumerate(document.get("destinations") or ())
        if _HOME.fullmatch(endpoint := destination.get("config", {}).get("endpoint") or "")
        and endpoint != hook_url(port)
    ]
    if operations:
        moved_alert = Writes(catalogue, clock).patch(ENTITY_TYPE, name, operations, actor=SYSTEM).document
        _take_secrets_along(Subscriptions(engine), moved_alert)


def _take_secrets_along(subscriptions: Subscriptions, alert: Document) -> None:
    """Let the secrets of the moved destinations belong to their new address: it is the same development receiver."""
    endpoints = {destination_id["id"]: destination_id["config"]["endpoint"] for destination_id in alert["destinations"]}
    secrets_by_destination = subscriptions.secrets_of(alert["id"])
    subscriptions.keep_secrets(
        alert["id"],
        {
            destination_id: secrets
            | ({"endpoint": endpoints[destination_id]} if _HOME.fullmatch(endpoints.get(destination_id, "")) else {})
            for destination_id, secrets in secrets_by_destination.items()
        },
    )
