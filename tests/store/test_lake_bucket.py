"""The files of a lake in a bucket, against a local S3 server."""

from __future__ import annotations

import io
import os
import socket
import socketserver
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import SecretStr
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.conftest import KEY
from tests.s3server import BUCKET, S3Server

from tocsin.clock import FixedClock
from tocsin.errors import Unavailable
from tocsin.flow.eventlog.lake import Segment
from tocsin.lake_files.address import bucket_at, copy_segment, lake_files_of
from tocsin.lake_files.bucket import BucketFiles, is_amazon
from tocsin.lake_files.folder import FolderFiles
from tocsin.settings import Settings
from tocsin.store.eventlog.lake import Lake
from tocsin.store.upkeep.backup.making import BackupContents, back_up
from tocsin.store.upkeep.backup.restoring import restore
from tocsin.store.upkeep.stored_settings import store_secret, with_lake_key

DAY = "segment=a/date=2026-01-01"


@pytest.fixture
def files(s3: S3Server, request: pytest.FixtureRequest) -> BucketFiles:
    return bucket_at(f"s3://{BUCKET}/{request.node.name}", s3.access)


def parquet(*offsets: int) -> io.BytesIO:
    content = io.BytesIO()
    pq.write_table(
        pa.table({"log_offset": list(offsets), "timestamp_ms": [number * 10 for number in offsets]}), content
    )
    content.seek(0)
    return content


def test_a_segment_counts_once_its_list_is_there(files: BucketFiles) -> None:
    files.open_root(is_expected=False)
    files.write(f"{DAY}/part-1.parquet", parquet(1, 2))
    assert files.segment_ids() == ["a"]
    assert not files.is_complete("a")
    files.finish("a")
    (listed,) = files.listed_files("a")
    assert (listed.path, listed.date, listed.row_count) == (f"{DAY}/part-1.parquet", "2026-01-01", 2)
    assert (listed.first_offset, listed.last_offset, listed.first_ms, listed.last_ms) == (1, 2, 10, 20)
    assert files.is_complete("a")


