"""Metadata services of clouds: addresses and names at which a machine reads its own credentials.

Source: the documentation of AWS, Google Cloud, Azure, Oracle Cloud, Alibaba Cloud, Tencent Cloud and OpenStack.
Next: ``delivery/transport/egress.py``, ``delivery/channels/endpoints.py``.
"""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

_ADDRESSES = frozenset(
    ip_address(text)
    for text in (
        "169.254.169.254",  # AWS, Google Cloud, Azure, Oracle Cloud, OpenStack
        "169.254.170.2",  # AWS, of containers
        "169.254.170.23",  # AWS, of pods
        "169.254.0.23",  # Tencent Cloud
        "168.63.129.16",  # Azure, of the host
        "192.0.0.192",  # Oracle Cloud, of old
        "100.100.100.200",  # Alibaba Cloud
        "fd00:ec2::254",  # AWS
        "fd00:ec2::23",  # AWS, of pods
        "fd20:ce::254",  # Google Cloud
        "fe80::a9fe:a9fe",  # OpenStack
    )
)
_NAMES = frozenset(
    "metadata metadata.google.internal metadata.goog metadata.azure.internal metadata.oraclecloud.com"
    " metadata.tencentyun.com instance-data instance-data.ec2.internal".split()
)
_NAT64 = ip_network("64:ff9b::/96")


def forms_of(address: IPv4Address | IPv6Address) -> tuple[IPv4Address | IPv6Address, ...]:
    """Return an address and the IPv4 addresses that it carries within, if any."""
    if isinstance(address, IPv4Address):
        return (address,)
    nat64 = IPv4Address(int(address) & 0xFFFF_FFFF) if address in _NAT64 else None
    within = (address.ipv4_mapped, address.sixtofour, nat64)
    return (address, *(form for form in within if form is not None))


def is_metadata_address(address: IPv4Address | IPv6Address) -> bool:
    """Return whether a metadata service answers at an address."""
    return not _ADDRESSES.isdisjoint(forms_of(address))


def is_metadata_host(host: str) -> bool:
    """Return whether a host is a metadata service, by name or number, however the number is written.

    ``host`` is as ``model/address.py`` spells it: lower case, ASCII, without a dot at its end.
    """
    if host in _NAMES:
        return True
    try:
        return is_metadata_address(ip_address(host))
    except ValueError:
        return _is_metadata_number(host)


def _is_metadata_number(host: str) -> bool:
    """Return whether a number means a metadata service: ``2852039166``, ``0xa9fea9fe``, ``0251.0376.43518``."""
    try:
        return is_metadata_address(IPv4Address(socket.inet_aton(host)))
    except OSError:
        return False
