"""Tests of the hard deletion of a user whom many entities name, a portion per transaction, killed in between."""

from __future__ import annotations

import os
import signal
from collections import Counter
from itertools import count
from multiprocessing import get_context

import pytest
from sqlalchemy import Engine
from tests.soak import SOAK
from tests.store.catalogues import JANE, Company, company

from tocsin.catalogue.writes import Writes
from tocsin.clock import FixedClock
from tocsin.errors import Forbidden, NotFound
from tocsin.flow.capture.authorization import EVERYTHING
from tocsin.flow.capture.bounds import Bounds
from tocsin.flow.capture.operations import new_event_id
from tocsin.model.change import ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.stored import Key
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import open_engine

PORTION = 4
NAME = '"john.doe"'
JOHN = Key.by_name(NAME)
OWNED, FOLLOWED, BOTH = ([f"{kind}{number}" for number in range(5)] for kind in ("owned", "followed", "both"))


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    sample_company = company(store_engine)
    sample_company.writes.upsert(
        "user", {"name": "john.doe", "email": "john@example.org", "teams": [sample_company.ids["sales"]]}, actor=JANE
    )
    for name in (*OWNED, *FOLLOWED, *BOTH):
        owners = [] if name in FOLLOWED else [{"id": sample_company.ids["john.doe"], "type": "user"}]
        table = sample_company.writes.create("table", sample_company.table(name, owners=owners), actor=JANE).document
        if name not in OWNED:
            sample_company.writes.follow("table", table["id"], sample_company.ids["john.doe"], actor=JANE)
    return sample_company


def _writes(shop: Company, **options: object) -> Writes:
    return Writes(shop.catalogue, shop.clock, bounds=Bounds(portion=PORTION), **options)  # type: ignore[arg-type]


def test_each_asset_is_left_with_one_event_whatever_the_portions(shop: Company) -> None:
    end = shop.log.readable_end()
    _writes(shop).delete("user", JOHN, actor=JANE, hard=True)
    _check(shop, shop.events_after(end))


@pytest.mark.parametrize("events_before", [0, 1, 3, 4, 7, 11, 15, 16] if SOAK else [0, 3, 4])
def test_a_kill_in_between_loses_and_repeats_nothing(shop: Company, store_url: str, events_before: int) -> None:
    end = shop.log.readable_end()
    killed = get_context("fork").Process(target=_delete_until, args=(store_url, events_before))
    killed.start()
    killed.join(60)
    assert killed.exitcode == -signal.SIGKILL
    assert len(shop.events_after(end)) == min(events_before // PORTION, 3) * PORTION, "whole portions"
    assert shop.get("user", NAME)
    _writes(shop).delete("user", JOHN, actor=JANE, hard=True)
    _check(shop, shop.events_after(end))


class _Refusing(type(EVERYTHING)):  # type: ignore[misc]  # the class of a value
    """A permit for everything but changes of one of the assets."""

    def denies_some(self, entity_type: str) -> bool:
        return entity_type == "table"

    def check_kept(self, entity_type: str, before: Document, after: Document) -> None:
        if before["name"] == BOTH[-1]:
            raise Forbidden("You may not do this.")


def test_a_deletion_that_is_refused_has_not_begun(shop: Company) -> None:
    end = shop.log.readable_end()
    with pytest.raises(Forbidden):
        _writes(shop, permits=lambda _actor: _Refusing()).delete("user", JOHN, actor=JANE, hard=True)
    assert shop.log.readable_end() == end


def _delete_until(store_url: str, events: int) -> None:
    """Delete the user in a process of its own, which is killed at the event after so many."""
    numbers = count()

    def event_id() -> str:
        if next(numbers) >= events:
            os.kill(os.getpid(), signal.SIGKILL)
        return new_event_id()

    catalogue = SqlCatalogue(open_engine(store_url))
    writes = Writes(catalogue, FixedClock(1_705_320_000_000), event_id=event_id, bounds=Bounds(portion=PORTION))
    writes.delete("user", JOHN, actor=JANE, hard=True)


def _check(shop: Company, events: list[ChangeEvent]) -> None:
    changed = Counter(str(one.entity_fully_qualified_name).rpartition(".")[2] for one in events[:-1])
    assert changed == Counter([*OWNED, *FOLLOWED, *BOTH, "sales"])
    assert (events[-1].entity_type, events[-1].event_type.value) == ("user", "entityDeleted")
    for event in events[:-1]:
        name = str(event.entity_fully_qualified_name).rpartition(".")[2]
        assert event.change_description is not None
        removed_fields = {change.name for change in event.change_description.fields_deleted}
        fields = {"users"} if name == "sales" else {"owners"} if name in OWNED else {"followers"}
        assert removed_fields == (fields | {"owners"} if name in BOTH else fields)
    with pytest.raises(NotFound):
        shop.get("user", NAME)
