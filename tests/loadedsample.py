"""The sample company for tests that look at it, loaded once and copied: to load it takes longer than most tests."""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr
from tests.serving import KEY

from tocsin.sample.load import load
from tocsin.settings import Settings
from tocsin.store.database.engine import open_engine
from tocsin.store.database.vault import use_vault

NOW_MS = 1_795_780_800_000
"""The end of the sample's year: a Friday at noon, for what changes in a week differs from week to week."""
RECEIVER_PORT = 11241
LOOPBACK = Settings(egress_allow=("127.0.0.0/8",))


def load_sample(path: Path) -> None:
    """Load the sample into the migrated, empty SQLite file at ``path``, which nobody has started yet."""
    engine = open_engine(f"sqlite:///{path}", synchronous="OFF")
    use_vault(engine, Settings(secrets_key=SecretStr(KEY)))
    load(engine, LOOPBACK, now_ms=NOW_MS, receiver_port=RECEIVER_PORT)
    engine.dispose()  # the last to let go of it leaves everything in the one file
