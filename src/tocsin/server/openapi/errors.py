"""Errors of each operation: the error statuses that it may return.

Source: ``server/http/errors.py`` for the one shape that all have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from tocsin.model.entity import Document
from tocsin.server.http.request import caller_of
from tocsin.server.openapi.json_schema import TEXT, ref

_SAID = {
    "400": "The request is malformed: the message names the place and the way out.",
    "401": "The token is missing, unknown, or has ended; or the password is wrong.",
    "403": "A policy denies the operation, or none allows it.",
    "404": "There is nothing of this name or id, or the sender may not see it.",
    "406": "`Accept` allows no media type that is served.",
    "408": "The body did not arrive in time.",
    "409": "The request conflicts with what is stored.",
    "412": "`If-Match` names another state than the stored one.",
    "413": "The body, or what would come of it, is too large.",
    "429": "The sender has sent too much; `Retry-After` says when to go on.",
    "431": "The headers are too large.",
    "503": "The store does not respond; `Retry-After` says when to try again.",
}
_WAIT: Document = {"Retry-After": {"description": "Seconds to wait.", "schema": TEXT}}
ERRORS: dict[str, Document] = {
    f"Error{status}": {
        "description": text,
        "content": {"application/json": {"schema": ref("Error")}},
        **({"headers": _WAIT} if status in ("429", "503") else {}),
    }
    for status, text in _SAID.items()
}
"""The answers to what cannot be done, by name."""

_WITHOUT_TOKEN = {
    **dict.fromkeys(("users.login", "openid.begin", "openid.come_back", "openid.exchange"), ("401", "429")),
    **dict.fromkeys(("acknowledge_links.ask_to_acknowledge", "acknowledge_links.acknowledge_by_link"), ("403", "429")),
    "slack_interactions.take_interaction": ("401", "429"),
}
"""What routes refuse that need no token, but ask otherwise who it is: a password, a link, a signature."""

_CONFLICTING_READS = frozenset({"events.list_events"})
_WITHOUT_CONFLICTS = frozenset(
    {
        "users",
        "tokens",
        "mutes",
        "preferences",
        "inbox",
        "conditions",
        "search",
        "backtests",
        "unsubscribe",
        "mute_links",
        "acknowledge_links",
        "slack_interactions",
        "openid",
        "permissions",
        "templates",
    }
)
"""Modules of routes that change nothing that somebody else could have changed."""

_NAMING_READS = frozenset({"graph.read_map", "permissions.list_permissions", "permissions.list_of_policies"})
"""Routes whose query parameters name what may not be there."""

_FORBIDDEN_NOBODY = frozenset(
    {
        "users.logged_in_user",
        "tokens.log_out",
        "tokens.list_own",
        "tokens.revoke_own",
        "defaults.read_setting",
        "connectors.read_definition",
        "events.list_events",
        "search.search_by_query",
        "search.search_by_field",
        "search.suggest",
        "search.count_by_field",
        "search.count_by_body",
    }
)
"""Routes that anybody with a token may use, and that leave out what may not be seen."""


def errors_of(route: APIRoute, method: str, *, is_read: bool) -> Document:
    """Return the errors of a route; ``is_read``: it reads a body."""
    module, name = route.endpoint.__module__.rpartition(".")[2], route.endpoint.__name__
    statuses = set(_statuses(f"{module}.{name}", module, route, method, is_read=is_read))
    return {status: {"$ref": f"#/components/responses/Error{status}"} for status in sorted(statuses)}


def asks_for_token(route: APIRoute) -> bool:
    """Return whether a route answers only to requests with a token."""
    return caller_of in _calls(route.dependant)


def _statuses(name: str, module: str, route: APIRoute, method: str, *, is_read: bool) -> Iterator[str]:
    yield from ("400", "406", "431")
    if asks_for_token(route):
        yield from ("401", "429")
        if name not in _FORBIDDEN_NOBODY:
            yield "403"
    yield from _WITHOUT_TOKEN.get(name, ())
    if "{" in route.path_format.replace("{collection}", "") or method != "GET" or name in _NAMING_READS:
        yield "404"
    if (method != "GET" and module not in _WITHOUT_CONFLICTS) or name in _CONFLICTING_READS:
        yield "409"
    if is_read:
        yield from ("408", "413")
    if any(one.alias == "if-match" for one in route.dependant.header_params):
        yield "412"
    if name != "version.version":
        yield "503"


def _calls(dependant: Dependant) -> Iterator[Callable[..., Any]]:  # Any: a dependency returns what its routes take
    """Yield every dependency of a route, those of its dependencies included."""
    for child in dependant.dependencies:
        if child.call is not None:
            yield child.call
        yield from _calls(child)
