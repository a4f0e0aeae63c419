"""What does the box say with which ``tocsin up`` ends?"""

from __future__ import annotations

import io

from rich.console import Console

from tocsin.cli.screen import Login, Screen, Welcome


def test_who_has_no_new_password_is_told_how_to_get_one() -> None:
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
