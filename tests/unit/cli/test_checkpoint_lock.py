"""Tests of the lock on the checkpoint folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tocsin.cli.checkpoint_lock import alone, check_alone
from tocsin.errors import Conflict

HOLDS = """
import sys
from pathlib import Path
from tocsin.cli.checkpoint_lock import alone
with alone(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_one_reports_the_first(tmp_path: Path) -> None:
    with alone(tmp_path), pytest.raises(Conflict, match=f"process {os.getpid()}.*TOCSIN_DATA_DIR"):
        check_alone(tmp_path)
    check_alone(tmp_path)


def test_the_folder_is_made_when_it_is_not_there(tmp_path: Path) -> None:
    with alone(tmp_path / "new" / "checkpoints"):
        assert (tmp_path / "new" / "checkpoints").is_dir()


def test_whoever_is_killed_leaves_it_free(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(Conflict, match=f"process {holder.pid}"):
            check_alone(tmp_path)
        holder.kill()
        holder.wait()
    check_alone(tmp_path)
