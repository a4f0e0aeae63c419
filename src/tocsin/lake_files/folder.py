"""Files of a lake in a folder of this machine, or of a disk that all machines share."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from tocsin.errors import Unavailable
from tocsin.lake_files.port import PARQUET, SEGMENT_PREFIX, SegmentFile, StoredFile, segment_folder
from tocsin.private_files import private_file, private_folder

_CHUNK = 2**20
_WRITTEN = "_SUCCESS"
"""The file that says that a segment is complete, as Spark calls it; it is written last."""
_UNLISTED = "_temporary"
"""The folder of a segment with files that do not count yet; Spark and other readers pass it over."""


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

    def create(self, path: str) -> Any:  # Any: see private_file
        """Open a new file for its owner alone, which ``list_files`` will put in its place."""
        target = self._temporary_path(self.root / path)
        private_folder(target.parent)
        return private_file(target)

    def list_files(self, segment_id: str, files: Sequence[SegmentFile]) -> None:
        """Put the files in their places: the segment is complete then."""
        with self.failing_clearly():
            for file in files:
                target = self.root / file.path
                private_folder(target.parent)
                self._temporary_path(target).rename(target)
            self.finish(segment_id)
        self.remove_strays(segment_id)

    @contextmanager
    def failing_clearly(self) -> Iterator[None]:
        """Say that the lake fails, and why.

        Raises
        ------
        Unavailable : the disk fails in the block
        """
        try:
            yield
        except OSError as error:
            raise Unavailable(f"The lake at {self.root} fails: {error.strerror}.") from error

    def finish(self, segment_id: str) -> None:
        """Write the file that says that a segment is complete."""
        self.write(f"{segment_folder(segment_id)}/{_WRITTEN}", io.BytesIO())

    def remove_strays(self, segment_id: str) -> None:
        """Remove what attempts that were given up have left of a complete segment."""
        shutil.rmtree(self._folder(segment_id) / _UNLISTED, ignore_errors=True)

    def remove_segment(self, segment_id: str) -> None:
        """Remove all files of a segment; it may be missing."""
        with suppress(FileNotFoundError):
            shutil.rmtree(self._folder(segment_id))

    def _folder(self, segment_id: str) -> Path:
        return self.root / segment_folder(segment_id)

    def _temporary_path(self, path: Path) -> Path:
        """Return where the file of a path is before it counts; its name has no ending that readers know."""
        return path.parent.parent / _UNLISTED / path.stem

    def _description_of(self, path: Path) -> StoredFile:
        state = path.stat()
        return StoredFile(path.relative_to(self.root).as_posix(), state.st_size, int(state.st_mtime * 1000))
