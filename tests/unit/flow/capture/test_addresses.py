"""Tests of email address validation."""

from __future__ import annotations

import pytest

from tocsin.errors import InvalidInput
from tocsin.flow.capture.normalize import clean
from tocsin.model.entity_types import ENTITY_TYPES


@pytest.mark.parametrize("email", ["bad", "@example.com", "a@", "a b@example.com", "a@b@c"])
def test_what_is_no_address_is_refused(email: str) -> None:
    with pytest.raises(InvalidInput, match="is not an e-mail address") as refusal:
        clean(ENTITY_TYPES["user"], {"name": "a", "email": email})
    assert refusal.value.field == "email"


def test_an_address_is_taken() -> None:
    assert clean(ENTITY_TYPES["user"], {"name": "a", "email": "a.b+c@example.com"})["email"] == "a.b+c@example.com"
