"""Statements that each test runs on PostgreSQL, and the list of the tests that run none that others do not run there.

Empty ``tests/soak_on_postgresql.txt``; then ``pytest -p tests.statements --statements FILE -m postgres tests/store
tests/contract tests/acceptance/worker tests/history`` notes the processor time and the statements of each test, and
``python -m tests.statements FILE…`` writes the list anew (decision 0194, docs/decisions).
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import psycopg
import pytest
from tests.soak import ON_POSTGRESQL, function_of, name_of

_STORE = "postgresql"
_PARAMETER = r"%\(\w+\)s(?:::[\w ]+)?(?:\[\])?"
_SEVERAL = re.compile(rf"\((?:{_PARAMETER}(?:, )?)+\)(?:, \((?:{_PARAMETER}(?:, )?)+\))*")
_STARTS = ("subprocess.Popen", "os.fork", "os.posix_spawn")
_THREAD = "_thread.start_new_thread"
_ON_BOTH = re.compile(
    "hidden|visible|may_not|may_see|may_view|secret|rights|race|racing|kill|crash|at_once|same_time"
    "|concurrent|beside|while|paus|lock|sort|order_|alphabet|unicode|null|cost|plan|index|lease|workers|arrives"
    r"|_order\b|longest_due_first|polls|specially|spelling|encoded|CAF"
)
"""Names of tests that prove on both stores, whatever others prove: rights, what happens at the same time, and where
stores differ with the same statement: how texts are sorted and compared, what is null, what it costs."""


@dataclass(frozen=True)
class TestNote:
    """What a test did on PostgreSQL: whether it may go, its processor time in seconds, digests of its statements."""

    __test__ = False
    name: str
    may_go: bool
    seconds: float
    statements: Sequence[str]


def digest_of(statement: object) -> str:
    """Return a digest of a statement, the same however many values a list in it has."""
    text = statement.decode() if isinstance(statement, bytes) else str(statement)
    text = re.sub(_PARAMETER, "?", _SEVERAL.sub("(?)", text))
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


class Recorder:
    """Notes what each test on PostgreSQL does, in a file."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._statements: set[str] = set()
        self._has_begun_others = self._is_of_stores = False

    def listen(self) -> None:
        """Hear of each statement, process and thread from now on."""
        for name in ("execute", "executemany", "copy"):
            self._wrap(name)
        sys.addaudithook(self._hear)

    def _wrap(self, name: str) -> None:
        original = getattr(psycopg.Cursor, name)

        def run(cursor: object, query: object, *arguments: object, **options: object) -> object:
            self._statements.add(digest_of(query))
            return original(cursor, query, *arguments, **options)

        setattr(psycopg.Cursor, name, run)

    def _hear(self, event: str, _arguments: object) -> None:
        if event in _STARTS or (event == _THREAD and self._is_of_stores):
            self._has_begun_others = True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note one test."""
        self._is_of_stores, self._has_begun_others, self._statements = "/store/" in str(item.path), False, set()
        began_s = time.process_time()
        try:
            return (yield)
        finally:
            params = getattr(getattr(item, "callspec", None), "params", {})
            may_go = _STORE in params.values() and "spark" not in getattr(item, "fixturenames", ())
            may_go &= not self._has_begun_others
            seconds = round(time.process_time() - began_s, 4)
            if self._statements:
                line = json.dumps([name_of(item.nodeid), may_go, seconds, sorted(self._statements)])
                print(line, file=self._file, flush=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the file of the notes."""
    parser.addoption("--statements", type=Path)


def pytest_configure(config: pytest.Config) -> None:
    """Begin to note."""
    if path := config.getoption("statements"):
        recorder = Recorder(path.open("w"))
        recorder.listen()
        config.pluginmanager.register(recorder)


def spare_tests(notes: Sequence[TestNote]) -> list[str]:
    """Return the tests without which all statements still run: the dearest first, of those that may go."""
    run_counts = Counter(statement for note in notes for statement in note.statements)
    spare = []
    for note in sorted(notes, key=lambda note: note.seconds, reverse=True):
        is_free = note.may_go and not _ON_BOTH.search(note.name)
        if is_free and all(run_counts[statement] > 1 for statement in note.statements):
            spare.append(note.name)
            run_counts.subtract(note.statements)
    return spare


def short_list(spare: Sequence[str], names: Iterable[str]) -> list[str]:
    """Return the lines for spare tests: of a function all of whose tests on PostgreSQL are spare, its name alone."""
    test_counts = Counter(map(function_of, names))
    spare_counts = Counter(map(function_of, spare))
    return sorted(
        {
            name if spare_counts[function] < test_counts[function] else function
            for name in spare
            for function in (function_of(name),)
        }
    )


def main(paths: Sequence[str]) -> None:
    """Write the list of the notes in some files; print how much processor time of the tests' own process it saves."""
    notes = [TestNote(*json.loads(line)) for path in paths for line in Path(path).read_text().splitlines()]
    spare = spare_tests(notes)
    ON_POSTGRESQL.write_text("".join(f"{line}\n" for line in short_list(spare, (note.name for note in notes))))
    names = set(spare)
    total_s, spare_s = sum(note.seconds for note in notes), sum(note.seconds for note in notes if note.name in names)
    sys.stdout.write(f"{len(spare)} of {len(notes)} tests, {spare_s:.0f} of {total_s:.0f} s\n")


if __name__ == "__main__":
    main(sys.argv[1:])
