"""Ways of running the pipeline while a script is replayed, each over a fresh store.

The replay is noted in its folder when the last request is made, so that an interrupted run goes on from there.
Next: ``truth/stored.py``.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from pathlib import Path

from sqlalchemy import Engine, create_engine

from truth.calls import DAY_MS, Caller, check_ms
from truth.clients import Clients, beside, quiet_for
from truth.preparation import prepare
from truth.processes import Failed, Product
from truth.script import OTHER, Script
from truth.steps import NEEDS_INCIDENTS, Report, SetAlert, Step, Wait, needs_pipeline
from truth.stored import Log, last_report_by, log_end, read_checks, read_job_times, read_log

Progress = Callable[[str, int, int], None]
"""Called with what is done, how much of it is, and how much there is."""

_WAITS = 250
_KILLS = {30: "pipeline", 45: "serve", 50: "pipeline", 70: "pipeline"}
_AWAY = 3
_NOTE = "replay.json"


class Way(StrEnum):
    """How the pipeline runs while the script is replayed."""

    KEEPING_UP = "keeping-up"
    FULL_SPEED = "full-speed"
    AT_THE_END = "at-the-end"
    KILLED = "killed"


WITH_CLIENTS = frozenset({Way.KEEPING_UP, Way.FULL_SPEED})
"""Ways that the workflows of OpenMetadata's client can write beside: server and pipeline run all the time."""


@dataclass(frozen=True)
class Place:
    """Where a replay happens.

    Attributes
    ----------
    folder : empty, or that of an interrupted run of the same script
    database_url : SQLAlchemy address of a database that belongs to the folder; None: SQLite in the folder
    environment : added to that of the pipeline and the audit
    has_clients : the script is one ``with_clients``, and the workflows of OpenMetadata's client write beside it
    """

    folder: Path
    database_url: str | None = None
    environment: dict[str, str] | None = None
    has_clients: bool = False


@dataclass(frozen=True)
class Replayed:
    """A replay that is over: the product still runs, and the pipeline has processed the whole log.

    ``ends`` are the offsets at which the log ended before the first step and after each, ``started_ms`` is the start.
    """

    product: Product
    caller: Caller
    engine: Engine
    log: Log
    ends: list[int]
    started_ms: int


@contextmanager
def replay_script(script: Script, way: Way, place: Place, progress: Progress) -> Iterator[Replayed]:
    """Replay a script one way, unless its folder holds that replay; the product runs until the block ends.

    Raises
    ------
    Failed : the folder holds something else, or a replay that was interrupted before its last request.
    """
    note = place.folder / _NOTE
    if not note.exists() and any(place.folder.iterdir()):
        raise Failed(f"{place.folder} holds no replay that came to its end: remove it")
    with _serving(place) as (product, caller, engine):
        replay = _Replay(script, way, product, caller, engine, progress)
        if note.exists():
            ends = _read_note(note, script, caller)
        else:
            prepare(caller, script)
            if place.has_clients:
                replay.clients = Clients(product.url, caller.token_of(OTHER), place.folder, lambda: log_end(engine))
            ends = replay.run()
            ids = [[*key, one] for key, one in caller.ids.items()]
            note_content = {"script": _digest(script), "ends": ends, "ids": ids, "started": caller.started_ms}
            note.write_text(json.dumps(note_content))
        if not product.runs("pipeline"):
            product.start("pipeline")
        replay.drain(max(_last_report(script, ends), last_report_by(engine, OTHER)))
        yield Replayed(product, caller, engine, read_log(caller, engine, ends), ends, caller.started_ms)


@contextmanager
def _serving(place: Place) -> Iterator[tuple[Product, Caller, Engine]]:
    """Run a server, and later whatever is started beside it, until the block ends."""
    product = Product(place.folder, place.database_url, place.environment or {})
    caller: Caller | None = None
    engine: Engine | None = None
    try:
        product.start("serve")
        engine = create_engine(product.store_url)
        caller = Caller(product.url, Caller.token(product.url, product.administrator()))
        yield product, caller, engine
    finally:
        if caller is not None:
            caller.close()
        if engine is not None:
            engine.dispose()
        product.stop()


def _read_note(note: Path, script: Script, caller: Caller) -> list[int]:
    """Return where the log of a noted replay ended; let the caller know its ids."""
    note_content = json.loads(note.read_text())
    if note_content["script"] != _digest(script):
        raise Failed(f"{note.parent} holds a replay of other changes, or of another seed")
    caller.started_ms = int(note_content["started"])
    caller.ids |= {(kind, name): one for kind, name, one in note_content["ids"]}
    return [int(one) for one in note_content["ends"]]


