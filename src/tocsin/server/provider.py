"""HTTP client for the OpenID Connect provider: JSON, limited in size and time.

Next: ``server/oidc.py``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import httpx
import orjson

from tocsin.errors import Unauthenticated, Unavailable

_TIMEOUT_S = 10
_MOST_BYTES = 1_048_576
Json = Any  # Any: what a provider answers


def ask_provider(address: str, form: Mapping[str, str] | None = None) -> Json:
    """Return the JSON object at an address of the provider, or what it answers to a form.

    Raises
    ------
    Unauthenticated : it refuses
    Unavailable : it does not answer, or not with a JSON object of reasonable size in reasonable time
    """
    method = "GET" if form is None else "POST"
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    try:
        with httpx.stream(method, address, data=form, headers=headers, timeout=_TIMEOUT_S) as answer:
            status, found = answer.status_code, _object(answer)
    except (httpx.HTTPError, httpx.InvalidURL, orjson.JSONDecodeError) as error:
        raise Unavailable("The provider of OpenID Connect does not answer.") from error
    if not httpx.codes.is_success(status) or not isinstance(found, dict):
        raise Unauthenticated(f"The provider of OpenID Connect refused: {status}.")
    return found


def _object(answer: httpx.Response) -> Json:
    """Return what an answer says, read as it came: what is packed small is not unpacked."""
    read, give_up_s = bytearray(), time.monotonic() + _TIMEOUT_S
    for chunk in answer.iter_raw():
        read += chunk
        if len(read) > _MOST_BYTES or time.monotonic() > give_up_s:
            raise Unavailable("The provider of OpenID Connect answers without end.")
    return orjson.loads(bytes(read))
