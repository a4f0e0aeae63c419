"""Pages that tell a browser why the link of a message is refused; programs get the JSON of every other error.

Next: ``server/http/errors.py``.
"""

from __future__ import annotations

from html import escape

from fastapi import Request, Response

from tocsin.server.http.errors import logged_path
from tocsin.server.http.paths import API
from tocsin.server.routes.notifications.unsubscribe import is_browser, link_page

_VERBS = {
    f"{API}/{verb}/{{token}}": verb.capitalize() for verb in ("acknowledge", "answer", "follow", "mute", "unsubscribe")
}
"""Headlines of the pages, by the paths of their routes."""


def refusal_page(request: Request, status: int, message: str) -> Response | None:
    """Return the page that says why a link is refused; None for other requests than those of a browser by a link."""
    verb = _VERBS.get(logged_path(request.scope))
    if verb is None or not is_browser(request):
        return None
    return link_page(verb, escape(message), asks=False, status=status)
