"""The process that answers queries, as the pipeline sees it: started for a query, stopped when idle or at its limits.

Next: ``jobs/query_main.py``, which runs in it.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from tocsin.errors import TooLarge, Unavailable
from tocsin.jobs.query_main import QueryPlace
from tocsin.lake_files.address import access_of
from tocsin.model.entity import Document
from tocsin.settings import Settings

_STARTS_WITHIN_S = 180.0
_LOOK_EVERY_S = 0.2
_GRACE_S = 15.0
"""So long the process has, after the time of a query, to say that it is over."""
_LEAST_RESULT_BYTES = 64 * 2**20


class QueryCancelled(Exception):
    """Nobody waits for the answer any more."""


@dataclass(frozen=True)
class ProcessLimits:
    """What a query may use: rows and bytes of its answer, seconds, and bytes of files while it runs."""

    row_count: int
    answer_bytes: int
    seconds: float
    disk_bytes: int


class QueryProcess:
    """At most one process, which answers one query at a time; its files are in ``folder``."""

    def __init__(self, folder: Path, place: Callable[[str], QueryPlace], limits: ProcessLimits) -> None:
        self._folder, self._place, self._limits = folder, place, limits
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._scratch: Path | None = None
        self._used_at_s = time.monotonic()

    def answer(self, question: Document, is_wanted: Callable[[], bool]) -> Document:
        """Return what the process says of a question.

        Raises
        ------
        QueryCancelled : ``is_wanted`` says no
        TooLarge : the query needs more time, memory or space than it may
        Unavailable : the process does not start
        """
        limits = self._limits
        self._start(is_wanted)
        until_s = time.monotonic() + limits.seconds
        self._send(question | {"rows": limits.row_count, "seconds": limits.seconds})
        line = self._line(is_wanted, until_s + _GRACE_S)
        self._used_at_s = time.monotonic()
        if (
            self._used_at_s > until_s
        ):  # Java goes on with a regular expression that was cancelled, on the next one's core
            self.close()
        if len(line) > limits.answer_bytes:
            raise TooLarge(f"The answer has more than {limits.answer_bytes:,} bytes; select fewer rows or columns.")
        reply: Document = json.loads(line)
        return reply

    def close_if_idle(self, idle_s: float) -> None:
        """Stop the process if it had nothing to do for so long: it holds memory."""
        if self._process is not None and time.monotonic() - self._used_at_s > idle_s:
            self.close()

    def close(self) -> None:
        """End the process, whatever it is at, and remove its files."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            if self._process.stdin is not None:
                with contextlib.suppress(OSError):  # what it did not read any more
                    self._process.stdin.close()
            self._process = None
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = None

    def _start(self, is_wanted: Callable[[], bool]) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self.close()
        shutil.rmtree(self._folder, ignore_errors=True)  # of a pipeline that was killed: there is one per data folder
        self._folder.mkdir(mode=0o700)
        self._scratch = Path(tempfile.mkdtemp(dir=self._folder))
        self._lines = queue.Queue()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tocsin.jobs.query_main"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        threading.Thread(target=_read_lines, args=(self._process, self._lines), daemon=True).start()
        self._send(asdict(self._place(str(self._scratch))))
        try:
            self._line(is_wanted, time.monotonic() + _STARTS_WITHIN_S)
        except TooLarge as error:
            raise Unavailable("The process for queries does not start; see `tocsin health`.") from error

    def _send(self, message: Document) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):  # it has ended; reading says so
                self._process.stdin.write(json.dumps(message).encode() + b"\n")
                self._process.stdin.flush()

    def _line(self, is_wanted: Callable[[], bool], until_s: float) -> bytes:
        """Return the next line of the process; whatever goes wrong meanwhile stops it."""
        try:
            while (line := self._next_line()) is None:
                self._check(is_wanted, until_s)
            if not line:
                raise TooLarge("The query needs too much memory; select less.")
        except (TooLarge, QueryCancelled):
            self.close()
            raise
        return line

    def _next_line(self) -> bytes | None:
        """Return the next line, an empty one at the end of the process, or None if there is none yet."""
        try:
            return self._lines.get(timeout=_LOOK_EVERY_S)
        except queue.Empty:
            return None

    def _check(self, is_wanted: Callable[[], bool], until_s: float) -> None:
        if not is_wanted():
            raise QueryCancelled
        if time.monotonic() > until_s:
            raise TooLarge(
                f"The query took longer than {self._limits.seconds:.0f} s; ask of fewer events with `since`."
            )
        if self._scratch is not None and _bytes_in(self._scratch) > self._limits.disk_bytes:
            raise TooLarge("The query needs too much space for its files; shorten it with `since`.")


def query_process(settings: Settings) -> QueryProcess:
    """Wire the process over the lake and the store of ``settings``; it starts with the first query."""
    largest = max(4 * settings.lake_query_bytes, _LEAST_RESULT_BYTES)
    conf = {**settings.spark_conf, "spark.driver.maxResultSize": str(largest)}

    access = access_of(settings)

    def place(scratch: str) -> QueryPlace:
        return QueryPlace(
            url=settings.store_url(),
            root=settings.lake_root(),
            access=None if access is None else asdict(access),
            master=settings.spark_master,
            memory=settings.lake_query_memory,
            conf=conf,
            py_files=settings.spark_py_files,
            scratch=scratch,
        )

    limits = ProcessLimits(
        settings.lake_query_rows, settings.lake_query_bytes, settings.lake_query_seconds, settings.lake_query_disk_bytes
    )
    return QueryProcess(settings.data_dir.absolute() / "query-files", place, limits)


def _read_lines(process: subprocess.Popen[bytes], lines: queue.Queue[bytes]) -> None:
    if process.stdout is not None:
        with process.stdout as stdout:
            for line in stdout:
                lines.put(line)
    lines.put(b"")


def _bytes_in(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += (Path(parent) / name).stat().st_size
    return total
