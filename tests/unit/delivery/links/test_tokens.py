"""Signed tokens: what they hold comes back, and nothing that was changed or signed for something else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tocsin.delivery.links.tokens import about_of, sign_token

_KEY = b"0123456789abcdef"
_ABOUT = st.text(max_size=40)


@given(about=_ABOUT)
def test_a_token_gives_back_what_it_is_about(about: str) -> None:
    assert about_of("mute", sign_token("mute", about, _KEY), _KEY) == about


@given(about=_ABOUT)
def test_a_token_for_one_purpose_or_key_is_nothing_for_another(about: str) -> None:
    token = sign_token("mute", about, _KEY)
    assert about_of("acknowledge", token, _KEY) is None
    assert about_of("mute", token, b"another key") is None


@given(about=_ABOUT, altered=_ABOUT)
def test_a_changed_token_is_refused(about: str, altered: str) -> None:
    signature = sign_token("mute", about, _KEY).rpartition(".")[2]
    assert about_of("mute", f"{altered}.{signature}", _KEY) == (about if altered == about else None)


def test_what_is_no_token_is_refused() -> None:
    for text in ("", ".", "é", "a.é"):
        assert about_of("mute", text, _KEY) is None
