"""Egress policy: which addresses may be connected to, decided on the resolved address when the socket is created.

Host names, redirects and unusual spellings of addresses (``127.1``, ``0x7f000001``, ``localhost.``) are irrelevant
then: whatever the URL looked like, this is where the packets would go. Source: Svix ``is_allowed``;
IANA's registries of special-purpose addresses, IPv4 and IPv6 (RFC 6890).
Next: ``flow/send/channels/webhook/sender.py``.
"""

from __future__ import annotations

import errno
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from tocsin.errors import InvalidSetting

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
AddressInfo = tuple[int, int, int, str, tuple[Any, ...]]  # Any: what getaddrinfo gives for each family

REFUSED_ERRNO = errno.EACCES
"""The errno of a refusal; it survives when several addresses fail together."""

_ALLOWED_SCHEMES = frozenset({"http", "https"})
_WITH_PORT = re.compile(r"(?:\[(?P<ipv6>[^\]]+)\]|(?P<ipv4>[^:\[\]]+)):(?P<port>[0-9]{1,5})")
_NAT64 = ip_network("64:ff9b::/96")
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
class Exemption:
    """A range that may be reached although it is not public: at one port, or at all of them."""

    network: Network
    port: int | None = None

    def holds_for(self, address: Address, port: int) -> bool:
        """Return whether the exemption is for that address and port."""
        return self.port in (None, port) and address in self.network


@dataclass(frozen=True)
class Egress:
    """Which addresses may be reached: the public ones, and those that ``allow`` exempts."""

    allow: tuple[Exemption, ...] = ()

    def permits(self, text: str, port: int) -> bool:
        """Return whether the literal address ``text`` may be reached at ``port``."""
        try:
            address = ip_address(text.partition("%")[0])
        except ValueError:
            return False
        if any(one.holds_for(form, port) for form in _forms(address) for one in self.allow):
            return True
        return _is_public(address)

    def open_socket(self, info: AddressInfo) -> socket.socket:
        """Return a socket for ``info``; raise ``EgressRefusedError`` when the address in it may not be reached."""
        family, kind, protocol, _, where = info
        if not self.permits(str(where[0]), int(where[1])):
            raise EgressRefusedError(str(where[0]))
        return socket.socket(family, kind, protocol)


def egress_of(allowed: Iterable[str]) -> Egress:
    """Return the egress rule with these exemptions: CIDR ranges, each with a port behind it where it has one.

    Raises
    ------
    InvalidSetting : one of them is neither ``10.0.0.0/8`` nor ``10.0.0.7:8080`` nor ``[::1]:8080``
    """
    try:
        return Egress(tuple(_exemption(one) for one in allowed))
    except ValueError as error:
        raise InvalidSetting(f"egress_allow: {error}", field="egress_allow") from error


def _exemption(text: str) -> Exemption:
    with_port = _WITH_PORT.fullmatch(text)
    if with_port is None:
        return Exemption(ip_network(text))
    port = int(with_port["port"])
    if not 0 < port < 65_536:
        raise ValueError(f"{text!r} has no port")
    return Exemption(ip_network(with_port["ipv6"] or with_port["ipv4"]), port)


def is_web_scheme(scheme: str) -> bool:
    """Return whether ``scheme`` is one that webhooks may use."""
    return scheme.lower() in _ALLOWED_SCHEMES


def _is_public(address: Address) -> bool:
    """Return whether an address is none of IANA's special-purpose ones, nor one that carries another within."""
    is_assigned = isinstance(address, IPv4Address) or address in _GLOBAL_IPV6
    return is_assigned and address.is_global and not any(address in network for network in _NEVER_PUBLIC)


def _forms(address: Address) -> tuple[Address, ...]:
    """Return the address and the IPv4 addresses it carries within, if any."""
    if isinstance(address, IPv4Address):
        return (address,)
    nat64 = IPv4Address(int(address) & 0xFFFF_FFFF) if address in _NAT64 else None
    within = (address.ipv4_mapped, address.sixtofour, nat64)
    return (address, *(form for form in within if form is not None))
