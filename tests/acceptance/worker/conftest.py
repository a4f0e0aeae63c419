"""Fixture of the worker's tests: a worker that pauses for moments where a real one pauses for seconds."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a worker ask soon again: after a failure of the store, and for what it does for the queue."""
    monkeypatch.setattr("tocsin.delivery.worker.deliver.PAUSE_S", 0.2)
    monkeypatch.setattr("tocsin.delivery.worker.attempt.AGAIN_AFTER_S", 0.2)
