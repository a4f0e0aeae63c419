"""Check of a cluster's executors before the pipeline begins: libraries, store, clock and shared folders.

``local`` masters are not checked, for their tasks run in this very installation, nor are executors that come later.
Next: ``jobs/pipeline.py``.
"""

from __future__ import annotations

import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import structlog
from pyspark import SparkContext
from sqlalchemy import Engine

from tocsin.clock import Clock, SystemClock
from tocsin.errors import InvalidSetting, TocsinError, Unavailable
from tocsin.jobs.executor_environment import Environment, environment_of
from tocsin.jobs.intervals import FAILURES, brief
from tocsin.lake_files.address import access_of, files_at
from tocsin.lake_files.port import S3Access
from tocsin.settings import Settings
from tocsin.spark.session import is_on_this_machine, no_cluster, runs_tasks_here
from tocsin.store.database.engine import STORE_FAILURES, open_engine, reading
from tocsin.store.eventlog.lake import Lake
from tocsin.store.upkeep.stored_settings import with_lake_key

LIBRARIES = (
    *("tocsin", "pyspark", "google-re2", "jinja2", "lark", "orjson", "psycopg", "pyarrow", "pydantic"),
    *("pydantic-settings", "sqlalchemy", "structlog", "tzdata", "xxhash"),
)
"""What tasks import, and what must have the same version as here: work and rows are pickled by one for the other."""

CLOCK_LIMIT_MS = 60_000

_GROUP = "tocsin-executors"
_REGISTER_WITHIN_S = _ANSWER_WITHIN_S = 120.0
_SETTLED_AFTER_S = 2.0
_LOOK_EVERY_S = 0.2
_PYTHON = (
    "Set PYSPARK_PYTHON, for the pipeline, to the Python of an environment that all machines have at the same path,"
    " with the same Python and the libraries of requirements/spark.txt."
)
_TOCSIN = "Install the same Tocsin in the environment of the executors, or set TOCSIN_SPARK_PY_FILES to its wheel."
_SHARED = "a folder that all machines have at the same path, and where the account of the executors writes"
_FOLDERS = {
    "spark_checkpoint_dir": f"Set TOCSIN_SPARK_CHECKPOINT_DIR to {_SHARED}.",
    "lake_dir": f"Set TOCSIN_LAKE_DIR to {_SHARED}, or to a bucket; or TOCSIN_LAKE_EVERY_S=0 to keep no lake.",
}
_WAYS_OUT = (
    (re.compile(r"No module named '(?:tocsin\b|tocsin\.)"), _TOCSIN),
    (re.compile(r"No module named '"), _PYTHON),
    (re.compile(r"PYTHON_VERSION_MISMATCH|Cannot run program"), _PYTHON),
)
"""What a task's failure says, and what to do about it."""
_LOG = structlog.get_logger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class ReachQuestion:
    """What an executor must reach: the store, a file in each folder, by setting, and the bucket of the lake."""

    url: str = field(repr=False)
    markers: Mapping[str, str]
    bucket: tuple[str, S3Access] | None = None


@dataclass(frozen=True)
class ExecutorReach:
    """What an executor does not reach, with the way out, and the time by its clock."""

    host: str
    now_ms: int
    problems: tuple[str, ...]


def check_store(settings: Settings) -> None:
    """Check that executors on other machines can have the store.

    Raises
    ------
    InvalidSetting : it is a file of this machine
    """
    if settings.store_url().startswith("sqlite") and not is_on_this_machine(settings.spark_master):
        message = (
            f"Executors of {settings.spark_master} cannot use SQLite. Set TOCSIN_DATABASE_URL to a PostgreSQL server"
            " that all machines of the cluster reach."
        )
        raise InvalidSetting(message, field="database_url")


