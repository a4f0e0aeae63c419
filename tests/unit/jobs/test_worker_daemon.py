"""Python workers before they are forked, and those whose driver has ended."""

from __future__ import annotations

import json
import socket
import subprocess
import sys

import pytest

from tocsin.jobs import worker_daemon


@pytest.mark.parametrize("error", [BrokenPipeError(32, "Broken pipe"), ConnectionResetError(104, "reset")])
def test_a_worker_whose_driver_has_ended_ends_in_order(error: OSError) -> None:
    def work(sock: socket.socket, authenticated: bool) -> int:
        raise error

    with socket.socket() as unused:
        assert worker_daemon.work_until_nobody_listens(unused, authenticated=True, work=work) == 1


def test_other_errors_of_a_worker_are_shown() -> None:
    def work(sock: socket.socket, authenticated: bool) -> int:
        raise FileNotFoundError(2, "No such file")

    with socket.socket() as unused, pytest.raises(FileNotFoundError):
        worker_daemon.work_until_nobody_listens(unused, authenticated=True, work=work)


_PREPARED = """
import gc, json, os, stat, sys
from tocsin.jobs.worker_daemon import prepare_to_fork
prepare_to_fork()
opened = [os.stat(f"/proc/self/fd/{number}").st_mode for number in os.listdir("/proc/self/fd") if number > "2"
          and os.path.exists(f"/proc/self/fd/{number}")]
print(json.dumps({"threads": len(os.listdir("/proc/self/task")), "frozen": gc.get_freeze_count() > 100_000,
                  "sockets": sum(map(stat.S_ISSOCK, opened)),
                  "imported": "tocsin.jobs.withheld_pairs" in sys.modules,
                  "of S3": sorted({"pyarrow.fs", "pyarrow._s3fs", "pyarrow.parquet"} & sys.modules.keys())}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_workers_are_forked_from_has_imported_and_holds_neither_threads_nor_connections() -> None:
    ended = subprocess.run([sys.executable, "-c", _PREPARED], check=True, capture_output=True, text=True)
    prepared = {"threads": 1, "frozen": True, "sockets": 0, "imported": True, "of S3": []}
    assert json.loads(ended.stdout) == prepared
