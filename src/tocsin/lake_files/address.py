"""Address of a lake, a folder or ``s3://bucket/prefix``, and the files there. Next: ``lake_files/port.py``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tocsin.errors import MissingExtra
from tocsin.lake_files.folder import FolderFiles
from tocsin.lake_files.port import LakeFiles, S3Access
from tocsin.settings import Settings

if TYPE_CHECKING:  # Arrow is an extra
    from tocsin.lake_files.bucket import BucketFiles


def files_at(root: str, access: S3Access | None = None) -> LakeFiles:
    """Return the files of the lake at ``root``; ``access`` is for a bucket, None for a folder."""
    return FolderFiles(Path(root)) if access is None else bucket_at(root, access)


def bucket_at(root: str, access: S3Access) -> BucketFiles:
    """Return the files of the lake in a bucket.

    Raises
    ------
    MissingExtra : Arrow is not installed
    """
    try:
        from tocsin.lake_files.bucket import BucketFiles
    except ModuleNotFoundError as error:
        message = f"A lake in S3 needs {error.name}. Install it: pip install 'tocsin[spark]'"
        raise MissingExtra(message, extra="spark") from error
    return BucketFiles(root, access)


def access_of(settings: Settings) -> S3Access | None:
    """Return how the bucket of the lake is reached; None if the lake is in a folder."""
    if not settings.is_lake_in_bucket():
        return None
    secret, authorities = settings.lake_s3_secret_key, settings.lake_s3_ca_file
    return S3Access(
        endpoint=settings.lake_s3_endpoint,
        region=settings.lake_s3_region,
        key_id=settings.lake_s3_key_id,
        secret_key=None if secret is None else secret.get_secret_value(),
        ca_file=None if authorities is None else str(authorities.absolute()),
    )


def lake_files_of(settings: Settings) -> LakeFiles:
    """Return the files of the lake that ``settings`` name."""
    return files_at(settings.lake_root(), access_of(settings))


def copy_segment(segment_id: str, source: LakeFiles, target: LakeFiles) -> int:
    """Copy a segment from one lake to another, which notes at the end that it is complete; return its bytes."""
    copied_bytes = 0
    for file in source.files_of(segment_id):
        with source.open(file.path) as content:
            target.write(file.path, content)
        copied_bytes += file.size
    target.finish(segment_id)
    return copied_bytes
