"""Python program for Spark's JVM that forks where Spark starts a process for each streaming query.

Such a process, one for the source of a query and one for its state, spends nearly all of its time on imports, which a
fork has. The program asks a server that has imported them for a fork with its arguments, environment and streams; all
else it runs as Python does. The fork ends when the program is ended, as the process would.
"""

from __future__ import annotations

import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

FORKED = (
    "pyspark.sql.streaming.python_streaming_source_runner",
    "pyspark.sql.streaming.transform_with_state_driver_worker",
)
_ROOT = Path(__file__).resolve().parents[1]
_LENGTH_BYTES = 4
_ENDED_WITHIN_S = 10
_PROGRAM = """#!{python} -IS
import json, os, socket, sys
if sys.argv[1:2] != ["-m"] or sys.argv[2] not in {forked}:
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    order = json.dumps([sys.argv[2:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [len(order).to_bytes({length}, "big")], [0, 1, 2])
    server.sendall(order)
    server.recv(1)  # nothing comes: the fork has ended
"""


@contextmanager
def forking_python(folder: Path) -> Iterator[str]:
    """Yield the path of the program, which can fork until the block ends; ``folder`` is its own."""
    address, program = str(folder / "server"), folder / "python"
    text = _PROGRAM.format(python=sys.executable, forked=FORKED, address=address, length=_LENGTH_BYTES)
    program.write_text(text)
    program.chmod(0o700)
    places = os.pathsep.join((str(_ROOT / "src"), str(_ROOT)))
    command, environment = [sys.executable, "-m", __name__, address], {**os.environ, "PYTHONPATH": places}
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin and server.stdout
        server.stdout.readline()  # it listens
        yield str(program)
        server.stdin.close()
        server.wait(_ENDED_WITHIN_S)


def serve(address: str) -> tuple[socket.socket, list[str]]:
    """Fork for each program that asks; return in the fork, with the connection and what it is to run.

    Raises
    ------
    SystemExit : in the server, when its input ends
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for forks
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(16)
        sys.stdout.write("it listens\n")
        sys.stdout.flush()
        while True:
            ready, _, _ = select.select([listening, sys.stdin], [], [])
            if sys.stdin in ready:
                raise SystemExit
            program, _ = listening.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                return program, become(program)
            program.close()


def become(program: socket.socket) -> list[str]:
    """Take over the streams, folder and environment of ``program``; return its arguments."""
    length, streams, _, _ = socket.recv_fds(program, _LENGTH_BYTES, 3)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    with program.makefile("rb") as order:
        arguments, folder, environment = json.loads(order.read(int.from_bytes(length, "big")))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    return list(arguments)


def end_with(program: socket.socket) -> None:
    """End this process as soon as ``program`` has ended."""
    program.recv(1)
    os._exit(1)


def main(address: str) -> dict[str, Any]:
    """Import what is forked and what it imports, then serve; in a fork, run it."""
    from tocsin.jobs.worker_daemon import prepare_to_fork

    for name in FORKED:
        import_module(name)
    prepare_to_fork()
    program, arguments = serve(address)
    threading.Thread(target=end_with, args=(program,), daemon=True).start()
    sys.argv = arguments
    del sys.modules[arguments[0]]  # it is run, not imported
    return runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1])
