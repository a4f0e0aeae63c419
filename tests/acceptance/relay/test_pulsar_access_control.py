"""Test of the relay at a Pulsar with TLS, tokens and access control: a token of the store, the rights of the docs."""

from __future__ import annotations

import base64
from collections.abc import Iterator, MutableMapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey
from tests.acceptance.relay.conftest import NEEDS_JAVA, new_office, reasons_in, wait_until_relayed
from tests.pulsarbroker import Pulsar, offsets_of, running_pulsar
from tests.waiting import until

from tocsin.cli.ports import any_free_port
from tocsin.settings import Settings
from tocsin.store.upkeep.stored_settings import store_secret

KEY = b"a key of thirty-two bytes at least"
_NAMESPACE = "namespaces/public/default/permissions/relay"

pytestmark = [
    NEEDS_JAVA,
    pytest.mark.slow,
    pytest.mark.soak,
    pytest.mark.xdist_group("pulsar"),
    pytest.mark.timeout(900),
]


def token_of(role: str, key: bytes = KEY) -> str:
    return jwt.encode({"alg": "HS256"}, {"sub": role}, OctKey.import_key(key))


@pytest.fixture
def tls_port() -> int:
    return any_free_port()


@pytest.fixture
def guarded_pulsar(tmp_path_factory: pytest.TempPathFactory, tls_port: int, certificate: Path) -> Iterator[Pulsar]:
    """A broker where the tests may do everything and the relay, at another port, nothing yet."""
    settings = {
        "brokerServicePortTls": str(tls_port),
        "tlsCertificateFilePath": str(certificate.with_name("public.pem")),
        "tlsKeyFilePath": str(certificate),
        "tlsTrustCertsFilePath": str(certificate.with_name("public.pem")),
        "authenticationEnabled": "true",
        "authorizationEnabled": "true",
        "authenticationProviders": "org.apache.pulsar.broker.authentication.AuthenticationProviderToken",
        "tokenSecretKey": f"data:;base64,{base64.b64encode(KEY).decode()}",
        "superUserRoles": "tests",
        "brokerClientAuthenticationPlugin": "org.apache.pulsar.client.impl.auth.AuthenticationToken",
        "brokerClientAuthenticationParameters": f"token:{token_of('tests')}",
    }
    with running_pulsar(tmp_path_factory.mktemp("pulsar"), settings, token_of("tests")) as broker:
        yield broker


def test_the_rights_of_the_page_are_enough_and_the_token_comes_from_the_store(
    guarded_pulsar: Pulsar,
    tls_port: int,
    certificate: Path,
    tmp_path: Path,
    relay_log: list[MutableMapping[str, Any]],
) -> None:
    token = token_of("relay")
    with ExitStack() as stack:
        office = new_office(stack, tmp_path, Settings(pulsar_url=f"pulsar+ssl://127.0.0.1:{tls_port}"))
        guarded_pulsar.subscribe(office.topic)
        office.describe(3)
        authority = {"pulsar_ca_file": certificate.with_name("public.pem")}
        store_secret(office.engine, "pulsar_token", token_of("relay", b"another key of thirty-two bytes"))
        with office.relaying(**authority):
            until(lambda: "refuses the token" in reasons_in(relay_log), within_s=60)
        store_secret(office.engine, "pulsar_token", token)
        with office.relaying():  # by an authority that the system does not know
            until(lambda: "cannot be reached" in reasons_in(relay_log), within_s=60)
        with office.relaying(**authority):
            until(lambda: "lacks the right" in reasons_in(relay_log), within_s=60)
            guarded_pulsar.ask("POST", _NAMESPACE, ["produce", "consume"]).raise_for_status()
            wait_until_relayed(office)
        messages = guarded_pulsar.read(office.topic)
        assert len(set(offsets_of(messages))) == len(messages) >= 3
        assert token not in str(relay_log)
