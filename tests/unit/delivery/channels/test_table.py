"""Tests of the table of channels: every row is whole, and reading it loads nothing that connects."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tocsin.delivery.channels.channel_type import ChannelType
from tocsin.delivery.channels.masking import split_secrets
from tocsin.delivery.channels.senders import SENDERS
from tocsin.delivery.channels.table import CHANNELS, UNSENT, phrase_of
from tocsin.errors import InvalidInput
from tocsin.model.channels import GATHERINGS
from tocsin.model.subscription import Category, Channel, Destination, DestinationConfig

SENT = [CHANNELS[channel] for channel in SENDERS if Category.EXTERNAL in CHANNELS[channel].categories]


def test_reading_the_table_loads_no_library_that_connects() -> None:
    program = (
        "import sys, tocsin.delivery.channels.table;"
        "print(sorted({'aiohttp', 'aiosmtplib', 'jinja2'} & sys.modules.keys()))"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"


@pytest.mark.parametrize("row", CHANNELS.values(), ids=list(CHANNELS))
def test_every_row_is_whole(row: ChannelType) -> None:
    assert CHANNELS[row.channel] is row
    assert row.categories
    assert phrase_of(row.channel.value) == row.phrase
    keys = {field.alias or name for name, field in DestinationConfig.model_fields.items()}
    assert {key for key, _ in row.secret_maps} | set(row.secret_texts) <= keys, (
        "a secret of no known key is never masked"
    )


@pytest.mark.parametrize("row", SENT, ids=[one.channel.value for one in SENT])
def test_what_is_sent_to_nowhere_is_refused(row: ChannelType) -> None:
    nowhere = Destination(id="d", category=Category.EXTERNAL, type=row.channel)
    with pytest.raises(InvalidInput) as refused:
        row.check(nowhere, "destinations[0].config")
    assert (refused.value.field or "").startswith("destinations[0].config.")


def test_every_secret_of_every_channel_is_masked() -> None:
    maps = {key: {"x-any": "s3cret"} for one in CHANNELS.values() for key, _ in one.secret_maps}
    texts = {key: "s3cret" for one in CHANNELS.values() for key in one.secret_texts}
    endpoint = "https://receiver.example.org/v1/spaces/s3cret/messages?key=s3cret"
    masked, secrets = split_secrets({"endpoint": endpoint, **maps, **texts}, {})
    assert "s3cret" not in str(masked)
    assert secrets == {"endpoint": endpoint, **maps, **texts}


def test_a_channel_without_a_row_is_called_by_its_name() -> None:
    assert phrase_of("Pigeon") == "Pigeon"


def test_every_channel_has_a_row_and_a_sender_or_none() -> None:
    assert set(CHANNELS) == set(Channel)
    assert set(SENDERS) == set(Channel) - UNSENT
    assert set(GATHERINGS) == set(Channel)


@pytest.mark.parametrize("name", ["Host", "content-length", "Transfer-Encoding", "Webhook-Id", "X-OM-Signature"])
def test_a_header_that_requests_set_themselves_is_refused(name: str) -> None:
    config = DestinationConfig(endpoint="https://example.org/hook", headers={"X-Mine": "1", name: "1"})
    destination = Destination(id="d", category=Category.EXTERNAL, type=Channel.WEBHOOK, config=config)
    with pytest.raises(InvalidInput, match="would have no effect; remove it") as refused:
        CHANNELS[Channel.WEBHOOK].check(destination, "destinations[0].config")
    assert refused.value.field == f"destinations[0].config.headers.{name}"
