"""Data folder with private permissions: only its owner may enter it and read its files.

Who reads the store reads everything, and who may lock its lock files blocks all writers. So the folder has mode
700 and its files 600, checked whenever a process opens it. Next: ``store/database/engine.py``.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

from tocsin.errors import InvalidSetting

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OWN_FOLDER, _OWN_FILE = 0o700, 0o600
_PROBE_BYTES = 1 << 18


def make_private(folder: Path, *, account: int | None = None) -> str | None:
    """Make a folder and its files private, creating it if needed; return what was changed, None if nothing was.

    ``account`` is the requesting one, by default that of this process.

    Raises
    ------
    InvalidSetting : others may enter it, and it is not this account's to change
    """
    folder, account = folder.absolute(), os.geteuid() if account is None else account
    folder.mkdir(mode=_OWN_FOLDER, parents=True, exist_ok=True)
    stat_result = folder.stat()
    if is_loose := bool(stat_result.st_mode & _OTHERS):
        _check_is_own(folder, stat_result, account)
        _tighten(folder, folder, _OWN_FOLDER)
    loose = [entry for entry in folder.iterdir() if _is_loose(entry, account)]
    for entry in loose:
        _tighten(folder, entry, _OWN_FOLDER if entry.is_dir() else _OWN_FILE)
    return f"{folder} was accessible to others; it is now private." if is_loose or loose else None


def _check_is_own(folder: Path, stat_result: os.stat_result, account: int) -> None:
    if stat_result.st_mode & stat.S_ISVTX or folder in (Path("/"), Path.home()):
        raise _refusal(folder, "others use it as well; choose a folder for Tocsin only")
    if account not in (stat_result.st_uid, 0):
        problem = f"others can access it, and it belongs to another account, which can run: chmod 700 {folder}"
        raise _refusal(folder, problem)


def _is_loose(entry: Path, account: int) -> bool:
    """Return whether others may read or write a file or folder of this account's; a removed one is not."""
    try:
        stat_result = entry.lstat()
    except FileNotFoundError:
        return False
    is_ours = stat.S_ISREG(stat_result.st_mode) or stat.S_ISDIR(stat_result.st_mode)
    return is_ours and bool(stat_result.st_mode & _OTHERS) and account in (stat_result.st_uid, 0)


def _tighten(folder: Path, entry: Path, mode: int) -> None:
    try:
        with suppress(FileNotFoundError):  # a log or lock that went with its last user
            entry.chmod(mode)
    except OSError as error:
        if error.errno == errno.EROFS:
            raise  # nobody can write there; the first write says so
        raise _refusal(folder, f"{entry} cannot be made private ({error.strerror}); run: chmod 700 {folder}") from error


def _refusal(folder: Path, why: str) -> InvalidSetting:
    return InvalidSetting(f"Setting data_dir (TOCSIN_DATA_DIR): {folder} cannot be used: {why}.", field="data_dir")


def check_takes_files(folder: Path) -> None:
    """Write something into ``folder`` as far as the disk, and leave nothing behind.

    Raises
    ------
    OSError : the disk is full, read-only or defective
    """
    with TemporaryFile(dir=folder) as file:
        file.write(b"\1" * _PROBE_BYTES)
        file.flush()
        os.fsync(file.fileno())
