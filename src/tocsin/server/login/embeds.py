"""Tokens of embeds: what the page of another site shows of one person, for ten minutes at most.

Its back end knows who is logged in there; as a bot it asks for a token for that person, and the page sends it. Such a
token opens the inbox and the follows of that person by the routes of embeds, and no other route. It ends with the
bot's token, with the person's deactivation and with a new password. Next: ``server/routes/notifications/embeds.py``.
"""

from __future__ import annotations

from fastapi import Request

from tocsin.errors import Forbidden, Unauthenticated
from tocsin.model.people import Person
from tocsin.server.login.tokens import EMBED_SCHEME, Token, Tokens
from tocsin.settings import Settings
from tocsin.store.catalogue.people.tokens import IssuedToken, TokenKind

LIFETIME_S = 600


def check_on(settings: Settings) -> None:
    """Refuse everything about embeds where no page may have any.

    Raises
    ------
    Forbidden : the setting ``embed_origins`` is empty
    """
    if not settings.embed_origins:
        raise Forbidden("Embeds are off; the setting embed_origins names the sites whose pages may have them.")


def issue_embed_token(tokens: Tokens, person: Person, bot_name: str, parent: IssuedToken) -> Token:
    """Return a token for what a page shows of a person; ``parent`` is that of the bot that asks for it."""
    return tokens.issue_named(person, TokenKind.EMBED, bot_name, lifetime_s=LIFETIME_S, parent=parent)


def embed_authorization_of(request: Request, settings: Settings) -> str:
    """Return what a request of an embed proves its sender with: the token in its header, never a cookie.

    Raises
    ------
    Forbidden : embeds are off, or the page is of an origin that is not listed
    Unauthenticated : it has no token in its header
    """
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not text.strip():
        raise Unauthenticated("Send the token of the embed as Authorization: Bearer <token>.")
    check_on(settings)
    if any(origin not in settings.embed_origins for origin in request.headers.getlist("origin")):
        raise Forbidden("This page may not show anything of Tocsin: the setting embed_origins does not list its site.")
    return f"{EMBED_SCHEME} {text.strip()}"
