"""Fixtures that several folders share: the run's broker, and the wheel.

They stand here because a fixture that is imported into a module is made anew for that module.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tocsin.cli.ports import any_free_port

if TYPE_CHECKING:
    from tests.kafka import Kafka

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    words = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("tocsin-*.whl")
    return built


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory, sasl_port: int, certificate: Path) -> Iterator[Kafka]:
    """The run's broker: at ``sasl_port`` a password and rights are needed, at its other port everybody may do all."""
    from tests.kafka import guard_settings, running_kafka  # here, so that only tests of it import its client

    with running_kafka(tmp_path_factory.mktemp("kafka"), guard_settings(sasl_port, certificate)) as running:
        yield running


@pytest.fixture(scope="session")
def sasl_port() -> int:
    return any_free_port()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a key and the certificate of 127.0.0.1, which signed itself; ``public.pem`` is that alone."""
    folder = tmp_path_factory.mktemp("certificate")
    file, public = folder / "broker.pem", folder / "public.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    words += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(file), "-out", str(public)]
    subprocess.run(words, check=True, capture_output=True)
    file.write_text(file.read_text() + public.read_text())
    return file
