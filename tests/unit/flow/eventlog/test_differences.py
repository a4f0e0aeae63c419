"""Tests of differences to a snapshot: they give back every text, are small, and notice damage and another snapshot."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.flow.eventlog.differences import (
    DamagedText,
    TextReader,
    apply_difference,
    compress_snapshot,
    decompress_snapshot,
    difference,
)

_TEXTS = st.binary(min_size=1, max_size=200).flatmap(lambda part: st.integers(1, 400).map(lambda times: part * times))
_LEAST = b"0" * 1024  # a window holds at least so much


def _random_text(seed: int, length: int = 100_000) -> bytes:
    return bytes(random.Random(seed).choices(b"abcdefghijklmnopqrstuvwxyz ", k=length))


@given(_TEXTS, _TEXTS)
def test_a_difference_gives_back_its_text(text: bytes, snapshot: bytes) -> None:
    text, snapshot = text + _LEAST, snapshot + _LEAST
    assert apply_difference(difference(text, snapshot), snapshot) == text
    assert decompress_snapshot(compress_snapshot(snapshot)) == snapshot


def test_a_changed_word_anywhere_costs_a_few_bytes() -> None:
    snapshot = _random_text(1, 2_500_000)
    for at in (0, 1_250_000, 2_499_990):
        text = snapshot[:at] + b"changed" + snapshot[at + 5 :]
        assert len(difference(text, snapshot)) < 1_000


@pytest.mark.parametrize("wrong_snapshot", [_random_text(2), _random_text(1)[:-1] + b"!"], ids=["other", "similar"])
def test_another_snapshot_is_noticed(wrong_snapshot: bytes) -> None:
    snapshot = _random_text(1)
    with pytest.raises(DamagedText):
        apply_difference(difference(snapshot[:50_000] + b"?" + snapshot[50_000:], snapshot), wrong_snapshot)


def test_damage_is_noticed() -> None:
    snapshot = _random_text(1)
    intact = difference(snapshot + b"more", snapshot)
    for damaged in (b"", intact[:-1], intact[:-1] + bytes([intact[-1] ^ 1])):
        with pytest.raises(DamagedText):
            apply_difference(damaged, snapshot)


def test_a_reader_returns_what_is_stored_as_it_is_without_a_look_up() -> None:
    assert TextReader(_no_snapshot).text("as it is", None, None) == "as it is"


def test_a_reader_looks_up_a_snapshot_once() -> None:
    snapshots, snapshot_ids = {1: _random_text(1), 2: _random_text(2)}, list[int]()

    def content_of(snapshot_id: int) -> bytes:
        snapshot_ids.append(snapshot_id)
        return compress_snapshot(snapshots[snapshot_id])

    reader = TextReader(content_of)
    for snapshot_id in (1, 2, 1, 1, 2):
        text = snapshots[snapshot_id] + b"more"
        assert reader.text("", snapshot_id, difference(text, snapshots[snapshot_id])) == text.decode()
    assert snapshot_ids == [1, 2]


def test_a_reader_keeps_a_bounded_number_of_bytes() -> None:
    snapshot, snapshot_ids = b"x" * (20 * 2**20), list[int]()

    def content_of(snapshot_id: int) -> bytes:
        snapshot_ids.append(snapshot_id)
        return compress_snapshot(snapshot)

    reader, change = TextReader(content_of), difference(snapshot, snapshot)
    for snapshot_id in (1, 1, 2, 1):
        reader.text("", snapshot_id, change)
    assert snapshot_ids == [1, 2, 1]


def test_a_snapshot_that_is_missing_is_an_error() -> None:
    with pytest.raises(LookupError, match="no snapshot 7"):
        TextReader(_no_snapshot).text("", 7, b"")


def _no_snapshot(_snapshot_id: int) -> None:
    return None