def check_executors(
    context: SparkContext, settings: Settings, engine: Engine, clock: Clock, stopping: threading.Event
) -> None:
    """Ask the executors, one task per core, whether they can do the pipeline's work.

    Raises
    ------
    InvalidSetting : they cannot; the message names the setting and the way out
    """
    if runs_tasks_here(settings.spark_master):
        return
    check_python_here(context.pythonExec)
    try:
        _wait_for_executors(context, settings.spark_master, stopping)
        environments = _ask(context, partial(environment_of, LIBRARIES), stopping)
        driver = environment_of(LIBRARIES)
        _refuse((one.host, problem_of_environment(one, driver)) for one in environments)
        with _question(settings, engine) as question:
            before_ms = clock.now_ms()
            answers = _ask(context, partial(reach_of, question), stopping)
            asked_ms = (before_ms, clock.now_ms())
        _refuse((one.host, problem_of_reach(one, asked_ms)) for one in answers)
    except _Stopped:
        return
    _LOG.info("executors_checked", tasks=len(answers), hosts=sorted({one.host for one in answers}))


class _Stopped(Exception):  # a signal, never an error
    """The pipeline is to end."""


def _refuse(problems: Iterable[tuple[str, str | None]]) -> None:
    for host, problem in problems:
        if problem is not None:
            raise InvalidSetting(f"Executor on {host}: {problem}")


def problem_of_environment(executor: Environment, driver: Environment) -> str | None:
    """Return how an executor's environment differs from the driver's, and the way out."""
    if _minor(executor.python) != _minor(driver.python):
        return f"its Python is {executor.python}, the pipeline's {driver.python}. {_PYTHON}"
    for name, version in driver.versions.items():
        if executor.versions.get(name) != version:
            way_out = _TOCSIN if name == "tocsin" else _PYTHON
            return f"its {name} is {executor.versions.get(name) or 'missing'}, the pipeline's {version}. {way_out}"
    return None


def _minor(version: str) -> list[str]:
    return version.split(".")[:2]


def problem_of_reach(answer: ExecutorReach, asked_ms: tuple[int, int]) -> str | None:
    """Return what is wrong with what an executor reaches; ``asked_ms`` are the times around its answer."""
    first_ms, last_ms = asked_ms
    distance_ms = min(0, answer.now_ms - first_ms) or max(0, answer.now_ms - last_ms)
    if abs(distance_ms) > CLOCK_LIMIT_MS:
        return f"its clock differs by {distance_ms / 1000:+.0f} s. Synchronize the clocks of all machines (NTP)."
    return " Also, ".join(answer.problems) or None


def problem_of_failure(error: Exception) -> str:
    """Return why no executor could answer, and the way out."""
    text = str(error)
    for sign, way_out in _WAYS_OUT:
        if sign.search(text):
            line = next(line for line in text.splitlines() if sign.search(line))
            return f"Executors cannot run the pipeline's tasks: {line.strip()}. {way_out}"
    return f"Executors cannot run the pipeline's tasks: {brief(text)}"


