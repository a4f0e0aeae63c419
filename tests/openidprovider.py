"""Provider of OpenID Connect on loopback, which misbehaves as a test tells it to."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from joserfc import jws
from joserfc.jwk import RSAKey
from pydantic import SecretStr
from tests.serving import Json

from tocsin.settings import Settings


@cache
def rsa_key(kid: str | None = None) -> RSAKey:
    """Return the key of that id, or one that has none; to make one takes longer than most tests."""
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig"} if kid else None)


@dataclass
class Provider:
    """A provider of OpenID Connect: who logs in, and in which way it misbehaves."""

    url: str = ""
    email: str = "alice@example.org"
    claims: dict[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    forged: bool = False
    header: dict[str, Any] = field(default_factory=dict)
    more_keys: list[Json] = field(default_factory=list)
    instead: bytes = b""
    answers: threading.Event = field(default_factory=threading.Event)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    posted: dict[str, str] = field(default_factory=dict)
    key: Any = field(default_factory=lambda: rsa_key("k1"))
    foreign_key: Any = field(default_factory=rsa_key)

    def metadata(self) -> Json:
        ends = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        return {"issuer": self.url} | {name: f"{self.url}/{path}" for name, path in ends.items()}

    def keys(self) -> Json:
        return {"keys": [*self.more_keys, self.key.as_dict(private=False)]}

    def consent(self, location: str) -> dict[str, str]:
        """Log in at the address that the browser was sent to; return what it comes back with."""
        parameters = {key: values[0] for key, values in parse_qs(urlsplit(location).query).items()}
        code = f"code-{len(self.codes)}"
        self.codes[code] = parameters
        return {"code": code, "state": parameters["state"]}

    def token(self, form: dict[str, str]) -> tuple[int, Json]:
        self.posted = form
        request = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if request is None or request["code_challenge"] != challenge or form.get("client_secret") != "hush":
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {"iss": self.url, "aud": "tocsin", "sub": "42", "iat": now, "exp": now + 60, "nonce": request["nonce"]}
        claims |= {"email": self.email, "email_verified": True, "name": "Alice Liddell", **self.claims}
        claims = {name: value for name, value in claims.items() if name not in self.without}
        header = {"alg": "RS256", "kid": "k1", **self.header}
        id_token = jws.serialize_compact(
            header, json.dumps(claims), self.foreign_key if self.forged else self.key, [header["alg"]]
        )
        return 200, {"id_token": id_token, "access_token": "x", "token_type": "Bearer"}


@pytest.fixture
def provider() -> Iterator[Provider]:
    new_provider = Provider()
    new_provider.answers.set()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            new_provider.answers.wait(20)
            if self.path.startswith("/authorize"):
                self._send_back()
            else:
                self._send(200, new_provider.keys() if self.path == "/keys" else new_provider.metadata())

        def _send_back(self) -> None:
            callback = parse_qs(urlsplit(self.path).query)["redirect_uri"][0]
            self.send_response(302)
            self.send_header("Location", f"{callback}?{urlencode(new_provider.consent(self.path))}")
            self.end_headers()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._send(*new_provider.token({key: values[0] for key, values in parse_qs(body).items()}))

        def log_message(self, *_: object) -> None:
            pass

        def _send(self, status: int, answer: Json) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(new_provider.instead or json.dumps(answer).encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    new_provider.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield new_provider
    new_provider.answers.set()
    server.shutdown()
    thread.join()
    server.server_close()


def settings(provider: Provider, **overrides: Any) -> Settings:
    defaults = {"oidc_issuer": provider.url, "oidc_client_id": "tocsin", "oidc_client_secret": SecretStr("hush")}
    return Settings(log_level="warning", **{**defaults, **overrides})
