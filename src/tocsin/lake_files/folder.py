"""Files of a lake in a folder of this machine, or of a disk that all machines share."""

from __future__ import annotations

import io
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tocsin.errors import Unavailable
from tocsin.lake_files.port import PARQUET, SEGMENT_PREFIX, StoredFile, segment_folder
from tocsin.private_files import private_file, private_folder

_CHUNK = 2**20
_WRITTEN = "_SUCCESS"
"""The file that Spark writes last."""


@dataclass(frozen=True)
class FolderFiles:
    """The files of the lake in the folder ``root``."""

    root: Path

    def exists(self) -> bool:
        """Return whether the folder is there."""
        return self.root.is_dir()

    def open_root(self, *, is_expected: bool) -> None:
        """Do nothing: the folder is made with the first segment.

        Raises
        ------
        Unavailable : it is missing although a lake ``is_expected``
        """
        if is_expected and not self.exists():
            raise Unavailable(
                f"The lake's folder {self.root} does not exist. Mount it, or create it empty to rewrite the lake from"
                " the log."
            )

    def segment_ids(self) -> list[str]:
        """Return the ids of all segments that have files here."""
        names = [path.name for path in self.root.iterdir()]
        return [name.removeprefix(SEGMENT_PREFIX) for name in names if name.startswith(SEGMENT_PREFIX)]

    def is_complete(self, segment_id: str) -> bool:
        """Return whether a segment was written to its end."""
        return (self._folder(segment_id) / _WRITTEN).is_file()

    def files_of(self, segment_id: str) -> list[StoredFile]:
        """Return the Parquet files of a segment, in the order of their paths."""
        return [self._description_of(path) for path in sorted(self._folder(segment_id).rglob(f"*{PARQUET}"))]

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading."""
        return (self.root / path).open("rb")

    def write(self, path: str, content: BinaryIO) -> None:
        """Write a file for its owner alone, in folders that are made for it."""
        target = self.root / path
        private_folder(target.parent)
        with private_file(target) as file:
            shutil.copyfileobj(content, file, _CHUNK)

    def finish(self, segment_id: str) -> None:
        """Write the file that says that a segment is complete."""
        self.write(f"{segment_folder(segment_id)}/{_WRITTEN}", io.BytesIO())

    def remove_strays(self, segment_id: str) -> None:
        """Do nothing: Spark leaves none beside a complete segment."""

    def remove_segment(self, segment_id: str) -> None:
        """Remove all files of a segment; it may be missing."""
        with suppress(FileNotFoundError):
            shutil.rmtree(self._folder(segment_id))

    def _folder(self, segment_id: str) -> Path:
        return self.root / segment_folder(segment_id)

    def _description_of(self, path: Path) -> StoredFile:
        state = path.stat()
        return StoredFile(path.relative_to(self.root).as_posix(), state.st_size, int(state.st_mtime * 1000))
