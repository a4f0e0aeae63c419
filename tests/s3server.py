"""A local S3 server for tests, in a process of its own, which knows one access key and fails writes when told to.

It is moto: https://docs.getmoto.org. In this process, a call that keeps Python's lock would wait for itself.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import Any

import httpx

from tocsin.lake_files.port import S3Access

BUCKET = "lakes"
_ALLOW_ALL = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}'
_FULL = b"<Error><Code>XMinioStorageFull</Code><Message>Storage backend has reached its limit.</Message></Error>"


@dataclass(frozen=True)
class S3Server:
    """The server, while it runs."""

    url: str
    access: S3Access

    def keys(self, prefix: str = "") -> list[str]:
        """Return the keys of all objects in the bucket below a prefix."""
        from pyarrow import fs

        client = fs.S3FileSystem(
            access_key=self.access.key_id, secret_key=self.access.secret_key, endpoint_override=self.url
        )
        infos = client.get_file_info(fs.FileSelector(f"{BUCKET}/{prefix}", allow_not_found=True, recursive=True))
        return [info.path.removeprefix(f"{BUCKET}/") for info in infos if info.type == fs.FileType.File]

    @contextmanager
    def full_after(self, count: int) -> Iterator[None]:
        """Let the server take so many objects, and refuse all further ones until the block ends."""
        httpx.post(f"{self.url}/_room", content=str(count)).raise_for_status()
        try:
            yield
        finally:
            httpx.post(f"{self.url}/_room", content="").raise_for_status()


@contextmanager
def running_s3() -> Iterator[S3Server]:
    """Run the server, with an empty bucket, until the block ends."""
    program = [sys.executable, "-W", "ignore", "-m", "tests.s3server"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        program, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            url, key_id, secret_key = json.loads(process.stdout.readline())
            yield S3Server(url, S3Access(url, "us-east-1", key_id, secret_key))
        finally:
            process.kill()
            process.wait()


class _LimitedStorage:
    """Wraps the server: after ``POST /_room`` with a number, so many objects are written, and no more."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self._application, self._room = application, ""

    def __call__(self, environ: dict[str, Any], respond: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/_room":
            self._room = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"] or 0)).decode()
            respond("204 No Content", [])
            return []
        if self._room and environ["REQUEST_METHOD"] == "PUT":
            if int(self._room) <= 0:
                respond("507 Insufficient Storage", [("Content-Type", "application/xml")])
                return [_FULL]
            self._room = str(int(self._room) - 1)
        return self._application(environ, respond)


def _serve() -> None:
    """Start the server with one user and the bucket; print its address and the user's key; serve until input ends."""
    import boto3
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = _LimitedStorage(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True)
    url = f"http://127.0.0.1:{server.server_port}"
    options = {"endpoint_url": url, "region_name": "us-east-1"}
    Thread(target=server.serve_forever, daemon=True).start()
    iam = boto3.client("iam", **options, aws_access_key_id="first", aws_secret_access_key="first")
    iam.create_user(UserName="tocsin")
    iam.put_user_policy(UserName="tocsin", PolicyName="all", PolicyDocument=_ALLOW_ALL)
    key = iam.create_access_key(UserName="tocsin")["AccessKey"]
    login = {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
    httpx.post(f"{url}/moto-api/reset-auth", content=b"0")  # from now on, keys count
    boto3.client("s3", **options, **login).create_bucket(Bucket=BUCKET)
    sys.stdout.write(json.dumps([url, *login.values()]) + "\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    _serve()
