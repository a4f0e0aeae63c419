"""Tests of commands on a faulty store or disk: one sentence with the remedy, never a traceback or "Tocsin itself"."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.acceptance.cli.conftest import Shell

pytestmark = pytest.mark.slow

COMMANDS = (("fsck",), ("admin", "token", "bot"), ("serve", "--processes", "1"), ("deliver",), ("sample", "load"))


def in_folder(shell: Shell, folder: Path) -> Shell:
    return shell.beside(TOCSIN_DATA_DIR=str(folder))


def sentence(shell: Shell, command: tuple[str, ...], code: int) -> str:
    ended = shell.run(*command)
    assert ended.returncode == code, ended.stderr
    messages = [line for line in ended.stderr.splitlines() if line.startswith("tocsin: ")]
    assert len(messages) == 1, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Internal error" not in ended.stderr
    return messages[0]


@contextmanager
def mount(folder: Path, options: str) -> Iterator[None]:
    folder.mkdir(exist_ok=True)
    words = ["mount", "-t", "tmpfs", "-o", f"{options},mode=700", "none", str(folder)]
    if subprocess.run(words, check=False, capture_output=True).returncode:
        pytest.skip("only root may mount")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("content", [b"this is no database at all" * 99, None], ids=["not one", "a page overwritten"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_damaged_file_is_named_as_such(
    shell: Shell, sqlite_template: Path, command: tuple[str, ...], content: bytes | None
) -> None:
    folder = shell.folder / "data"
    folder.mkdir()
    damaged = bytearray(sqlite_template.read_bytes())
    damaged[100:4096] = b"\xff" * 3996
    (folder / "tocsin.db").write_bytes(damaged if content is None else content)
    message = sentence(in_folder(shell, folder), command, 7)
    assert "damaged" in message


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_full_disk_is_named_as_such(shell: Shell, command: tuple[str, ...], sqlite_template: Path) -> None:
    folder = shell.folder / "small"
    size = sqlite_template.stat().st_size + 64 * 1024
    with mount(folder, f"size={size}"):
        (folder / "tocsin.db").write_bytes(sqlite_template.read_bytes())
        with pytest.raises(OSError, match="No space left"), (folder / "ballast").open("wb", buffering=0) as file:
            while True:
                file.write(b"\1" * 4096)
        assert "full" in sentence(in_folder(shell, folder), command, 6)


@pytest.mark.parametrize(
    ("command", "has_store"),
    [(one, has_store) for one in COMMANDS for has_store in (True, False) if has_store or one != ("fsck",)],
    ids=str,
)
def test_a_read_only_folder_is_named_as_such(
    shell: Shell, command: tuple[str, ...], sqlite_template: Path, has_store: bool
) -> None:
    folder = shell.folder / "fixed"
    with mount(folder, "size=16m"):
        if has_store:
            (folder / "tocsin.db").write_bytes(sqlite_template.read_bytes())
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        assert "read-only" in sentence(in_folder(shell, folder), command, 6)


@pytest.mark.parametrize("command", [("fsck",), ("sample", "load")], ids=" ".join)
def test_a_database_that_does_not_answer_is_named_as_such(shell: Shell, command: tuple[str, ...]) -> None:
    assert "does not respond" in sentence(shell_with_store_at(shell, "127.0.0.1:9"), command, 6)


@pytest.mark.parametrize("command", [("serve", "--processes", "1"), ("deliver",)], ids=" ".join)
def test_a_database_that_is_not_there_yet_is_waited_for_and_one_that_cannot_be_is_not(
    shell: Shell, command: tuple[str, ...]
) -> None:
    waiting = shell_with_store_at(shell, "127.0.0.1:9").start(*command)
    try:
        assert waiting.stdout is not None
        waiting_line = next(line for line in waiting.stdout if "_waits" in line)
        assert "does not respond" in waiting_line
        assert waiting.poll() is None
    finally:
        waiting.terminate()
        waiting.communicate(timeout=20)
    assert "cannot be resolved" in sentence(shell_with_store_at(shell, "nowhere.invalid"), command, 6)


def shell_with_store_at(shell: Shell, place: str) -> Shell:
    return shell.beside(TOCSIN_DATABASE_URL=f"postgresql+psycopg://tocsin@{place}/x")


@pytest.mark.parametrize("key", ["nonsense", "AAAA"])
def test_a_key_that_is_none_is_named_as_such(shell: Shell, key: str) -> None:
    shell_with_key = shell.beside(TOCSIN_SECRETS_KEY=key)
    assert "secrets_key" in sentence(shell_with_key, ("sample", "load"), 2)


@pytest.mark.parametrize(
    "command", [("pipeline",), ("lake", "append"), ("audit",), ("search", "rebuild"), ("up",)], ids=" ".join
)
def test_a_java_that_is_missing_is_named_as_such(shell: Shell, command: tuple[str, ...]) -> None:
    none = shell.beside(JAVA_HOME=str(shell.folder))
    assert "Java" in sentence(none, command, 6)


def test_a_file_where_the_folder_should_be_is_named_as_such(shell: Shell) -> None:
    (shell.folder / "data").touch()
    assert "A file exists" in sentence(shell, ("admin", "token", "bot"), 6)


def test_a_key_file_that_holds_none_is_named_as_such(shell: Shell) -> None:
    assert shell.run("admin", "migrate").returncode == 0
    for content in (b"", b"\xff\xfe\x00"):
        (shell.folder / "data" / "secrets.key").write_bytes(content)
        assert "secrets_key" in sentence(shell, ("admin", "token", "bot"), 2)


def test_a_settings_file_that_is_no_text_is_named_as_such(shell: Shell) -> None:
    (shell.folder / "tocsin.toml").write_bytes(b"\xff\xfe")
    assert "tocsin.toml" in sentence(shell, ("settings",), 2)