class _EarlierServer(BaseHTTPRequestHandler):
    """Takes objects as servers did before 2025: of a stated length, and as they come."""

    def do_PUT(self) -> None:
        length = self.headers.get("Content-Length")
        if length is not None:
            cast("_Objects", self.server).contents.append(self.rfile.read(int(length)))
        self.send_response(411 if length is None else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.close_connection = length is None

    def log_message(self, *_: object) -> None:
        """Print nothing."""


class _Objects(ThreadingHTTPServer):
    """What such a server has taken."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _EarlierServer)
        self.contents: list[bytes] = []


@contextmanager
def earlier_server() -> Iterator[_Objects]:
    with _Objects() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


_WRITE = """
import io, sys
from tocsin.lake_files.address import bucket_at
from tocsin.lake_files.port import S3Access
files = bucket_at("s3://bucket/lake", S3Access(sys.argv[1], "us-east-1", "key", "secret"))
files.write("object", io.BytesIO(b"content"))
"""


@pytest.mark.parametrize(
    ("environment", "contents"), [({}, [b"content"]), ({"AWS_REQUEST_CHECKSUM_CALCULATION": "when_supported"}, [])]
)
def test_a_server_that_knows_no_checksums_behind_objects_gets_none_unless_the_environment_says_so(
    environment: dict[str, str], contents: list[bytes]
) -> None:
    with earlier_server() as server:  # called from this process, it would wait for Arrow, which keeps Python's lock
        command = [sys.executable, "-c", _WRITE, f"http://127.0.0.1:{server.server_port}"]
        run = subprocess.run(command, env=os.environ | environment, check=False, capture_output=True, text=True)
    assert server.contents == contents, run.stderr
    assert ("Unavailable" in run.stderr and "411" in run.stderr) is (not contents)


@pytest.mark.parametrize(
    ("endpoint", "is_one"),
    [
        (None, True),
        ("https://s3.eu-central-1.amazonaws.com", True),
        ("https://bucket.vpce-1.s3.cn-north-1.vpce.amazonaws.com.cn:443/", True),
        ("https://minio.example.com:9000", False),
        ("https://s3.amazonaws.com.example.com", False),
    ],
)
def test_addresses_of_amazon_are_known(endpoint: str | None, is_one: bool) -> None:
    assert is_amazon(endpoint) is is_one


def test_what_a_list_does_not_name_is_no_part_of_its_segment_and_can_be_removed(
    files: BucketFiles, s3: S3Server, tmp_path: Path
) -> None:
    files.write(f"{DAY}/part-1.parquet", parquet(1))
    files.finish("a")
    files.write(f"{DAY}/part-2.parquet", parquet(1))
    assert [file.path for file in files.listed_files("a")] == [f"{DAY}/part-1.parquet"]
    copy = FolderFiles(tmp_path)
    copy_segment("a", files, copy)
    assert [file.path for file in copy.files_of("a")] == [f"{DAY}/part-1.parquet"]
    files.remove_strays("a")
    assert [file.path for file in files.files_of("a")] == [f"{DAY}/part-1.parquet"]
    assert not [key for key in s3.keys(files.root.rpartition("/")[2]) if key.endswith("part-2.parquet")]


def test_a_segment_is_removed_with_everything_in_it_and_may_be_removed_again(files: BucketFiles, s3: S3Server) -> None:
    files.write(f"{DAY}/part-1.parquet", parquet(1))
    files.finish("a")
    files.remove_segment("a")
    files.remove_segment("a")
    assert not [key for key in s3.keys(files.root.rpartition("/")[2]) if "segment=a" in key]


def test_a_segment_moves_from_a_folder_to_a_bucket_and_back(files: BucketFiles, tmp_path: Path) -> None:
    before, after = FolderFiles(tmp_path / "before"), FolderFiles(tmp_path / "after")
    before.write(f"{DAY}/part-1.parquet", parquet(1, 2))
    before.write("segment=a/_SUCCESS", io.BytesIO())
    copy_segment("a", before, files)
    copy_segment("a", files, after)
    assert files.is_complete("a")
    assert after.is_complete("a")
    assert (tmp_path / "after" / DAY / "part-1.parquet").read_bytes() == parquet(1, 2).read()


def bucket_settings(settings: Settings, s3: S3Server, prefix: str) -> Settings:
    """Return settings of a lake in the bucket whose secret key the store has."""
    access = {"lake_s3_endpoint": s3.url, "lake_s3_region": "us-east-1", "lake_s3_key_id": s3.access.key_id}
    return settings.model_copy(update={"lake_dir": f"s3://{BUCKET}/{prefix}", **access})


def test_a_backup_of_a_bucket_is_restored_into_it_or_into_a_folder(
    sqlite_engine: Engine, sqlite_url: str, s3: S3Server, tmp_path: Path
) -> None:
    clock = FixedClock(1_700_000_000_000)
    in_folder = Settings(data_dir=tmp_path / "data", database_url=sqlite_url, secrets_key=SecretStr(KEY))
    settings = bucket_settings(in_folder, s3, tmp_path.name)
    store_secret(sqlite_engine, "lake_s3_secret_key", str(s3.access.secret_key))
    lake, files = Lake(sqlite_engine), lake_files_of(with_lake_key(sqlite_engine, settings))
    SmallCompany(sqlite_engine)
    segment_id = lake.stage(0, 2, now_ms=1)
    path = f"segment={segment_id}/date=2026-01-01/part-1.parquet"
    files.write(path, parquet(1, 2))
    files.finish(segment_id)
    files.write(path.replace("part-1", "part-2"), parquet(1))  # of an attempt that was given up
    assert lake.keep(Segment(segment_id, 0, 2, 2, 10, 20), now_ms=1)
    folder = tmp_path / "backup"
    manifest = back_up(
        sqlite_engine, settings, folder, contents=BackupContents(), clock=clock, report=lambda _done, _total: None
    )
    assert manifest.segments == (segment_id,)
    for target in (settings, in_folder):
        files.remove_segment(segment_id)
        clock.advance(1)
        sqlite_engine.dispose()
        restore(folder, target, force=True, clock=clock, report=lambda _done, _total: None)
        restored_files = lake_files_of(with_lake_key(sqlite_engine, target))
        assert restored_files.is_complete(segment_id)
        assert [file.path for file in restored_files.files_of(segment_id)] == [path]
        assert [segment.id for segment in lake.segments()] == [segment_id]


def test_a_copy_that_breaks_off_is_not_complete(files: BucketFiles, s3: S3Server, tmp_path: Path) -> None:
    """Fault scenario 65."""
    source = FolderFiles(tmp_path)
    for number in (1, 2):
        source.write(f"{DAY}/part-{number}.parquet", parquet(number))
    source.finish("a")
    for room in (0, 1, 2):
        with s3.full_after(room), pytest.raises(Unavailable, match="Make room in the bucket"):
            copy_segment("a", source, files)
        assert not files.is_complete("a")
    files.remove_segment("a")
    copy_segment("a", source, files)
    assert [file.row_count for file in files.listed_files("a")] == [1, 1]


def test_an_empty_place_is_no_lake_that_lost_its_segments(files: BucketFiles) -> None:
    with pytest.raises(Unavailable, match=r"holds no lake\. Correct lake_dir.*put an empty object _tocsin_lake"):
        files.open_root(is_expected=True)
    files.open_root(is_expected=False)
    files.open_root(is_expected=True)


@contextmanager
def behind_tls(s3: S3Server, certificate: Path) -> Iterator[str]:
    """Pass on what is said by TLS to the server; yield the address."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    host, port = s3.url.removeprefix("http://").split(":")

    class Passage(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with (
                suppress(OSError),
                context.wrap_socket(self.request, server_side=True) as client,
                socket.create_connection((host, int(port))) as server,
            ):
                threading.Thread(target=pass_on, args=(server, client), daemon=True).start()
                pass_on(client, server)

    def pass_on(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while content := source.recv(65_536):
                target.sendall(content)
            target.shutdown(socket.SHUT_WR)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Passage) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"https://localhost:{server.server_address[1]}"
        server.shutdown()


def test_a_certificate_counts_if_the_system_or_the_setting_knows_its_authority(
    files: BucketFiles, s3: S3Server, tmp_path: Path
) -> None:
    key, certificate, both = (tmp_path / name for name in ("key.pem", "certificate.pem", "both.pem"))
    command = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    subprocess.run([*command.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    both.write_bytes(key.read_bytes() + certificate.read_bytes())
    with behind_tls(s3, both) as url:
        access = replace(files.access, endpoint=url)
        with pytest.raises(Unavailable, match="SSL"):
            replace(files, access=access).open_root(is_expected=False)
        trusting = replace(files, access=replace(access, ca_file=str(certificate)))
        trusting.open_root(is_expected=False)
        trusting.write(f"{DAY}/part-1.parquet", parquet(1, 2))
        trusting.finish("a")
        assert [file.row_count for file in files.listed_files("a")] == [2]


def test_what_is_wrong_with_a_bucket_is_said_with_a_way_out(files: BucketFiles) -> None:
    with pytest.raises(Unavailable, match="holds no lake"):
        files.listed_files("a")
    files.open_root(is_expected=False)
    with pytest.raises(Unavailable, match=r"lacks .*segment=a/_files.json\. The next run of the pipeline"):
        files.listed_files("a")
    with pytest.raises(Unavailable, match=r"bucket nowhere of the lake does not exist\. Create it"):
        replace(files, root="s3://nowhere/lake").open_root(is_expected=True)
    for wrong in ({"secret_key": "wrong"}, {"key_id": "AKIAUNKNOWN"}):
        with pytest.raises(Unavailable, match=r"Check lake_s3_key_id and `tocsin admin secret lake_s3_secret_key`"):
            replace(files, access=replace(files.access, **wrong)).is_complete("a")
    with pytest.raises(Unavailable, match=r"store it with `tocsin admin secret lake_s3_secret_key`"):
        replace(files, access=replace(files.access, secret_key=None)).open_root(is_expected=True)
    away = replace(files, access=replace(files.access, endpoint="http://127.0.0.1:9"))
    with pytest.raises(Unavailable, match=r"Check lake_s3_endpoint; the next run goes on") as failure:
        away.open_root(is_expected=True)
    assert str(files.access.secret_key) not in str(failure.value)
    assert str(files.access.secret_key) not in repr(files)
