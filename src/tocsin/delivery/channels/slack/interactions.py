"""Slack's interactivity: buttons in messages of bots, and the requests that Slack makes when a person presses one.

A button carries a signed token of ours, so a request names the message that it is about; Slack signs the request with
the app's signing secret. Source: Slack's "Handling user interaction" (``block_actions``) and "Verifying requests from
Slack". Next: ``server/routes/notifications/slack_interactions.py``.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import orjson

from tocsin.errors import InvalidInput

LONGEST_DIFFERENCE_S = 300
"""So far may the time of a request be from ours."""

MEMBER = re.compile(r"[UW][A-Z0-9]{1,30}")
"""An id that Slack gives a member."""

MESSAGE_BYTES = 8_000
"""Most bytes of a message with buttons: a request repeats it, URL-encoded, and must fit into a body without log-in."""

_VERSION = "v0"
_LONGEST_TOKEN = 300
_HOSTS = (".slack.com", ".slack-gov.com")
Block = dict[str, Any]  # Any: a JSON value


class ActionButton(NamedTuple):
    """A button: what it is called within its message, its text, and the token of what it does."""

    name: str
    text: str
    token: str


class ButtonPress(NamedTuple):
    """A button that a member has pressed, and where to answer them; empty for nowhere."""

    token: str
    member: str
    response_url: str = ""


class Signed(NamedTuple):
    """A request as it came: its body, and what its headers say of its time and signature."""

    body: bytes
    timestamp: str
    signature: str


def buttons_block(choices: Sequence[ActionButton]) -> Block:
    """Return the block of these buttons."""
    return {
        "type": "actions",
        "elements": [
            {
                "type": "button",
                "action_id": button.name,
                "text": {"type": "plain_text", "text": button.text, "emoji": False},
                "value": button.token,
            }
            for button in choices
        ],
    }


def is_genuine(signed: Signed, secret: str) -> bool:
    """Return whether Slack has signed a request with this secret, at any time."""
    if not re.fullmatch(r"[0-9]{1,12}", signed.timestamp, re.ASCII):
        return False
    return hmac.compare_digest(signature_of(signed, secret).encode(), signed.signature.encode())


def is_recent(genuine: Signed, *, now_ms: int) -> bool:
    """Return whether Slack signed a genuine request a moment ago: others may be sent again by who has seen them."""
    return abs(now_ms / 1000 - int(genuine.timestamp)) <= LONGEST_DIFFERENCE_S


def signature_of(signed: Signed, secret: str) -> str:
    """Return the signature that Slack gives a request."""
    signed_text = b":".join((_VERSION.encode(), signed.timestamp.encode(), signed.body))
    return f"{_VERSION}={hmac.new(secret.encode(), signed_text, hashlib.sha256).hexdigest()}"


def press_in(body: bytes) -> ButtonPress:
    """Return what a request says.

    Raises
    ------
    InvalidInput : it is not the form that Slack sends when a person presses a button of ours
    """
    payload = _payload(body)
    if payload.get("type") != "block_actions":
        raise InvalidInput("must be block_actions: buttons are all that messages have", field="payload.type")
    actions, user = payload.get("actions"), payload.get("user")
    action = actions[0] if isinstance(actions, list) and actions else None
    token = action.get("value") if isinstance(action, dict) else None
    if not isinstance(token, str) or not 0 < len(token) <= _LONGEST_TOKEN:
        raise InvalidInput("must be the value of a button of a message", field="payload.actions[0].value")
    member = user.get("id") if isinstance(user, dict) else None
    if not isinstance(member, str) or not MEMBER.fullmatch(member):
        raise InvalidInput("must be the id of a member", field="payload.user.id")
    response_url = payload.get("response_url")
    return ButtonPress(token, member, response_url if isinstance(response_url, str) else "")


def _payload(body: bytes) -> dict[str, Any]:  # Any: a JSON value
    try:
        form = parse_qs(body.decode("ascii"), max_num_fields=10, errors="strict")
        payload = orjson.loads(form["payload"][0])
    except (ValueError, KeyError) as error:
        raise InvalidInput(
            "The body must be a form whose field payload is JSON, as Slack's interactivity sends it."
        ) from error
    if not isinstance(payload, dict):
        raise InvalidInput("must be a JSON object", field="payload")
    return payload


def is_of_slack(url: str, api_url: str) -> bool:
    """Return whether an address to answer to is Slack's: of its hosts, or of the one where its API is."""
    try:
        address, api = urlsplit(url), urlsplit(api_url)
    except ValueError:
        return False
    is_api = (address.scheme, address.netloc) == (api.scheme, api.netloc)
    return is_api or (address.scheme == "https" and (address.hostname or "").endswith(_HOSTS))


def ephemeral(text: str) -> bytes:
    """Return the JSON of an answer that only the member who pressed the button sees."""
    escaped = escape(text, quote=False)
    return orjson.dumps({"response_type": "ephemeral", "replace_original": False, "text": escaped})
