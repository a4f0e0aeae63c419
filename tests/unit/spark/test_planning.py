"""Tests of the processes that plan beside Spark's driver, without a Spark: what they print when it ends."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import suppress
from importlib.machinery import ModuleSpec
from subprocess import PIPE
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import IO, cast

import pytest
from pyspark.serializers import SpecialLengths, UTF8Deserializer, read_int, write_int, write_with_length
from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType
from pyspark.worker_util import pickleSer
from tests.unit.cli.test_supervisor import is_running
from tests.waiting import until

from tocsin.spark import planning
from tocsin.spark.catalogue import CatalogueSource
from tocsin.spark.lake_objects import LakeSource
from tocsin.spark.sources import LogSource


def test_a_reader_whose_driver_has_ended_prints_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    for error in (BrokenPipeError(32, "Broken pipe"), ConnectionResetError(104, "reset")):
        planning._print_unless_nobody_listens(type(error), error, None)
    assert capsys.readouterr().err == ""
    planning._print_unless_nobody_listens(ValueError, ValueError("a bug"), None)
    assert "a bug" in capsys.readouterr().err


@pytest.mark.parametrize(("error", "is_printed"), [(BrokenPipeError(32, "pipe"), False), (ValueError("a bug"), True)])
def test_a_planning_process_prints_no_traceback_for_a_driver_that_has_ended(
    error: Exception, is_printed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = ModuleType("__main__")
    daemon.__spec__ = ModuleSpec("pyspark.daemon", None)
    monkeypatch.setitem(sys.modules, "__main__", daemon)
    LogSource({}).schema()
    with suppress(BrokenPipeError, ValueError):
        try:
            raise error
        finally:
            vars(daemon)["traceback"].print_exc()
    assert ("a bug" in capsys.readouterr().err) is is_printed


@pytest.mark.parametrize("source", [LogSource, LakeSource, CatalogueSource])
def test_a_planning_process_prints_nothing_when_its_driver_ends_while_it_waits_for_work(
    source: type[DataSource],
) -> None:
    """A command ends its Spark a moment after the last plan; the process that made it waits for another one then."""
    command = [sys.executable, "-m", "pyspark.daemon", "pyspark.sql.worker.create_data_source"]
    settings = {"PYTHON_UNIX_DOMAIN_ENABLED": "true", "SPARK_REUSE_WORKER": "1"}
    with (
        TemporaryDirectory() as folder,  # paths of sockets are short
        subprocess.Popen(
            command,
            env={**os.environ, **settings, "PYTHON_WORKER_FACTORY_SOCK_DIR": folder},
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
        ) as daemon,
        socket.socket(socket.AF_UNIX) as connection,
    ):
        assert daemon.stdin and daemon.stdout and daemon.stderr
        connection.connect(UTF8Deserializer().loads(daemon.stdout))
        with cast(IO[bytes], connection.makefile("rwb")) as stream:
            planning_process = read_int(stream)
            _ask_for(source, stream)
            schema = source({}).schema()
            assert isinstance(schema, StructType)
            assert _schema_in_answer(stream) == schema.jsonValue()
        connection.close()
        until(lambda: not is_running(planning_process))
        daemon.stdin.close()
        assert daemon.stderr.read() == b""


def _ask_for(source: type[DataSource], stream: IO[bytes]) -> None:
    """Ask as Spark does for a data source without options."""
    write_with_length(f"{sys.version_info.major}.{sys.version_info.minor}".encode(), stream)
    write_with_length(b"/", stream)  # files: none
    write_int(0, stream)
    stream.write(b"\0")
    for _ in ("broadcasts", "settings"):
        write_int(0, stream)
    pickleSer._write_with_length(source, stream)
    write_with_length(source.name().encode(), stream)
    stream.write(b"\0")  # no other schema
    write_int(0, stream)
    write_int(SpecialLengths.END_OF_STREAM, stream)
    stream.flush()


def _schema_in_answer(stream: IO[bytes]) -> object:
    """Return the schema in the answer, which is read to its end: the source, its schema, and accumulators."""
    assert stream.read(read_int(stream))
    assert read_int(stream) == 0
    schema = json.loads(stream.read(read_int(stream)))
    for _ in range(read_int(stream)):
        stream.read(read_int(stream))
    assert read_int(stream) == SpecialLengths.END_OF_STREAM
    return schema
