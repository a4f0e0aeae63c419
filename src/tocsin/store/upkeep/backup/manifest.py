"""Manifest of a backup: its contents, its store and time, and the checksum of every file.

It is written last, so an interrupted backup has none and is never mistaken for a complete one.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from tocsin.errors import InvalidInput, NotFound, StoreDamaged
from tocsin.flow.eventlog.position import LogPosition
from tocsin.private_files import private_file, private_folder

MANIFEST = "manifest.json"
FORMAT = 1
"""Raised when an earlier Tocsin could not restore what a later one wrote."""

_CHUNK = 1 << 20

ReportProgress = Callable[[int, int], None]
"""Called with the number of finished bytes and of all bytes."""


class KeyKept(StrEnum):
    """What a backup did about the key that seals secrets."""

    INCLUDED = "included"
    LEFT_OUT = "omitted"
    SETTING = "a setting: keep TOCSIN_SECRETS_KEY elsewhere"
    NONE = "did not exist"


@dataclass(frozen=True)
class Manifest:
    """Contents of a backup.

    ``dialect`` and ``revision`` are the store's; ``tables`` and ``sequences`` those of PostgreSQL: the columns that
    were copied, and the value of each sequence. ``files`` gives the SHA-256 of each file by its path in the backup.
    """

    tocsin: str
    made_at_ms: int
    dialect: str
    revision: str
    log: LogPosition
    key: KeyKept
    segments: tuple[str, ...] = ()
    tables: Mapping[str, list[str]] = field(default_factory=dict)
    sequences: Mapping[str, int] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    format: int = FORMAT

    def write(self, folder: Path) -> None:
        """Write the manifest into a backup's folder, whole or not at all."""
        new_file = folder / f"{MANIFEST}.new"
        with private_file(new_file) as file:
            file.write(json.dumps(asdict(self) | {"log": self.log.to_json()}, indent=2).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        new_file.replace(folder / MANIFEST)


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a backup.

    Raises
    ------
    NotFound : there is no whole backup in ``folder``
    InvalidInput : it was made by a later Tocsin, or its manifest cannot be read
    """
    try:
        fields: dict[str, Any] = json.loads((folder / MANIFEST).read_text())  # Any: JSON values
        if fields["format"] > FORMAT:
            raise InvalidInput(
                f"The backup in {folder} was created by Tocsin {fields['tocsin']}; restore it with that version."
            )
        read = {**fields, "log": LogPosition.of_json(fields["log"]), "key": KeyKept(fields["key"])}
        return Manifest(**{**read, "segments": tuple(fields["segments"])})
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"{folder} contains no complete backup: {MANIFEST} is missing.") from None
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"The manifest of the backup in {folder} is invalid: {error!r}") from error


def verify(folder: Path, manifest: Manifest, report: ReportProgress) -> None:
    """Compare every file of a backup with its checksum; raises StoreDamaged that names the first that differs."""
    total = sum((folder / path).stat().st_size for path in manifest.files if (folder / path).is_file())
    verified_bytes = 0
    for path, expected in manifest.files.items():
        file = folder / path
        if not file.is_file() or checksum(file) != expected:
            raise StoreDamaged(f"The backup is damaged: {file} is missing or was changed. Nothing was restored.")
        verified_bytes += file.stat().st_size
        report(verified_bytes, total)


def checksum(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def copy_privately(source: Path, target: Path) -> None:
    """Copy a file to one that only its owner may read."""
    private_folder(target.parent)
    with source.open("rb") as read, private_file(target) as written:
        shutil.copyfileobj(read, written, _CHUNK)


def files_in(folder: Path) -> Iterator[Path]:
    """Yield every file below a folder, in the order of their paths."""
    yield from sorted(one for one in folder.rglob("*") if one.is_file())
