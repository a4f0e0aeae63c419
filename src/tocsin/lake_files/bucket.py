"""Files of a lake in a bucket of S3, or of a server that speaks S3's protocol, through Arrow.

S3 renames nothing and shows an object whole or not at all. Tasks write objects under names that no other attempt takes,
and the list of a segment's files comes last: what it does not name is read by nobody and goes with the segment.
*Source:* Amazon S3 user guide, "Amazon S3 data consistency model".
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

import pyarrow.parquet as pq
from pyarrow import fs

from tocsin.errors import Unavailable
from tocsin.lake_files.descriptions import description_of
from tocsin.lake_files.port import PARQUET, SEGMENT_PREFIX, S3Access, SegmentFile, StoredFile, segment_folder

LIST = "_files.json"
"""The object of a segment that lists its files; it is written last."""
ROOT_MARK = "_tocsin_lake"
"""The object that says that a lake is here, so that a mistyped address is no empty lake."""

_CHUNK = 2**20
_CONNECTS_WITHIN_S, _ANSWERS_WITHIN_S = 5, 20
"""Arrow tries three times; other background jobs wait meanwhile."""
_CHECKSUMS = "AWS_REQUEST_CHECKSUM_CALCULATION"
"""Variable that Amazon's library reads when a client is made: whether objects are sent with checksums behind them."""
_AMAZON = (".amazonaws.com", ".amazonaws.com.cn")
_WAYS_OUT = (
    (("NO_SUCH_BUCKET", "NoSuchBucket"), "Create the bucket, or correct lake_dir."),
    (
        ("ACCESS_DENIED", "INVALID_ACCESS_KEY", "SIGNATURE", "Forbidden", "status 403", "InvalidAccessKeyId"),
        "Check lake_s3_key_id and `tocsin admin secret lake_s3_secret_key`; the key must be allowed to list, read,"
        " write and delete objects there.",
    ),
    (("StorageFull", "QuotaExceeded", "status 507"), "Make room in the bucket; the next run goes on."),
    (
        ("PermanentRedirect", "PERMANENT_REDIRECT", "AuthorizationHeaderMalformed", "status 301"),
        "Check lake_s3_region.",
    ),
    (("NETWORK_CONNECTION", "curlCode", "timed out"), "Check lake_s3_endpoint; the next run goes on."),
)


