"""Files of a dbt project from an address on the web: fetched into a folder that goes when the run ends.

Requests obey the egress rules, and follow no redirect. Next: ``sources/dbt/artifacts.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from yarl import URL

from tocsin.clock import SystemClock
from tocsin.delivery.transport.egress import Egress, egress_of
from tocsin.delivery.transport.http_requests import HttpRequests
from tocsin.delivery.transport.request import Request, Timeouts, web_address
from tocsin.errors import InvalidInput, Unavailable
from tocsin.model.message import Delivered
from tocsin.settings import Settings
from tocsin.sources.dbt.artifacts import FILES, LARGEST_BYTES

_TIMEOUTS = Timeouts(connect_s=10.0, read_s=60.0, total_s=600.0)
_MISSING = 404


@contextmanager
def project_files(target: str, settings: Settings) -> Iterator[Path]:
    """Yield the folder with the files of a project: ``target``, or what is fetched if that is an address.

    Raises
    ------
    Unavailable : a file cannot be fetched
    InvalidInput : a file is too large
    """
    address = web_address(target)
    if address is None:
        yield Path(target)
        return
    with TemporaryDirectory(prefix="tocsin-dbt-") as folder:
        secret = settings.dbt_authorization
        headers = {"Accept": "application/json"} | ({"Authorization": secret.get_secret_value()} if secret else {})
        asyncio.run(_fetch_all(address, headers, egress_of(settings.egress_allow), Path(folder)))
        yield Path(folder)


async def _fetch_all(address: URL, headers: dict[str, str], egress: Egress, folder: Path) -> None:
    async with HttpRequests(egress, user_agent="Tocsin dbt") as requests:
        for name in FILES:
            url = address.with_path(f"{address.path.rstrip('/')}/{name}", keep_query=True)
            content = await _fetch(requests, Request("GET", url, headers, b"", _TIMEOUTS, LARGEST_BYTES + 1))
            if content is not None:
                (folder / name).write_bytes(content)


async def _fetch(requests: HttpRequests, request: Request) -> bytes | None:
    """Return what is at an address; None if nothing is."""
    outcome, content = await requests.exchange(request, now_ms=SystemClock().now_ms())
    place = request.url.with_query(None)
    if isinstance(outcome, Delivered):
        if len(content) > LARGEST_BYTES:
            raise InvalidInput(f"{place} has more than {LARGEST_BYTES:,} bytes", field="target")
        return content
    if outcome.status_code == _MISSING:
        return None
    reason = f"the server answers {outcome.status_code}" if outcome.status_code else outcome.detail or outcome.reason
    if outcome.status_code in (401, 403):
        reason += ": see the setting dbt_authorization"
    raise Unavailable(f"{place}: {reason}")
