"""Lags of the subscriptions of a relay's topics, as Pulsar's administration states them.

A subscription of several topics, or of the partitions of one, is one reader. Those that are not durable are left out:
Pulsar keeps nothing for them. Next: ``relay/group_lags.py``.

Source: Pulsar 4.2, administration ``/admin/v2/persistent``: topics of a namespace, statistics of a topic.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import httpx

from tocsin.flow.eventlog.lag import ReaderKind
from tocsin.flow.eventlog.readers import SUBSCRIPTION
from tocsin.model.entity import Document
from tocsin.relay.group_lags import MOST_GROUPS, short_name
from tocsin.relay.pulsar.client import PulsarOptions
from tocsin.relay.target import BrokerUnavailable

_TIMEOUT_S = 5.0
_MOST_REDIRECTS = 3
_STATISTICS = {"getPreciseBacklog": "true", "getEarliestTimeInBacklog": "true"}
_PARTITION = re.compile(r"-partition-\d+$")


class SubscriptionLags:
    """Measures the lags of the subscriptions of one relay's topics."""

    def __init__(self, options: PulsarOptions) -> None:
        self._options = options

    def measure(self) -> list[Document]:
        """Return the lag of each durable subscription of the topics, by name.

        Raises
        ------
        BrokerUnavailable : the administration cannot be reached, or refuses to answer
        """
        lags: dict[str, Document] = {}
        with httpx.Client(trust_env=False, timeout=_TIMEOUT_S, verify=self._tls()) as http:
            for name, subscription in self._subscriptions(http):
                _add(lags.setdefault(name, _lag_of(name)), subscription)
        return [lags[name] for name in sorted(lags)[:MOST_GROUPS]]

    def _subscriptions(self, http: httpx.Client) -> Iterator[tuple[str, Document]]:
        """Yield the name and the statistics of each durable subscription of each topic."""
        for topic in self._topics(http):
            statistics = self._ask(http, f"{self._options.namespace}/{topic}/stats", _STATISTICS)
            for name, subscription in statistics["subscriptions"].items():
                if subscription.get("durable", True):
                    yield name, subscription

    def _topics(self, http: httpx.Client) -> list[str]:
        """Return the names of the topics that are there, of one with partitions those of its partitions."""
        addresses = self._ask(http, self._options.namespace, {})
        names = [address.rpartition("/")[2] for address in addresses]
        return sorted(name for name in names if _PARTITION.sub("", name) in self._options.topics)

    def _ask(self, http: httpx.Client, path: str, parameters: dict[str, str]) -> Any:  # Any: JSON
        """Return an answer; where another broker has it, ask that one."""
        token, admin_url = self._options.token, self._options.admin_url
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        url = httpx.URL(f"{admin_url}/admin/v2/persistent/{path}", params=parameters)
        try:
            for _ in range(1 + _MOST_REDIRECTS):
                answer = http.get(url, headers=headers)
                if not answer.has_redirect_location:
                    break
                place = url.join(answer.headers["location"])
                if place.scheme != url.scheme:  # from https to http, the token would be sent in clear
                    raise BrokerUnavailable(f"{admin_url} sends on to {place.scheme}: set pulsar_admin_url to it")
                url = place
            if answer.status_code != HTTPStatus.OK:
                raise BrokerUnavailable(f"subscriptions cannot be read at {admin_url}: status {answer.status_code}")
            return answer.json()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise BrokerUnavailable(f"subscriptions cannot be read at {admin_url}: {error}") from error

    def _tls(self) -> ssl.SSLContext | bool:
        options = self._options
        if options.admin_url is None or not options.admin_url.startswith("https"):
            return True
        context = ssl.create_default_context(cafile=options.ca_file)
        if options.certificate_file is not None:
            context.load_cert_chain(options.certificate_file, options.key_file)
        return context


def _lag_of(name: str) -> Document:
    return {"reader": f"{SUBSCRIPTION}{short_name(name)}", "kind": ReaderKind.SUBSCRIPTION.value, "eventCount": 0}


def _add(lag: Document, subscription: Document) -> None:
    """Add what a subscription has not acknowledged of one topic."""
    lag["eventCount"] += subscription["msgBacklog"]
    published_ms = subscription.get("earliestMsgPublishTimeInBacklog", 0)
    if subscription["msgBacklog"] and published_ms > 0:
        lag["oldestMs"] = min(published_ms, lag.get("oldestMs", published_ms))
