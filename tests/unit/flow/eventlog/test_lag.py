"""Tests of when a lag is exceeded, when it has recovered, and since when it grows."""

from __future__ import annotations

from tocsin.flow.eventlog.lag import LagLimits, LagState, ReaderKind, ReaderLag, state_after

LIMITS = LagLimits(100, {"slow": 1_000, "unwatched": 0}, {"lake": 7_200_000})


def lag(count: int, reader: str = "match_stream", oldest_ms: int | None = 0) -> ReaderLag:
    return ReaderLag(reader, ReaderKind.QUERY, count, oldest_ms=oldest_ms)


def is_exceeded(before_count: int, count: int, *, since_ms: int | None = None, reader: str = "match_stream") -> bool:
    before = LagState(before_count, 0, exceeded_since_ms=since_ms)
    return LIMITS.is_exceeded(lag(count, reader), before, 10_000)


def test_a_lag_is_exceeded_once_it_is_over_the_limit_twice_in_a_row() -> None:
    assert is_exceeded(101, 101)
    assert not is_exceeded(100, 5_000), "a burst"
    assert not is_exceeded(5_000, 100)
    assert not LIMITS.is_exceeded(lag(5_000), None, 10_000), "the first measurement"


def test_it_has_recovered_at_half_of_the_limit() -> None:
    assert is_exceeded(101, 51, since_ms=1)
    assert not is_exceeded(101, 50, since_ms=1)


def test_readers_have_limits_of_their_own_and_zero_is_none() -> None:
    assert not is_exceeded(1_000, 1_000, reader="slow")
    assert is_exceeded(1_001, 1_001, reader="slow")
    assert not is_exceeded(10**9, 10**9, reader="unwatched")
    assert not is_exceeded(10**9, 10**9, reader="unwatched", since_ms=1)


def test_a_reader_at_intervals_may_have_as_much_to_read_as_comes_in_two_of_them() -> None:
    before = LagState(10**6, 0)
    assert not LIMITS.is_exceeded(lag(10**6, "lake"), before, 7_199_999)
    assert LIMITS.is_exceeded(lag(10**6, "lake"), before, 7_200_000)


def test_a_lag_grows_from_the_last_measurement_that_it_was_not_above_until_it_shrinks() -> None:
    state = None
    grown = []
    for now_ms, count in enumerate((0, 0, 5, 9, 9, 8, 8, 9, 0, 0, 3)):
        state = state_after(lag(count), state, now_ms)
        grown.append(state.growing_since_ms)
    assert grown == [None, None, 1, 1, 1, None, None, 6, None, None, 9]


def test_the_age_of_the_oldest_unread_event_is_never_negative() -> None:
    assert lag(1, oldest_ms=4_000).seconds(10_000) == 6.0
    assert lag(1, oldest_ms=11_000).seconds(10_000) == 0.0
    assert lag(0, oldest_ms=None).seconds(10_000) == 0.0