def _digest(script: Script) -> str:
    return hashlib.sha256(repr((script.setup, script.steps)).encode()).hexdigest()


def _last_report(script: Script, ends: list[int]) -> int:
    """Return the offset at which the log ended after the last report; 0 if there is none."""
    steps = (*script.setup, *script.steps)
    return max((end for step, end in zip(steps, ends[1:], strict=True) if isinstance(step, Report)), default=0)


@dataclass
class _Replay:
    script: Script
    way: Way
    product: Product
    caller: Caller
    engine: Engine
    progress: Progress
    last_report: int = 0
    clients: Clients | None = None

    def run(self) -> list[int]:
        """Make every step; return where the log ended before them and after each."""
        ends = [log_end(self.engine), *map(self._make_step, self.script.setup)]
        if self.way is not Way.AT_THE_END:
            self.product.start("pipeline")
        opening = sum(1 for _ in takewhile(lambda step: isinstance(step, SetAlert), self.script.steps))
        with ExitStack() as stack:
            for number, step in enumerate(self.script.steps):
                if number == opening:
                    stack.enter_context(beside(self.clients))
                if isinstance(step, NEEDS_INCIDENTS):  # time passes for the product alone
                    stack.close()
                    self.clients = None
                with quiet_for(step, self.clients):
                    self._prepare(number, step)
                    ends.append(self._make_step(step))
                self.progress("requests", number + 1, len(self.script.steps))
        return [*ends[:-1], log_end(self.engine)]

    def drain(self, last_report: int) -> None:
        """Wait until the pipeline has processed the log, and the reports in it a second time for streaks."""
        end = log_end(self.engine)
        target_offsets = {"match_stream": end, "streak_stream": last_report}

        def is_done() -> bool:
            offsets_by_query = {one["query"]: one["logOffset"] for one in self.product.health()["pipeline"]}
            self.progress("pipeline", offsets_by_query.get("match_stream", 0), end)
            return all(offsets_by_query.get(query, 0) >= offset for query, offset in target_offsets.items())

        self.product.until(is_done, within_s=1_800)

    def _make_step(self, step: Step) -> int:
        if isinstance(step, Wait):
            self._pass_time(step)
        else:
            self.caller.do(step)
        end = log_end(self.engine)
        if isinstance(step, Report):
            self.last_report = end
        return end

    def _prepare(self, number: int, step: Step) -> None:
        count = len(self.script.steps)
        if self.way is Way.AT_THE_END and not isinstance(step, NEEDS_INCIDENTS):
            return
        if needs_pipeline(step) or (self.way is Way.KEEPING_UP and number % max(1, count // _WAITS) == 0):
            self._start_pipeline()
            self.drain(self.last_report)
        if self.way is Way.KILLED:
            self._kill_or_start(number, count)

    def _pass_time(self, step: Wait) -> None:
        """Set the clock ahead, and wait until jobs have done what they do then; one that is killed does it later."""
        self.product.until(lambda: read_checks(self.engine) != [])  # the time of a schedule counts once it was seen
        if self.way is Way.KILLED:
            self.product.kill("pipeline")
        until_ms = self.caller.started_ms + step.days * DAY_MS
        self.caller.ahead_ms = until_ms - int(time.time() * 1000)
        self.product.set_ahead(self.caller.ahead_ms)
        self._start_pipeline()
        check_at_ms = check_ms(self.caller.started_ms)

        def have_jobs_looked() -> bool:
            checks = read_checks(self.engine) if until_ms > check_at_ms else []
            is_checked = all(due_at_ms >= check_at_ms and is_released for due_at_ms, is_released in checks)
            return is_checked and all(at_ms >= until_ms for at_ms in read_job_times(self.engine))

        self.product.until(have_jobs_looked, within_s=600)

    def _kill_or_start(self, number: int, count: int) -> None:
        for part, command in _KILLS.items():
            if number == count * part // 100:
                self.product.kill(command)
                if command == "serve":
                    self.product.start(command)
            if command == "pipeline" and number == count * (part + _AWAY) // 100:
                self._start_pipeline()

    def _start_pipeline(self) -> None:
        """Start the pipeline unless it runs: killed, it comes back early for a step that has to wait for it."""
        if not self.product.runs("pipeline"):
            self.product.start("pipeline")
