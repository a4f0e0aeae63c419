"""The four ways of running the pipeline over the same script.

Next: ``truth/compare.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from sqlalchemy import Engine, create_engine

from truth.calls import Caller
from truth.founding import found
from truth.processes import Product
from truth.script import Script
from truth.steps import NEEDS_PIPELINE, Report, Step
from truth.stored import Log, log_end, read_log

Progress = Callable[[int, int], None]
"""Called with the number of steps made and of all."""

_WAITS = 250
_KILLS = {30: "pipeline", 45: "serve", 50: "pipeline", 70: "pipeline"}
_AWAY = 3


class Way(StrEnum):
    """How the pipeline runs while the script is replayed."""

    KEEPING_UP = "keeping-up"
    FULL_SPEED = "full-speed"
    AT_THE_END = "at-the-end"
    KILLED = "killed"


@dataclass(frozen=True)
class Replayed:
    """A replay that is over: the product still runs, and the pipeline has processed the whole log."""

    product: Product
    caller: Caller
    engine: Engine
    log: Log


@contextmanager
def replayed(
    script: Script,
    way: Way,
    folder: Path,
    progress: Progress,
    *,
    database_url: str | None = None,
    environment: dict[str, str] | None = None,
) -> Iterator[Replayed]:
    """Replay a script one way in an empty folder; the product runs until the block ends."""
    product = Product(folder, database_url, environment or {})
    product.start("serve")
    caller: Caller | None = None
    engine = None
    try:
        password = product.administrator()
        engine = create_engine(product.store_url)
        caller = Caller(product.url, Caller.token(product.url, password))
        found(caller, script)
        ends = _Replay(script, way, product, caller, engine, progress).run()
        yield Replayed(product, caller, engine, read_log(caller, engine, ends))
    finally:
        if caller is not None:
            caller.close()
        if engine is not None:
            engine.dispose()
        product.stop()


@dataclass
class _Replay:
    script: Script
    way: Way
    product: Product
    caller: Caller
    engine: Engine
    progress: Progress
    last_report: int = 0

    def run(self) -> list[int]:
        """Make every step; return where the log ended before them and after each."""
        ends = [log_end(self.engine), *map(self._made, self.script.founding)]
        if self.way is not Way.AT_THE_END:
            self.product.start("pipeline")
        for number, step in enumerate(self.script.steps):
            self._before(number, step)
            ends.append(self._made(step))
            self.progress(number + 1, len(self.script.steps))
        if self.way is Way.AT_THE_END:
            self.product.start("pipeline")
        self._drain()
        return ends

    def _made(self, step: Step) -> int:
        self.caller.do(step)
        end = log_end(self.engine)
        if isinstance(step, Report):
            self.last_report = end
        return end

    def _before(self, number: int, step: Step) -> None:
        count = len(self.script.steps)
        if self.way is Way.AT_THE_END:
            return
        if isinstance(step, NEEDS_PIPELINE) or (self.way is Way.KEEPING_UP and number % max(1, count // _WAITS) == 0):
            self._drain()
        if self.way is Way.KILLED:
            self._kill_or_start(number, count)

    def _kill_or_start(self, number: int, count: int) -> None:
        for part, command in _KILLS.items():
            if number == count * part // 100:
                self.product.kill(command)
                if command == "serve":
                    self.product.start(command)
            if command == "pipeline" and number == count * (part + _AWAY) // 100:
                self.product.start(command)

    def _drain(self) -> None:
        """Wait until the pipeline has processed the log, and the reports in it a second time for streaks."""
        wanted = {"match_stream": log_end(self.engine), "streak_stream": self.last_report}
        self.product.until(lambda: self._is_done(wanted), within_s=1_800)

    def _is_done(self, wanted: dict[str, int]) -> bool:
        done = {one["query"]: one["logOffset"] for one in self.product.health()["pipeline"]}
        return all(done.get(query, 0) >= offset for query, offset in wanted.items())
