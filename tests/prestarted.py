"""Process that has imported Tocsin and forks for each command, for tests of many short commands.

A command of the CLI spends most of its time on imports, which a fork has. Arguments, folder, environment and streams
are its own, and it runs and ends as ``python -m tocsin`` does; ``tests/acceptance/cli/test_prestarted.py`` compares.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tocsin.cli.commands import COMMANDS

_ROOT = Path(__file__).resolve().parents[1]
_IMPORTED = (
    "alembic.command",
    "tocsin.cli.main",
    "tocsin.client",
    "tocsin.delivery.worker.deliver",
    "tocsin.sample.load",
    "tocsin.server.app",
    "tocsin.server.bootstrap",
    "tocsin.store.database.schema",
    "tocsin.store.upkeep.fsck.inspection",
)
_STREAMS = {"stdin": os.O_RDONLY, "stdout": os.O_WRONLY | os.O_TRUNC, "stderr": os.O_WRONLY | os.O_TRUNC}


@dataclass(frozen=True)
class Prestarted:
    """The process, which runs one command at a time, and the folder of the files that are its streams."""

    process: subprocess.Popen[str]
    folder: Path

    def run(
        self, arguments: tuple[str, ...], cwd: Path, environment: Mapping[str, str], *, text: str, within_s: int
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, with ``text`` as its input.

        Raises
        ------
        TimeoutExpired : it had not ended after ``within_s`` seconds
        """
        assert self.process.stdin and self.process.stdout
        streams = {name: self.folder / name for name in _STREAMS}
        for path in streams.values():
            path.write_text(text if path.name == "stdin" else "")
        command = {"arguments": arguments, "cwd": str(cwd), "environment": dict(environment), "within_s": within_s}
        print(json.dumps(command), file=self.process.stdin, flush=True)
        code = int(self.process.stdout.readline())
        if code == -signal.SIGALRM:
            raise subprocess.TimeoutExpired(arguments, within_s)
        return subprocess.CompletedProcess(
            arguments, code, streams["stdout"].read_text(), streams["stderr"].read_text()
        )


def start(folder: Path) -> Prestarted:
    """Start the process; ``folder`` is its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TOCSIN_")}
    places = os.pathsep.join((str(_ROOT / "src"), str(_ROOT)))
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, str(folder)],
        env={**environment, "PYTHONPATH": places},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    return Prestarted(process, folder)


def await_command(folder: Path) -> list[str]:
    """Return the arguments of the next command in the process that is to run it, a fork of this one.

    Raises
    ------
    SystemExit : nobody has another
    """
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            return become(json.loads(line), folder)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}\n")
        sys.stdout.flush()
    raise SystemExit


def become(command: dict[str, Any], folder: Path) -> list[str]:
    """Take over the streams, folder and environment of a command; return its arguments."""
    for number, (name, flags) in enumerate(_STREAMS.items()):
        file = os.open(folder / name, flags)
        os.dup2(file, number)
        os.close(file)
    os.chdir(command["cwd"])
    os.environ.clear()
    os.environ.update(command["environment"])
    signal.alarm(command["within_s"])
    return list(command["arguments"])


if __name__ == "__main__":
    for module_name in (*_IMPORTED, *(f"tocsin.cli.{command.module}" for command in COMMANDS)):
        importlib.import_module(module_name)
    gc.freeze()  # what is there already is not looked through again
    sys.argv = ["tocsin", *await_command(Path(sys.argv[1]))]
    runpy.run_module("tocsin", run_name="__main__", alter_sys=True)
