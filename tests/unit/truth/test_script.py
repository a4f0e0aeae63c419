"""Tests of the script of ``make truth``: the same for a seed, with everything that it promises to contain."""

from __future__ import annotations

from typing import get_args

import pytest
from truth.history import FOLDER, History, read_history
from truth.script import BOT, CAMPAIGN, HIDDEN, VAULT, script_of
from truth.steps import Follow, Make, Remove, Report, Step
from truth.values import is_bot

pytestmark = [
    pytest.mark.skipif(not FOLDER.is_dir(), reason="needs the real history of ../shared/data"),
    pytest.mark.xdist_group("truth"),  # one worker reads it
]


@pytest.fixture(scope="module")
def history() -> History:
    return read_history(1_500, 1)


def test_a_seed_gives_the_same_script(history: History) -> None:
    first, second = (script_of(history, 5).steps for _ in range(2))
    assert first == second
    assert first != script_of(history, 6).steps


def test_every_kind_of_step_is_made(history: History) -> None:
    """Rare ones are in one script or another."""
    scripts = [script_of(history, seed) for seed in range(1, 5)]
    steps = [step for script in scripts for step in (*script.setup, *script.steps)]
    assert {type(one) for one in steps} == set(get_args(Step))
    assert {one.is_hard for one in steps if isinstance(one, Remove)} == {True, False}
    assert BOT in {one.actor for one in steps if isinstance(one, Report)}
    labels = {label["tagFQN"] for one in steps if isinstance(one, Make) for label in one.document.get("tags", ())}
    assert {HIDDEN, VAULT, CAMPAIGN} <= labels


def test_as_many_changes_are_read_as_are_asked_for(history: History) -> None:
    assert sum(len(commit.states) for commit in history.commits) == 1_500


def test_no_bot_follows(history: History) -> None:
    followers = {step.user for step in script_of(history, 1).steps if isinstance(step, Follow) and step.begins}
    assert followers
    assert not any(map(is_bot, followers))
