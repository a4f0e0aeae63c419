"""Tests of masks in place of a destination's secrets in what receivers answer."""

from __future__ import annotations

import json

import pytest

from tocsin.delivery.channels.answer_masks import mask_secrets
from tocsin.delivery.transport.outcome import DETAIL_LIMIT
from tocsin.model.address import MASK
from tocsin.model.subscription import Category, Channel, Destination, DestinationConfig

SECRETS = {
    "path": "T0/B0/path-secret",
    "query": "query secret&=",
    "key": "signing-key-1",
    "older": "signing-key-2",
    "header": 'header "secret"',
    "parameter": "parameter-secret",
    "client": "client-secret",
}


def destination(channel: Channel = Channel.WEBHOOK) -> Destination:
    config = DestinationConfig(
        endpoint=f"https://login-name:login-password@example.org/services/{SECRETS['path']}?a=query%20secret%26%3D",
        secret_key=f"{SECRETS['key']} {SECRETS['older']}",
        headers={"X-Key": SECRETS["header"], "Accept": "text/plain"},
        query_params={"token": SECRETS["parameter"]},
        auth_type={"type": "oauth2", "scope": "some-scope", "clientSecret": SECRETS["client"]},
    )
    return Destination(id="d", category=Category.EXTERNAL, type=channel, config=config)


@pytest.mark.parametrize("secret", sorted(SECRETS))
def test_an_answer_that_repeats_a_secret_is_kept_without_it(secret: str) -> None:
    text = SECRETS[secret].rsplit("/", 1)[-1]
    for answer in (text, f"you sent {text}, thanks", json.dumps({"echo": text})):
        assert text not in mask_secrets(answer, destination())
        assert json.dumps(text)[1:-1] not in mask_secrets(answer, destination())
        assert MASK in mask_secrets(answer, destination())


def test_what_a_body_says_itself_is_secret_but_for_its_keys() -> None:
    body = '{"routing_key": "R0123-key", "text": "Bearer abc {{entity.name}}", "account": 123456, "at": {{event.time}}}'
    hook = destination()
    of_body = hook.model_copy(update={"config": hook.config.model_copy(update={"body_template": body})})
    masked = mask_secrets(
        '{"routing_key": "R0123-key", "text": "Bearer abc orders", "account": 123456, "at": 7}', of_body
    )
    assert masked == f'{{"routing_key": "{MASK}", "text": "{MASK} orders", "account": {MASK}, "at": 7}}'


def test_the_login_of_an_address_and_its_encoded_query_are_secret() -> None:
    masked = mask_secrets("login-name login-password query+secret%26%3D query%20secret%26%3D", destination())
    assert masked == " ".join([MASK] * 4)


def test_the_address_of_a_chat_is_secret() -> None:
    assert mask_secrets("no_service: path-secret", destination(Channel.SLACK)) == f"no_service: {MASK}"


@pytest.mark.parametrize("text", ["", "ok", "text/plain", "some-scope", "services", "invalid_payload", "500 Oops"])
def test_what_is_no_secret_stays(text: str) -> None:
    assert mask_secrets(text, destination()) == text


def test_a_secret_that_was_cut_off_is_masked_as_well() -> None:
    cut_text = ("x" * (DETAIL_LIMIT - 8)) + "client-s"
    assert mask_secrets(cut_text, destination()) == "x" * (DETAIL_LIMIT - 8) + MASK
