"""Address of a lake, and the files there. Next: ``lake_files/port.py``."""

from __future__ import annotations

from pathlib import Path

from tocsin.lake_files.folder import FolderFiles
from tocsin.lake_files.port import LakeFiles, StoredFile
from tocsin.settings import Settings


def files_at(root: str) -> LakeFiles:
    """Return the files of the lake at ``root``."""
    return FolderFiles(Path(root))


def lake_files_of(settings: Settings) -> LakeFiles:
    """Return the files of the lake that ``settings`` name."""
    return files_at(str(settings.lake_folder()))


def copy_segment(segment_id: str, source: LakeFiles, target: LakeFiles) -> int:
    """Copy a segment from one lake to another, the file that says it is complete last; return its bytes."""
    copied_bytes = 0
    for file in sorted(source.files_of(segment_id), key=_says_complete):
        with source.open(file.path) as content:
            target.write(file.path, content)
        copied_bytes += file.size
    return copied_bytes


def _says_complete(file: StoredFile) -> bool:
    return file.path.rpartition("/")[2].startswith("_")
