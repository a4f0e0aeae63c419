"""Tests of what other accounts of the machine see and reach of Spark: nothing without its secrets."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession
from tests.otheraccount import (
    RPC_RESPONSE,
    answer_to,
    answers_to,
    command_lines,
    listening_ports,
    open_blocks_request,
    rpc_request,
    type_of,
)
from tests.sparksession import CANARY

from tocsin.spark.session import register_source
from tocsin.spark.sources import LOG_FORMAT, LogSource

pytestmark = pytest.mark.spark

_NO_SENDER, _NO_RECEIVER, _NAME = b"\0", b"\0", b"\0\1x"
NO_OBJECT = rpc_request(_NO_SENDER + _NO_RECEIVER + _NAME + b"no stream of Java's")
"""A message to an endpoint whose object Java cannot read."""


@pytest.fixture(scope="module", autouse=True)
def python_workers(spark: SparkSession) -> None:
    """Let Spark start Python workers."""
    assert spark.sparkContext.parallelize([1, 2], 2).map(lambda number: number + 1).collect() == [2, 3]


def test_settings_are_on_no_command_line(spark: SparkSession) -> None:
    assert spark.sparkContext.getConf().get("spark.tocsin.secret") == CANARY
    lines = list(command_lines(os.getpid()))
    assert any("org.apache.spark.deploy.SparkSubmit" in line for line in lines)
    assert any("daemon" in line for line in lines)
    assert [line for line in lines if CANARY in line or "-Xlog:disable" in line] == []
    assert os.environ.get("PYSPARK_SUBMIT_ARGS") is None


@pytest.fixture(scope="module")
def answers(python_workers: None) -> dict[tuple[int, bytes], bytes]:
    """What every port answers to a stranger: by port and request."""
    ports = listening_ports(os.getpid())
    assert len(ports) >= 3, "the driver, its blocks, and py4j listen"
    return answers_to(ports, open_blocks_request(), NO_OBJECT)


def test_nobody_opens_blocks_without_the_secret(answers: dict[tuple[int, bytes], bytes]) -> None:
    types = {port: type_of(answer) for (port, request), answer in answers.items() if request == open_blocks_request()}
    assert RPC_RESPONSE not in types.values(), types


def test_nothing_of_a_stranger_is_deserialised(answers: dict[tuple[int, bytes], bytes]) -> None:
    assert b"StreamCorrupted" not in b"".join(
        answer for (_, request), answer in answers.items() if request == NO_OBJECT
    )


def test_callbacks_need_the_gateways_token(spark: SparkSession) -> None:
    gateway = SparkContext._gateway
    assert gateway is not None
    ensure_callback_server_started(gateway)
    assert answer_to(gateway._callback_server.port, b"c\np0\ncall\ne\n") == b""
    assert b"uthentication" in answer_to(gateway.java_parameters.port, b"c\nt\ngetProperty\nsjava.home\ne\n")


def test_temporary_files_and_sockets_are_private(spark: SparkSession) -> None:
    java = spark._jvm
    assert java is not None
    place = Path(str(java.System.getProperty("java.io.tmpdir")))
    blocks = list(place.glob("blockmgr-*"))
    assert len(blocks) == 1
    sockets = Path(spark.sparkContext.getConf().get("spark.python.unix.domain.socket.dir") or "/")
    assert [folder for folder in (place, sockets, *blocks) if stat.S_IMODE(folder.stat().st_mode) & 0o077] == []
    assert list(place.glob("*.properties")) == [], "it was for the start only"


PASSWORD = "word-of%zz-the/store"
"""SQLAlchemy takes it; PostgreSQL's library would print an address that it cannot read."""
STORE = {"url": f"postgresql+psycopg://tocsin:{PASSWORD}@127.0.0.1:1/none", "after": "0", "through": "10"}
"""How a store that is not there is read."""


def texts_of(spark: SparkSession, frame: DataFrame) -> Iterator[str]:
    """Yield what Spark writes of a query into its log, its event log and its pages."""
    execution, java = frame._jdf.queryExecution(), spark._jvm
    assert java is not None
    modes = java.org.apache.spark.sql.execution.ExplainMode
    yield from (execution.explainString(modes.fromString(one)) for one in ("extended", "codegen", "cost", "formatted"))
    yield from (plan.toJSON() for plan in (execution.analyzed(), execution.optimizedPlan(), execution.executedPlan()))


def test_the_stores_password_is_in_no_plan_and_no_error(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    session = spark.newSession()
    register_source(session, LogSource)
    part = session.read.format(LOG_FORMAT).options(**STORE).load()
    stream = session.readStream.format(LOG_FORMAT).options(**STORE).load()
    texts = [*texts_of(session, part), stream._jdf.queryExecution().toString()]
    with pytest.raises(PySparkException) as read_failure:
        part.collect()
    query = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).start()
    with pytest.raises(StreamingQueryException) as query_failure:
        query.awaitTermination()
    progress = [one.json for one in query.recentProgress]
    texts += [
        str(read_failure.value),
        str(query_failure.value),
        str(query.exception()),
        str(query.status),
        *progress,
        *capfd.readouterr(),
    ]
    files = [one.read_bytes().decode(errors="replace") for one in tmp_path.rglob("*") if one.is_file()]
    assert files and 'server at "127.0.0.1", port 1 failed' in str(read_failure.value), "it has tried"
    assert [one for one in (*texts, *files, *command_lines(os.getpid())) if "word-of" in one] == []
