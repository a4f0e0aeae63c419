"""Templates of webhooks: body, values of headers and queries, and address, filled in with an event.

What fails is left out and said: of a body the default one is sent, a header or parameter is omitted, an address ends
before its first template. Host and port are never filled in. Next: ``delivery/templates/render.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import quote

import orjson

from tocsin.delivery.channels.webhook.render import LIMIT_BYTES
from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.lines import clean_line
from tocsin.delivery.templates.accounts import TemplateAccounts
from tocsin.delivery.templates.budget import LIMITS, Budget, RenderLimits
from tocsin.delivery.templates.message_text import MessagePlace, context_of
from tocsin.delivery.templates.parse import parse
from tocsin.delivery.templates.render import Context, render_text
from tocsin.delivery.templates.rich_text import plain_of
from tocsin.errors import InvalidInput, InvalidTemplate
from tocsin.model.entity import Document
from tocsin.model.subscription import Channel, DestinationConfig

_LINES = RenderLimits(steps=5_000, written_chars=2_048, made_chars=100_000, seconds=0.5)
_MESSAGE = RenderLimits(steps=LIMITS.steps, seconds=3.0)
_VALUE_LIMIT = 500
_OPEN = "{{"
_ADDRESS = re.compile(r"(?P<origin>[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*)(?P<rest>.*)", re.DOTALL)
_NAME = re.compile(r"\{\{[A-Za-z@][A-Za-z0-9_.@]*\}\}")
Shown = Callable[[str], str]


@dataclass(frozen=True)
class FilledConfig:
    """A configuration without templates, bodies by the ids of their notifications, and what was wrong."""

    config: DestinationConfig
    payloads: dict[str, bytes] = field(default_factory=dict)
    problem: str = ""


def is_templated(config: DestinationConfig) -> bool:
    """Return whether anything of a webhook is to be filled in."""
    texts = (config.endpoint or "", *config.headers.values(), *config.query_params.values())
    return config.body_template is not None or any(_OPEN in text for text in texts)


def check_templates(config: Document, place: str) -> None:
    """Check the templates of a configuration, as it is on the wire; masks are none.

    Raises
    ------
    InvalidInput : one cannot be read, or is where it may not be; says where
    """
    for path, text in _texts(config):
        if _OPEN not in text and path != "bodyTemplate":
            continue
        try:
            parse(text)
        except InvalidTemplate as error:
            raise InvalidInput(error.message, field=f"{place}.{path}") from error
    endpoint = config.get("endpoint")
    if isinstance(endpoint, str) and _OPEN in endpoint:
        parts = _ADDRESS.fullmatch(endpoint)
        if parts is None or _OPEN in parts["origin"] or _OPEN in _NAME.sub("", parts["rest"]):
            message = "of an address only path and query may contain templates, as names: {{entity.name}}"
            raise InvalidInput(message, field=f"{place}.endpoint")


def filled_config(
    dispatch: Dispatch, config: DestinationConfig, *, source: str, accounts: TemplateAccounts
) -> FilledConfig:
    """Return what a webhook's templates make of a message; address and headers are filled in with its first event."""
    if not is_templated(config):
        return FilledConfig(config)
    filling = _Filling(MessagePlace(Channel.WEBHOOK, source, zone=dispatch.zone), dispatch, accounts)
    payloads = dict(filling.bodies(config.body_template)) if config.body_template is not None else {}
    lines = {
        "headers": dict(filling.values("headers", config.headers, _in_header)),
        "query_params": dict(filling.values("queryParams", config.query_params, plain_of)),
        "endpoint": filling.address(config.endpoint) if config.endpoint else config.endpoint,
    }
    return FilledConfig(config.model_copy(update=lines), payloads, filling.problem)


class _Filling:
    """The filling in of one message; all of it shares the time that one message may take."""

    def __init__(self, place: MessagePlace, dispatch: Dispatch, accounts: TemplateAccounts) -> None:
        self._dispatch, self._place, self._accounts = dispatch, place, accounts
        self._contexts: dict[str, Context] = {}
        self._whole = Budget(_MESSAGE)
        self._problems: list[str] = []

    @property
    def problem(self) -> str:
        """What was wrong first, and with how many more; empty if nothing was."""
        suffix = f" (and {len(self._problems) - 1} more)" if len(self._problems) > 1 else ""
        return f"{self._problems[0]}{suffix}" if self._problems else ""

    def bodies(self, template: str) -> Iterator[tuple[str, bytes]]:
        for index, entry in enumerate(self._dispatch.entries):
            try:
                yield entry.notification_id, _as_json(self._text(template, index, LIMITS, _in_json))
            except InvalidTemplate as error:
                self._note("bodyTemplate", error, "the default body was sent")

    def values(self, key: str, templates: dict[str, str], write_text: Shown) -> Iterator[tuple[str, str]]:
        for name, text in templates.items():
            try:
                yield name, self._text(text, 0, _LINES, write_text) if _OPEN in text else text
            except InvalidTemplate as error:
                self._note(f"{key}.{name}", error, "it was left out")

    def address(self, endpoint: str) -> str:
        parts = _ADDRESS.fullmatch(endpoint)
        if parts is None or _OPEN not in parts["rest"]:
            return endpoint
        try:
            tail = self._text(parts["rest"], 0, _LINES, _in_address)
            if {".", ".."} & set(re.split(r"[?#]", tail)[0].split("/")):
                raise InvalidTemplate("a part of the path becomes . or ..")
        except InvalidTemplate as error:
            self._note("endpoint", error, "the address ends before its first template")
            tail = parts["rest"].partition(_OPEN)[0]
        return parts["origin"] + tail

    def _text(self, template: str, index: int, limits: RenderLimits, write_text: Shown) -> str:
        with self._accounts.charge(self._dispatch.payer):
            self._whole.look()
            entry = self._dispatch.entries[index]
            context = self._contexts.get(entry.notification_id)
            if context is None:
                context = self._contexts[entry.notification_id] = context_of(entry, self._place)
            return render_text(template, context, Budget(limits), write_text)

    def _note(self, place: str, error: InvalidTemplate, consequence: str) -> None:
        self._problems.append(f"{place}: {error.message}; {consequence}")


def _texts(config: Document) -> Iterator[tuple[str, str]]:
    for key in ("endpoint", "bodyTemplate"):
        if isinstance(config.get(key), str):
            yield key, config[key]
    for key in ("headers", "queryParams"):
        values = config.get(key)
        for name, text in values.items() if isinstance(values, dict) else ():
            if isinstance(text, str):
                yield f"{key}.{name}", text


def _as_json(text: str) -> bytes:
    payload = text.encode(errors="replace")
    if len(payload) > LIMIT_BYTES:
        raise InvalidTemplate(f"the body is larger than {LIMIT_BYTES:,} bytes")
    try:
        orjson.loads(payload)
    except orjson.JSONDecodeError as error:
        raise InvalidTemplate(f"the body is not JSON: {error}") from error
    return payload


def _in_json(text: str) -> str:
    """Return a text as it stands between the quotes of a JSON string."""
    return json.dumps(plain_of(text), ensure_ascii=False)[1:-1]


def _in_header(text: str) -> str:
    """Return a text as a header can carry it: one line of ASCII."""
    return clean_line(plain_of(text), limit=_VALUE_LIMIT).encode("ascii", "replace").decode()


def _in_address(text: str) -> str:
    return quote(plain_of(text), safe="", errors="replace")