@dataclass(frozen=True)
class BucketFiles:
    """The files of the lake at ``root``, ``s3://bucket/prefix``."""

    root: str
    access: S3Access

    def open_root(self, *, is_expected: bool) -> None:
        """Mark the place as a lake's.

        Raises
        ------
        Unavailable : it cannot be used, or there is no lake although one ``is_expected``
        """
        if self.access.key_id and not self.access.secret_key:
            raise Unavailable("lake_s3_key_id has no key: store it with `tocsin admin secret lake_s3_secret_key`.")
        bucket = self._root_path.partition("/")[0]
        if not self._is(bucket, fs.FileType.Directory):
            raise Unavailable(f"The bucket {bucket} of the lake does not exist. Create it, or correct lake_dir.")
        if self._is(self._path(ROOT_MARK), fs.FileType.File):
            return
        if is_expected:
            raise Unavailable(
                f"{self.root} holds no lake. Correct lake_dir; or, to write the lake anew from the log, put an empty"
                f" object {ROOT_MARK} there."
            )
        self._put(ROOT_MARK, b"")

    def segment_ids(self) -> list[str]:
        """Return the ids of all segments that have files here."""
        names = [info.base_name for info in self._list_files("", recursive=False)]
        return [name.removeprefix(SEGMENT_PREFIX) for name in names if name.startswith(SEGMENT_PREFIX)]

    def is_complete(self, segment_id: str) -> bool:
        """Return whether a segment was written to its end: it has its list of files then."""
        return self._is(self._path(f"{segment_folder(segment_id)}/{LIST}"), fs.FileType.File)

    def files_of(self, segment_id: str) -> list[StoredFile]:
        """Return the Parquet files of a segment, in the order of their paths: of a complete one, those of its list."""
        files = self._objects_of(segment_id)
        if not self.is_complete(segment_id):
            return files
        listed_paths = {file.path for file in self.listed_files(segment_id)}
        return [file for file in files if file.path in listed_paths]

    def listed_files(self, segment_id: str) -> list[SegmentFile]:
        """Return the files that make up a segment.

        Raises
        ------
        Unavailable : it has no list, or there is no lake
        """
        path = f"{segment_folder(segment_id)}/{LIST}"
        try:
            with self.open(path) as file:
                return [SegmentFile(**entry) for entry in json.loads(file.read())]
        except FileNotFoundError as error:
            self.open_root(is_expected=True)
            message = f"The lake lacks {self.root}/{path}. The next run of the pipeline writes its events anew."
            raise Unavailable(message) from error

    def list_files(self, segment_id: str, files: Sequence[SegmentFile]) -> None:
        """Write the list of a segment's files: it is complete then."""
        entries = [asdict(file) for file in sorted(files, key=lambda file: file.path)]
        self._put(f"{segment_folder(segment_id)}/{LIST}", json.dumps(entries).encode())

    def finish(self, segment_id: str) -> None:
        """Write the list of a segment whose files were copied from elsewhere."""
        with self.failing_clearly():
            listed = [
                description_of(file.path, file.size, pq.read_metadata(self._path(file.path), filesystem=self._client))
                for file in self._objects_of(segment_id)
            ]
        self.list_files(segment_id, listed)

    def open(self, path: str) -> BinaryIO:
        """Open an object for reading."""
        with self.failing_clearly():
            return cast("BinaryIO", self._client.open_input_file(self._path(path)))

    def create(self, path: str) -> Any:  # Any: Arrow's stream has no type
        """Open a new object for writing; it is visible once it is closed, also where that is early."""
        return self._client.open_output_stream(self._path(path))

    def write(self, path: str, content: BinaryIO) -> None:
        """Write an object, in the place of an earlier one."""
        with self.failing_clearly(), self.create(path) as stream:
            shutil.copyfileobj(content, stream, _CHUNK)

    def remove_segment(self, segment_id: str) -> None:
        """Remove all objects of a segment; it may be missing."""
        with self.failing_clearly(), suppress(FileNotFoundError):
            self._client.delete_dir(self._path(segment_folder(segment_id)))

    def remove_strays(self, segment_id: str) -> None:
        """Remove the objects of a complete segment that its list does not name: attempts that were given up."""
        listed_paths = {file.path for file in self.listed_files(segment_id)}
        for file in self._objects_of(segment_id):
            if file.path not in listed_paths:
                self.remove_file(file.path)

    def remove_file(self, path: str) -> None:
        """Remove an object."""
        with self.failing_clearly():
            self._client.delete_file(self._path(path))

    def _objects_of(self, segment_id: str) -> list[StoredFile]:
        """Return all Parquet files of a segment, those of attempts that were given up, too."""
        start = len(self._root_path) + 1
        infos = [info for info in self._list_files(segment_folder(segment_id)) if info.path.endswith(PARQUET)]
        return sorted(StoredFile(info.path[start:], info.size, (info.mtime_ns or 0) // 1_000_000) for info in infos)

    @contextmanager
    def failing_clearly(self) -> Iterator[None]:
        """Turn what S3 answers into what can be done about it; that something is missing stays as it is.

        Raises
        ------
        Unavailable : S3 fails in the block
        """
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            reason = str(error).splitlines()[0].rstrip(".")
            answer = reason.rpartition("AWS Error")[2]  # before it, there are names
            ways_out = [way_out for signs, way_out in _WAYS_OUT if any(sign in answer for sign in signs)]
            raise Unavailable(" ".join([f"The lake at {self.root} fails: {reason}.", *ways_out[:1]])) from error

    @property
    def _client(self) -> fs.S3FileSystem:
        return _client_of(self.access)

    @property
    def _root_path(self) -> str:
        return self.root.removeprefix("s3://").rstrip("/")

    def _path(self, path: str) -> str:
        return f"{self._root_path}/{path}".rstrip("/")

    def _is(self, path: str, kind: fs.FileType) -> bool:
        with self.failing_clearly():
            return bool(self._client.get_file_info(path).type == kind)

    def _list_files(self, path: str, *, recursive: bool = True) -> list[fs.FileInfo]:
        with self.failing_clearly():
            selector = fs.FileSelector(self._path(path), allow_not_found=True, recursive=recursive)
            return list(self._client.get_file_info(selector))

    def _put(self, path: str, content: bytes) -> None:
        with self.failing_clearly(), self.create(path) as stream:
            stream.write(content)


def is_amazon(endpoint: str | None) -> bool:
    """Return whether an address is one of Amazon's S3; None is."""
    return endpoint is None or (urlsplit(endpoint).hostname or "").endswith(_AMAZON)


@lru_cache(maxsize=4)
def _client_of(access: S3Access) -> fs.S3FileSystem:
    if not is_amazon(access.endpoint):
        # Other servers may refuse checksums behind an object, or store them in it. The signature or TLS protects it.
        os.environ.setdefault(_CHECKSUMS, "when_required")
    scheme, _, host = (access.endpoint or "https://").rstrip("/").partition("://")
    return fs.S3FileSystem(
        access_key=access.key_id,
        secret_key=access.secret_key,
        region=access.region,
        scheme=scheme,
        endpoint_override=host or None,
        tls_ca_file_path=access.ca_file,
        connect_timeout=_CONNECTS_WITHIN_S,
        request_timeout=_ANSWERS_WITHIN_S,
        allow_delayed_open=True,
    )