def check_python_here(program: str) -> None:
    """Check that the Python of tasks can plan them, which it does on this machine.

    Raises
    ------
    InvalidSetting : it is missing, or lacks Tocsin or a library
    """
    try:
        subprocess.run([program, "-c", "import tocsin.spark.sources"], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        reason = brief(error.stderr if isinstance(error, subprocess.CalledProcessError) else str(error))
        message = (
            f"PYSPARK_PYTHON={program} does not work on the pipeline's own machine ({reason}). {_PYTHON} {_TOCSIN}"
        )
        raise InvalidSetting(message) from error


def _wait_for_executors(context: SparkContext, master: str, stopping: threading.Event) -> None:
    """Wait until executors have come, and no further ones follow."""
    began_s = changed_s = time.monotonic()
    count = 0
    while count == 0 or time.monotonic() - changed_s < _SETTLED_AFTER_S:
        if stopping.wait(_LOOK_EVERY_S):
            raise _Stopped
        before, count = count, _executor_count(context, master)
        if count != before:
            changed_s = time.monotonic()
        if time.monotonic() - began_s > _REGISTER_WITHIN_S and count == 0:
            raise InvalidSetting(f"No executor has come within {_REGISTER_WITHIN_S:.0f} s. {no_cluster(master)}")


def _executor_count(context: SparkContext, master: str) -> int:
    try:
        if context._jsc.sc().isStopped():
            raise InvalidSetting(f"Spark has ended. {no_cluster(master)}")
        return int(context._jsc.sc().getExecutorMemoryStatus().size()) - 1  # the driver is one of them
    except FAILURES as error:
        if isinstance(error, TocsinError):
            raise
        raise InvalidSetting(f"Spark has ended ({brief(str(error))}). {no_cluster(master)}") from error


def _ask(context: SparkContext, answer: Callable[[], T], stopping: threading.Event) -> list[T]:
    """Return what one task per core answers."""
    count = max(context.defaultParallelism, 1)

    def ask() -> list[T]:
        context.setJobGroup(_GROUP, _GROUP, interruptOnCancel=True)
        return context.parallelize(range(count), count).map(lambda _number: answer()).collect()

    until_s = time.monotonic() + _ANSWER_WITHIN_S
    with ThreadPoolExecutor(1) as thread:
        future = thread.submit(ask)
        while not wait([future], _LOOK_EVERY_S).done:
            if stopping.is_set() or time.monotonic() > until_s:
                context.cancelJobGroup(_GROUP)  # again and again: it may not have begun
        try:
            return future.result()
        except FAILURES as error:
            if stopping.is_set():
                raise _Stopped from error
            if time.monotonic() > until_s:
                message = f"Executors have not answered within {_ANSWER_WITHIN_S:.0f} s; their logs say more."
                raise InvalidSetting(message) from error
            raise InvalidSetting(problem_of_failure(error)) from error


@contextmanager
def _question(settings: Settings, engine: Engine) -> Iterator[ReachQuestion]:
    """Give what executors are asked; a file marks each folder meanwhile.

    A lake that this machine does not reach either is no fault of theirs, and the job of the lake reports it.
    """
    folders = {"spark_checkpoint_dir": settings.checkpoint_dir()}
    bucket = None
    if settings.lake_every_s > 0:
        root, access = settings.lake_root(), access_of(with_lake_key(engine, settings))
        if access is not None:
            bucket = (root, access) if _bucket_problem(root, access) is None else None
        elif Path(root).is_dir() or not Lake(engine).segments():
            folders["lake_dir"] = Path(root)
    with ExitStack() as stack:
        markers = {setting: stack.enter_context(_marker(folder)) for setting, folder in folders.items()}
        yield ReachQuestion(settings.store_url(), markers, bucket)


@contextmanager
def _marker(folder: Path) -> Iterator[str]:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f".seen-by-executors-{uuid4()}"
    path.touch()
    try:
        yield str(path)
    finally:
        path.unlink(missing_ok=True)


def reach_of(question: ReachQuestion) -> ExecutorReach:
    """Return, in a task, what its process reaches."""
    now_ms = SystemClock().now_ms()
    problems = [_store_problem(question.url)]
    problems += [_folder_problem(setting, Path(marker)) for setting, marker in question.markers.items()]
    if question.bucket is not None:
        problems.append(_bucket_problem(*question.bucket))
    return ExecutorReach(socket.gethostname(), now_ms, tuple(problem for problem in problems if problem is not None))


def _store_problem(url: str) -> str | None:
    engine = open_engine(url, most_connections=2)
    try:
        with reading(engine):
            return None
    except STORE_FAILURES as error:
        return (
            f"it does not reach the store ({brief(str(error))}). TOCSIN_DATABASE_URL must name a PostgreSQL server as"
            " all machines of the cluster reach it."
        )
    finally:
        engine.dispose()


def _folder_problem(setting: str, marker: Path) -> str | None:
    own_file = marker.with_name(f"{marker.name}-{uuid4()}")
    try:
        if not marker.exists():
            return f"it does not see the pipeline's {marker.parent}. {_FOLDERS[setting]}"
        own_file.touch()
        own_file.unlink()
    except OSError as error:
        return f"it cannot write in {marker.parent} ({error.strerror}). {_FOLDERS[setting]}"
    return None


def _bucket_problem(root: str, access: S3Access) -> str | None:
    try:
        files_at(root, access).segment_ids()
    except Unavailable as error:
        return error.message
    return None
