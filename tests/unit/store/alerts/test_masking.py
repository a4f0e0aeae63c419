"""Does every secret leave before the entity is made, and only secrets?"""

from __future__ import annotations

import pytest

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.store.alerts.masking import MASK, holds_mask, split_secrets, with_secrets

CONFIG: Document = {
    "endpoint": "https://example.org/hook",
    "secretKey": "k",
    "headers": {"Authorization": "Bearer t", "X-Api-Key": "a", "Cookie": "c", "Content-Type": "application/json"},
    "queryParams": {"token": "q", "page": "1"},
    "authType": {"type": "bearer", "secretKey": "b"},
    "httpMethod": "PUT",
}
MASKED: Document = {
    **CONFIG,
    "secretKey": MASK,
    "headers": {"Authorization": MASK, "X-Api-Key": MASK, "Cookie": MASK, "Content-Type": "application/json"},
    "queryParams": {"token": MASK, "page": "1"},
    "authType": {"type": "bearer", "secretKey": MASK},
}


def test_secrets_go_and_come_back() -> None:
    masked, kept = split_secrets(CONFIG, {})
    assert masked == MASKED
    assert with_secrets(masked, kept) == CONFIG


def test_a_mask_keeps_what_is_known_and_a_new_secret_replaces_it() -> None:
    _, kept = split_secrets(CONFIG, {})
    masked, again = split_secrets({**MASKED, "secretKey": "new"}, kept)
    assert masked == MASKED
    assert with_secrets(masked, again) == {**CONFIG, "secretKey": "new"}


def test_what_is_left_out_is_forgotten() -> None:
    _, kept = split_secrets(CONFIG, {})
    _, fewer = split_secrets({"endpoint": "x", "headers": {"Authorization": MASK}}, kept)
    assert fewer == {"headers": {"Authorization": "Bearer t"}}


@pytest.mark.parametrize(
    ("config", "place"),
    [
        ({"secretKey": MASK}, "secretKey"),
        ({"headers": {"Authorization": MASK}}, "headers.Authorization"),
        ({"authType": {"secretKey": MASK}}, "authType.secretKey"),
    ],
)
def test_a_mask_over_nothing_is_refused(config: Document, place: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        split_secrets(config, {})
    assert caught.value.field == place


def test_only_where_a_mask_stands_has_the_secret_to_be_known() -> None:
    assert not holds_mask(CONFIG)
    assert holds_mask({**CONFIG, "headers": {"Authorization": MASK}})
    assert not holds_mask({**CONFIG, "endpoint": MASK})


def test_a_place_where_a_token_is_fetched_is_no_secret() -> None:
    config = {"authType": {"type": "oauth2", "tokenUrl": "https://example.org/token", "clientSecret": "s"}}
    masked, _ = split_secrets(config, {})
    assert masked["authType"] == {"type": "oauth2", "tokenUrl": "https://example.org/token", "clientSecret": MASK}


def test_config_that_is_no_config_passes_untouched() -> None:
    odd: Document = {"secretKey": 7, "headers": "none", "queryParams": None, "authType": []}
    assert split_secrets(odd, {}) == (odd, {})
