"""Commands ``tocsin addresses …``: own addresses of a person or team, set, verified with a code, and removed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from tocsin.cli.assets import find_user
from tocsin.cli.output import AsJson, moment_text, printable, show_rows, show_text
from tocsin.cli.own_zone import own_zone
from tocsin.client import Client
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document

app = typer.Typer(
    no_args_is_help=True, help="Set and verify where your chat and webhook messages go, or those of a team."
)

_CHANNELS = {"slack": "Slack", "msteams": "MsTeams", "gchat": "GChat", "webhook": "Webhook"}

OfChannel = Annotated[str, typer.Argument(metavar="CHANNEL", help="slack, msTeams, gchat or webhook.")]
OfTeam = Annotated[
    str | None, typer.Option("--team", metavar="TEAM", help="The address of a team that you own, not your own.")
]


@app.command("list")
def list_addresses(*, team: OfTeam = None, as_json: AsJson = False) -> None:
    """List your addresses, without their secrets, and whether they are verified."""
    with Client() as client:
        answer = client.own_addresses(_holder_id(client, team))
        zone = own_zone(client, is_shown=not as_json)
    show_rows(_rows(answer["data"], zone), answer=answer["data"], as_json=as_json)


@app.command("set")
def set_address(
    channel: OfChannel,
    endpoint: Annotated[
        str | None, typer.Argument(metavar="URL", help="Where to send; without it you type it.")
    ] = None,
    *,
    signed: Annotated[
        bool, typer.Option("--signed", help="Sign messages to a webhook, with a secret you type.")
    ] = False,
    team: OfTeam = None,
    as_json: AsJson = False,
) -> None:
    """Set an address, and send a code there: nothing else is sent until you have entered it.

    Example: tocsin addresses set slack https://hooks.slack.com/services/…
    """
    name = _channel(channel)
    address: Document = {"endpoint": endpoint or typer.prompt("Address", hide_input=True)}
    if signed:
        secret = typer.prompt("Secret", hide_input=True, confirmation_prompt=True)
        address["authType"] = {"type": "bearer", "secretKey": secret}
    with Client() as client:
        holder_id = _holder_id(client, team)
        client.set_own_address(holder_id, name, address)
        _send(client, (holder_id, channel, team), as_json=as_json)


@app.command("code")
def send_code(channel: OfChannel, *, team: OfTeam = None, as_json: AsJson = False) -> None:
    """Send a new code to an address; it ends the one before."""
    _channel(channel)
    with Client() as client:
        _send(client, (_holder_id(client, team), channel, team), as_json=as_json)


@app.command()
def verify(
    channel: OfChannel,
    code: Annotated[str, typer.Argument(metavar="CODE", help="The code in the message, such as 7KQM-X2TB-WH4C.")],
    *,
    team: OfTeam = None,
    as_json: AsJson = False,
) -> None:
    """Verify an address with the code that was sent there: messages go there from then on."""
    with Client() as client:
        answer = client.verify_own_address(_holder_id(client, team), _channel(channel), code)
    text = f"Verified: {answer['channel']} messages go to {answer['address']}."
    show_text(printable(text), answer=answer, as_json=as_json)


@app.command()
def remove(channel: OfChannel, *, team: OfTeam = None, as_json: AsJson = False) -> None:
    """Remove an address: nothing is sent there any more."""
    with Client() as client:
        answer = client.remove_own_address(_holder_id(client, team), _channel(channel))
    show_text(f"Removed: {_channel(channel)} messages go nowhere.", answer=answer["data"], as_json=as_json)


def _channel(word: str) -> str:
    """Return the channel of the API that a word on the command line means."""
    if word.lower() not in _CHANNELS:
        raise InvalidInput(f"CHANNEL must be slack, msTeams, gchat or webhook, not {word!r}.", field="channel")
    return _CHANNELS[word.lower()]


def _holder_id(client: Client, team: str | None) -> str:
    return client.get_by_name("team", team).id if team else find_user(client, None).id


def _send(client: Client, place: tuple[str, str, str | None], *, as_json: bool) -> None:
    """Send a code, and say how to enter it, or why it was not sent."""
    holder_id, channel, team = place
    answer = client.send_address_code(holder_id, _channel(channel))
    status = answer["statusDetails"]
    option = f' --team "{team}"' if team else ""
    if status["status"] == "Success":
        text = f"A code was sent to {answer['address']['address']}. Enter it within 15 minutes:\n"
        text += f"tocsin addresses verify {channel}{option} CODE"
    else:
        reason = status.get("reason", "failed")
        code = f", status {status['statusCode']}" if "statusCode" in status else ""
        text = f"No code arrived at {answer['address']['address']} ({reason}{code}). The address is not verified.\n"
        text += f"Set another, or try again: tocsin addresses code {channel}{option}"
    show_text("\n".join(map(printable, text.splitlines())), answer=answer, as_json=as_json)


def _rows(addresses: list[Document], zone: str) -> Iterator[Document]:
    for address in addresses:
        setter = address["setBy"]
        at_ms = address["verifiedAt"]
        yield {
            "channel": address["channel"],
            "address": printable(address["address"]),
            "state": address["state"],
            "since": "" if at_ms is None else moment_text(at_ms, zone),
            "set by": "" if setter is None else printable(str(setter.get("name"))),
        }
