"""Egress policy: private addresses are refused, as the resolved address says when the socket is created.

Host names, redirects and unusual spellings of addresses (``127.1``, ``0x7f000001``, ``localhost.``) are irrelevant
then: whatever the URL looked like, this is where the packets would go. Metadata services of clouds are never reached,
whatever is allowed (``delivery/transport/metadata_services.py``). Source: Svix ``is_allowed``; IANA's registries of
special-purpose addresses, IPv4 and IPv6 (RFC 6890).
Next: ``delivery/channels/webhook/sender.py``.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

from tocsin.delivery.transport.metadata_services import forms_of, is_metadata_address
from tocsin.errors import InvalidSetting
from tocsin.settings import AddressRange, address_range

Address = IPv4Address | IPv6Address
AddressInfo = tuple[int, int, int, str, tuple[Any, ...]]  # Any: what getaddrinfo gives for each family

REFUSED_ERRNO = errno.EACCES
"""The errno of a refusal; it survives when several addresses fail together."""

_ALLOWED_SCHEMES = frozenset({"http", "https"})
_GLOBAL_IPV6 = ip_network("2000::/3")
"""The only addresses of IPv6 that IANA gives to networks; all others are special or not assigned."""
# Not left to ``is_global``, which knows the registries as they were when Python was released.
_NEVER_PUBLIC = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # Azure's metadata service
        "169.254.0.0/16",  # link-local, metadata services
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
        "2001::/23",  # protocol assignments: Teredo, benchmarking, ORCHID, DRIP and others
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)


class EgressRefusedError(OSError):
    """The address is not one that we may connect to."""

    def __init__(self, address: str) -> None:
        super().__init__(REFUSED_ERRNO, f"egress to {address} refused; the setting egress_allow permits addresses")


@dataclass(frozen=True)
class Egress:
    """Which addresses may be reached: the public ones, and those that ``allow`` exempts; never metadata services."""

    allow: tuple[AddressRange, ...] = ()

    def permits(self, text: str, port: int) -> bool:
        """Return whether the literal address ``text`` may be reached at ``port``."""
        try:
            address = ip_address(text.partition("%")[0])
        except ValueError:
            return False
        if is_metadata_address(address):
            return False
        forms = forms_of(address)
        is_exempt = any(one.port in (None, port) and form in one.network for form in forms for one in self.allow)
        return is_exempt or _is_public(address)

    def open_socket(self, info: AddressInfo) -> socket.socket:
        """Return a socket for ``info``; raise ``EgressRefusedError`` when the address in it may not be reached."""
        family, kind, protocol, _, where = info
        if not self.permits(str(where[0]), int(where[1])):
            raise EgressRefusedError(str(where[0]))
        return socket.socket(family, kind, protocol)


def egress_of(exemptions: Iterable[str]) -> Egress:
    """Return the egress rule with these exemptions (``settings.address_range``).

    Raises
    ------
    InvalidSetting : one of them is no range
    """
    try:
        return Egress(tuple(address_range(one) for one in exemptions))
    except ValueError as error:
        raise InvalidSetting(f"egress_allow: {error}", field="egress_allow") from error


def is_web_scheme(scheme: str) -> bool:
    """Return whether ``scheme`` is one that webhooks may use."""
    return scheme.lower() in _ALLOWED_SCHEMES


def _is_public(address: Address) -> bool:
    """Return whether an address is assigned, and in none of IANA's special-purpose networks: 6to4, Teredo, NAT64."""
    is_assigned = isinstance(address, IPv4Address) or address in _GLOBAL_IPV6
    return is_assigned and address.is_global and not any(address in network for network in _NEVER_PUBLIC)
