"""Routes of web push: the browser of the caller's session takes messages, or takes none any more.

There is nothing for another session than one's own: a browser counts while its session does.
Next: ``store/catalogue/people/push_browsers.py``; what is sent: ``delivery/channels/push/sender.py``.
"""

from __future__ import annotations

import binascii
from ipaddress import ip_address
from urllib.parse import urlsplit

from fastapi import Request, Response
from joserfc.util import urlsafe_b64decode
from starlette.concurrency import run_in_threadpool

from tocsin.delivery.channels.endpoints import check_endpoint
from tocsin.delivery.channels.push.encryption import BrowserKeys
from tocsin.delivery.channels.push.vapid import Vapid, new_vapid_key
from tocsin.delivery.transport.egress import egress_of
from tocsin.errors import Forbidden, InvalidInput, NotFound
from tocsin.model.push_browser import PushBrowser
from tocsin.server.alerts.hourly_counts import count_trial
from tocsin.server.alerts.push_tests import send_push_test
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.openapi.push_schemas import PUSH_BROWSER, PUSH_TEST
from tocsin.server.request import Asked, Caller, DocumentBody, TokenId, answer
from tocsin.server.routes.people.sessions import check_has_session
from tocsin.server.routes.people.tokens import token_of_request
from tocsin.server.routes.people.users import text_in
from tocsin.settings import Settings
from tocsin.store.catalogue.people.push_browsers import PUSH_KEY

_HTTPS_PORT = 443
_AUTH_BYTES = 16
_LONGEST_KEY = 200

router = DeclaredRoutes(prefix="/auth/session", tags=["users"])


@router.get("/pushBrowser", openapi_extra=answers("PushBrowser", PUSH_BROWSER, never="403"))
def read_push_browser(request: Request, caller: Asked, token_id: TokenId) -> Response:
    """Return whether the browser of this session takes push messages, and the key with which it would subscribe."""
    check_has_session(request)
    return _state_of(caller, token_id)


@router.put("/pushBrowser", openapi_extra=answers("PushBrowser", PUSH_BROWSER, reads="PushBrowserRequest", never="409"))
def put_push_browser(request: Request, body: DocumentBody, caller: Asked, token_id: TokenId) -> Response:
    """Let the browser of this session take push messages, until the session ends.

    Messages are encrypted for this browser, and name assets, never values. The endpoint is subject to the rules of
    egress, now and whenever something is sent there.
    """
    check_has_session(request)
    parts = caller.parts
    if not parts.settings.web_push:
        raise Forbidden("Push messages are off; the setting web_push allows them.")
    if caller.actor.is_bot:
        raise Forbidden("Only people take push messages.")
    session = token_of_request(token_id, caller)
    endpoint = _endpoint_in(text_in(body, "endpoint"), parts.settings)
    p256dh, auth = _keys_in(text_in(body, "p256dh"), text_in(body, "auth"))
    browser = PushBrowser(session.id, caller.actor.id, endpoint, p256dh, auth, parts.clock.now_ms())
    parts.alert_stores.push_browsers.put(browser)
    return _state_of(caller, token_id)


@router.delete("/pushBrowser", openapi_extra=answers("PushBrowser", PUSH_BROWSER, never="403 409"))
def delete_push_browser(request: Request, caller: Asked, token_id: TokenId) -> Response:
    """Let the browser of this session take no more push messages."""
    check_has_session(request)
    caller.parts.alert_stores.push_browsers.remove(token_id)
    return _state_of(caller, token_id)


@router.post("/pushBrowser/test", openapi_extra=answers("PushTest", PUSH_TEST, refuses="404 429", never="409"))
async def test_push_browser(request: Request, caller: Asked, token_id: TokenId) -> Response:
    """Send a test message to the browser of this session, by its push service, and return what that answered.

    It counts as a test message. A browser that its push service no longer knows takes no messages any more.
    """
    check_has_session(request)
    browser = await run_in_threadpool(_browser_to_test, caller, token_id)
    return answer({"statusDetails": await send_push_test(browser, caller)})


def _browser_to_test(caller: Caller, token_id: str) -> PushBrowser:
    """Return the browser of this session, counted for a test message.

    Raises
    ------
    NotFound : it takes no messages
    """
    parts, user_id = caller.parts, caller.actor.id
    stored = parts.alert_stores.push_browsers.of([user_id], parts.clock.now_ms()) if parts.settings.web_push else {}
    browser = next((one for one in stored.get(user_id, ()) if one.session_id == token_id), None)
    if browser is None:
        raise NotFound("This browser takes no push messages; switch them on first.")
    count_trial(caller)
    return browser


def _state_of(caller: Caller, token_id: str) -> Response:
    parts, user_id = caller.parts, caller.actor.id
    if not parts.settings.web_push:
        return answer({"isOn": False, "publicKey": None, "since": None, "others": 0})
    browsers = parts.alert_stores.push_browsers.of([user_id], parts.clock.now_ms()).get(user_id, ())
    own_since = next((one.since_ms for one in browsers if one.session_id == token_id), None)
    other_count = sum(one.session_id != token_id for one in browsers)
    vapid = Vapid.of_text(parts.people.secret(PUSH_KEY, new_vapid_key), parts.settings.base_url())
    return answer({"isOn": True, "publicKey": vapid.public_key, "since": own_since, "others": other_count})


def _endpoint_in(endpoint: str, settings: Settings) -> str:
    """Return an endpoint of a push service: https, and no address that the rules of egress refuse.

    What a name stands for is decided when something is sent: it may be another address by then.

    Raises
    ------
    InvalidInput : it is none, or may not be connected to
    """
    check_endpoint(endpoint, "endpoint")
    parts = urlsplit(endpoint)
    if parts.scheme != "https" or parts.username is not None or not endpoint.isascii() or not endpoint.isprintable():
        raise InvalidInput("must be an https URL, as the browser has it from its push service", field="endpoint")
    host, port = parts.hostname or "", parts.port or _HTTPS_PORT
    try:
        ip_address(host)
    except ValueError:
        return endpoint
    if not egress_of(settings.egress_allow).permits(host, port):
        raise InvalidInput("is an address that the setting egress_allow does not permit", field="endpoint")
    return endpoint


def _keys_in(p256dh: str, auth: str) -> tuple[str, str]:
    """Return the keys of a browser, in base64url.

    Raises
    ------
    InvalidInput : one of them is no such key
    """
    keys = BrowserKeys(_bytes_in(p256dh, "p256dh"), _bytes_in(auth, "auth"))
    if len(keys.auth) != _AUTH_BYTES:
        raise InvalidInput(f"must be {_AUTH_BYTES} bytes, in base64url", field="auth")
    try:
        keys.public_key()
    except ValueError as error:
        raise InvalidInput("must be an uncompressed point of P-256, in base64url", field="p256dh") from error
    return p256dh, auth


def _bytes_in(text: str, field: str) -> bytes:
    if len(text) > _LONGEST_KEY or not text.isascii() or not text.isprintable():
        raise InvalidInput("must be a key in base64url", field=field)
    try:
        return urlsafe_b64decode(text.encode())
    except (binascii.Error, ValueError) as error:
        raise InvalidInput("must be a key in base64url", field=field) from error
