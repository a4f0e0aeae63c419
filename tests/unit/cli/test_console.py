"""Tests of the welcome box of ``tocsin up``, and of who is shown passwords."""

from __future__ import annotations

import io
import os
import pty

from rich.console import Console

from tocsin.cli.console import Login, Screen, Welcome
from tocsin.server.app import first_password_line


def test_without_a_new_password_the_command_to_set_one_is_shown() -> None:
    written = io.StringIO()
    login = Login("admin", "administrator", "admin@tocsin.example.org", None)
    Screen(Console(file=written, width=200)).welcome(Welcome("http://127.0.0.1:8585", (login,), None))
    assert "a new one: tocsin admin reset-password admin" in written.getvalue()
    assert "TOCSIN_SERVER" not in written.getvalue()


def test_where_commands_do_not_look_by_themselves_is_printed_for_them() -> None:
    written = io.StringIO()
    server = "http://127.0.0.1:8611"
    Screen(Console(file=written, width=200)).welcome(Welcome(server, (), None, server))
    assert f"export TOCSIN_SERVER={server} " in written.getvalue()


def test_a_password_is_shown_on_a_terminal_alone() -> None:
    login = Login("admin", "administrator", "admin@tocsin.example.org", "pa55word")
    welcome, log = Welcome("http://127.0.0.1:8585", (login,), None), io.StringIO()
    for has_welcomed in (True, False):
        screen = Screen(Console(file=log, width=200, force_terminal=True))
        if has_welcomed:
            screen.welcome(welcome)
        screen.farewell(welcome)
    assert "pa55word" not in log.getvalue()
    assert "a new one: tocsin admin reset-password admin" in log.getvalue()
    master, slave = pty.openpty()
    with os.fdopen(master, "rb", buffering=0) as screen_output, os.fdopen(slave, "w") as terminal:
        Screen(Console(file=terminal, width=200)).welcome(welcome)
        terminal.flush()
        assert b"pa55word" in screen_output.read(8000)


def test_the_log_of_a_server_keeps_no_password() -> None:
    assert "pa55word" in first_password_line("pa55word", is_terminal=True)
    line = first_password_line("pa55word", is_terminal=False)
    assert "pa55word" not in line
    assert "tocsin admin reset-password admin" in line


def test_the_welcome_says_where_events_go_if_there_is_a_broker() -> None:
    written, events = io.StringIO(), "127.0.0.1:9092, topic metadata-change-events"
    Screen(Console(file=written, width=200)).welcome(Welcome("http://127.0.0.1:8585", (), None, events=events))
    assert events in written.getvalue()
