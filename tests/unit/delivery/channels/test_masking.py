"""Tests of masks: secrets of a destination are removed before storing and restored for sending."""

from __future__ import annotations

import pytest

from tocsin.delivery.channels.masking import holds_mask, split_secrets, with_secrets
from tocsin.errors import InvalidInput, StaleSecrets
from tocsin.model.address import MASK
from tocsin.model.entity import Document

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
    "queryParams": {"token": MASK, "page": MASK},
    "authType": {"type": "bearer", "secretKey": MASK},
}


def test_secrets_go_and_come_back() -> None:
    masked, secrets = split_secrets(CONFIG, {})
    assert masked == MASKED
    assert with_secrets(masked, secrets) == CONFIG


def test_a_mask_keeps_what_is_known_and_a_new_secret_replaces_it() -> None:
    _, secrets = split_secrets(CONFIG, {})
    masked, again = split_secrets({**MASKED, "secretKey": "new"}, secrets)
    assert masked == MASKED
    assert with_secrets(masked, again) == {**CONFIG, "secretKey": "new"}


def test_what_is_left_out_is_forgotten() -> None:
    _, secrets = split_secrets(CONFIG, {})
    _, fewer = split_secrets({"endpoint": CONFIG["endpoint"], "headers": {"Authorization": MASK}}, secrets)
    assert fewer == {"endpoint": CONFIG["endpoint"], "headers": {"Authorization": "Bearer t"}}


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://EXAMPLE.org:443/hook",
        "https://example.org./hook",
        "https://example.org/elsewhere",
        "https://u:p@example.org/hook",
    ],
)
def test_a_mask_keeps_its_secret_while_scheme_host_and_port_stay(endpoint: str) -> None:
    _, secrets = split_secrets(CONFIG, {})
    masked, again = split_secrets({**MASKED, "endpoint": endpoint}, secrets)
    assert again == {**secrets, "endpoint": endpoint}
    assert with_secrets(masked, again) == {**CONFIG, "endpoint": endpoint}


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://evil.example/hook",
        "http://example.org/hook",
        "https://example.org:8443/hook",
        "https://example.org@evil.example/hook",
        "https://example.org:x@evil.example/hook",
        "https://evil.example\\@example.org/hook",
        "https://example.org.evil.example/hook",
        "https://exam\u0440le.org/hook",
        None,
    ],
)
def test_a_mask_keeps_nothing_for_another_receiver(endpoint: str | None) -> None:
    _, secrets = split_secrets(CONFIG, {})
    with pytest.raises(InvalidInput, match="send the secret again"):
        split_secrets({**MASKED, "endpoint": endpoint}, secrets)
    masked, fresh = split_secrets({**CONFIG, "endpoint": endpoint}, secrets)
    assert (fresh["secretKey"], masked["secretKey"]) == ("k", MASK), "given again, all may change"


HOOK = "https://u:pw@hooks.slack.com/services/T0/B0/pathtoken?sig=signed#f"
SHOWN = f"https://{MASK}@hooks.slack.com/services/{MASK}?{MASK}#{MASK}"


def test_of_an_address_its_login_its_token_and_its_signature_are_secret() -> None:
    masked, secrets = split_secrets({"endpoint": HOOK}, {})
    assert (masked, secrets) == ({"endpoint": SHOWN}, {"endpoint": HOOK})
    assert split_secrets(masked, secrets) == (masked, secrets), "what was read may be sent back"
    assert with_secrets(masked, secrets) == {"endpoint": HOOK}
    for other_endpoint in (SHOWN.replace("slack.com", "evil.example"), SHOWN.replace("/services", "/api")):
        with pytest.raises(InvalidInput, match="full address"):
            split_secrets({"endpoint": other_endpoint}, secrets)
    with pytest.raises(InvalidInput, match="full address"):
        split_secrets({"endpoint": SHOWN}, {})


def test_secrets_of_one_address_are_never_sent_to_another() -> None:
    """An alert and its secrets are written one after the other; somebody may send in between."""
    masked, secrets = split_secrets(CONFIG, {})
    for endpoint in ("https://evil.example/hook", None):
        with pytest.raises(StaleSecrets):
            with_secrets({**masked, "endpoint": endpoint}, secrets)
    with pytest.raises(StaleSecrets):
        with_secrets({"endpoint": SHOWN}, {})


def test_a_mask_among_other_text_is_no_secret() -> None:
    _, secrets = split_secrets(CONFIG, {})
    with pytest.raises(InvalidInput, match="full secret"):
        split_secrets({**MASKED, "headers": {"Authorization": f"Bearer {MASK}"}}, secrets)


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
    assert holds_mask({**CONFIG, "endpoint": SHOWN})


def test_config_that_is_no_config_passes_untouched() -> None:
    odd: Document = {"secretKey": 7, "headers": "none", "queryParams": None, "authType": []}
    assert split_secrets(odd, {}) == (odd, {})
