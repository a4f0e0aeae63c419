"""Test of masked profiles."""

from __future__ import annotations

from tocsin.server.access.samples import masked_profile


def test_a_masked_profile_keeps_its_counts() -> None:
    profile = {"name": "email", "timestamp": 1, "min": "a", "max": "z", "nullCount": 3, "uniqueCount": 9}
    assert masked_profile(profile) == {"name": "email", "timestamp": 1, "nullCount": 3, "uniqueCount": 9}
