"""Tests of substitutes on both stores: people who agree at one time make no loop."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from sqlalchemy import Engine

from tocsin.errors import Conflict
from tocsin.store.catalogue.people.substitutes import Substitutes


def test_three_who_agree_at_one_time_make_no_loop(store_engine: Engine) -> None:
    substitutes, people = Substitutes(store_engine), [f"00000000-0000-4000-8000-00000000000{at}" for at in range(3)]
    pairs = list(zip(people, people[1:] + people[:1], strict=True))
    for person, substitute in pairs:
        substitutes.name(person, substitute, now_ms=1)
    barrier = Barrier(3)

    def agree(pair: tuple[str, str]) -> bool:
        barrier.wait()
        try:
            return substitutes.accept(*pair).is_accepted
        except Conflict:
            return False

    with ThreadPoolExecutor(3) as pool:
        answers = sorted(pool.map(agree, pairs))
    assert answers == [False, True, True]
    acceptances = sorted(one.is_accepted for person in people if (one := substitutes.of(person)))
    assert acceptances == [False, True, True]
