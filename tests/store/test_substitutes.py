"""Tests of substitutes on both stores: nobody stands in for themselves, and what is assigned has one assignee."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine
from tests.soak import SOAK

from tocsin.errors import Conflict, NotFound
from tocsin.model.substitute import stand_in_of
from tocsin.store.catalogue.people.substitutes import Substitutes
from tocsin.store.database.engine import open_engine

_PEOPLE = [f"00000000-0000-4000-8000-00000000000{at}" for at in range(4)]
_PERSON = st.sampled_from(_PEOPLE)
_STEPS = st.lists(st.tuples(st.sampled_from(["name", "accept", "remove"]), _PERSON, _PERSON), max_size=20)


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


@settings(max_examples=200 if SOAK else 20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_STEPS, st.sets(_PERSON), st.sets(_PERSON))
def test_in_any_order_of_agreements_an_assignment_goes_to_one_person(
    sqlite_template: Path,
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[str, str, str]],
    away_people: set[str],
    blind_people: set[str],
) -> None:
    path = tmp_path_factory.mktemp("substitutes") / "tocsin.db"
    path.write_bytes(sqlite_template.read_bytes())
    engine = open_engine(f"sqlite:///{path}", synchronous="OFF")
    substitutes = Substitutes(engine)
    for step, person, substitute in steps:
        try:
            match step:
                case "name":
                    substitutes.name(person, substitute, now_ms=1)
                case "accept":
                    substitutes.accept(person, substitute)
                case _:
                    substitutes.remove(person, substitute)
        except (Conflict, NotFound):
            continue
    for person in _PEOPLE:
        stand_in = stand_in_of(
            person,
            lambda one: 9 if one in away_people else None,
            substitutes.of,
            lambda one: one not in blind_people,
        )
        assert (stand_in is None) == (person not in away_people)
        assignee = person if stand_in is None else str(stand_in.assignee["id"])
        chain = _chain(substitutes, person)
        assert assignee == person or assignee in set(chain) - away_people - blind_people
    engine.dispose()


def _chain(substitutes: Substitutes, person: str) -> list[str]:
    """Return who stands in for a person, by agreement, one after the other; fail where it is they themselves."""
    chain: list[str] = []
    while (substitution := substitutes.of(chain[-1] if chain else person)) and substitution.is_accepted:
        assert substitution.substitute_id not in (person, *chain), "a loop"
        chain.append(substitution.substitute_id)
    return chain
