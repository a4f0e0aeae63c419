"""Log lines: where they go."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest
import structlog

from tocsin.logs import set_up_logs
from tocsin.settings import Settings

LOG = structlog.get_logger()


@pytest.fixture(autouse=True)
def configuration() -> Iterator[None]:
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def test_what_java_says_of_a_failure_is_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logs(Settings())
    logger = logging.getLogger("py4j.clientserver")
    is_heard = logger.hasHandlers()
    logger.propagate, before = False, logger.propagate  # away from pytest, as in a process of ours
    try:
        logger.error("There was an exception while executing the Python Proxy")
    finally:
        logger.propagate = before
    assert is_heard


def test_lines_go_to_the_standard_error_stream_of_the_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = io.StringIO(), io.StringIO()
    monkeypatch.setattr("sys.stderr", first)
    set_up_logs(Settings())
    LOG.warning("first_line")
    first.close()
    monkeypatch.setattr("sys.stderr", second)
    LOG.warning("second_line")
    assert "second_line" in second.getvalue()
