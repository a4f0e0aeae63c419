"""Tests of who renders when: whoever has taken the least time, and nobody in the thread of the others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from tocsin.delivery.dispatch import RenderingAccount
from tocsin.delivery.templates.accounts import TemplateAccounts
from tocsin.delivery.templates.renderings import Renderings

GREEDY, MODEST = RenderingAccount("g", "greedy"), RenderingAccount("m", "modest")


class Worked:
    """A clock of work that says what the renderings say they took."""

    def __init__(self) -> None:
        self.at_s = 0.0
        self.accounts = TemplateAccounts(worked_s=lambda: self.at_s)

    def make_rendering(self, payer: RenderingAccount, seconds: float, alert_ids: list[str]) -> Callable[[], None]:
        def render() -> None:
            with self.accounts.charge(payer):
                self.at_s += seconds
            alert_ids.append(payer.alert_id)

        return render


async def test_whoever_has_taken_less_comes_first() -> None:
    work_clock, alert_ids = Worked(), list[str]()
    renderings, begin = Renderings(work_clock.accounts), threading.Event()
    first = asyncio.create_task(renderings.run(GREEDY, begin.wait))
    greedy = [renderings.run(GREEDY, work_clock.make_rendering(GREEDY, 1, alert_ids)) for _ in range(3)]
    tasks = [asyncio.create_task(one) for one in greedy]
    await asyncio.sleep(0)
    tasks += [
        asyncio.create_task(renderings.run(MODEST, work_clock.make_rendering(MODEST, 0.1, alert_ids))) for _ in range(3)
    ]
    await asyncio.sleep(0)
    begin.set()
    await asyncio.gather(first, *tasks)
    assert alert_ids == ["g", "m", "m", "m", "g", "g"]


async def test_what_fails_and_what_is_cancelled_keeps_nobody_waiting() -> None:
    renderings, release = Renderings(), threading.Event()
    first = asyncio.create_task(renderings.run(GREEDY, release.wait))
    cancelled_task = asyncio.create_task(renderings.run(GREEDY, lambda: 1))
    failing = asyncio.create_task(renderings.run(GREEDY, lambda: 1 // 0))
    last = asyncio.create_task(renderings.run(MODEST, lambda: 2))
    await asyncio.sleep(0)
    cancelled_task.cancel()
    release.set()
    assert (await first, await last) == (True, 2)
    with pytest.raises(ZeroDivisionError):
        await failing
    with pytest.raises(asyncio.CancelledError):
        await cancelled_task
