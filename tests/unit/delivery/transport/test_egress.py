"""Tests of the egress policy."""

import socket

import pytest

from tocsin.delivery.transport.egress import EgressRefusedError, egress_of, is_web_scheme
from tocsin.errors import InvalidSetting

PUBLIC = ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "2001:200::1", "2001:4860:4860::8888", "2620:4f:8001::1"]
REFUSED = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.0.9",
    "192.31.196.1",
    "192.52.193.1",
    "192.175.48.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "64:ff9b::808:808",
    "100::1",
    "100:0:0:1::1",
    "1000::1",
    "2001::1",
    "2001:1::1",
    "2001:2::1",
    "2001:3::1",
    "2001:4:112::1",
    "2001:10::1",
    "2001:20::1",
    "2001:30::1",
    "2001:1ff:ffff::1",
    "2001:db8::1",
    "2002:a9fe:a9fe::",
    "2620:4f:8000::1",
    "3fff::1",
    "3fff:fff:ffff::1",
    "4000::1",
    "5f00::1",
    "e000::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "not an address",
    "127.1",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_may_be_reached(address: str) -> None:
    assert egress_of(()).permits(address, 443)


@pytest.mark.parametrize("address", REFUSED)
def test_addresses_that_lead_inside_are_refused(address: str) -> None:
    assert not egress_of(()).permits(address, 443)


@pytest.mark.parametrize("address", ["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::a01:203", "2002:a01:203::"])
def test_an_exception_holds_in_every_form_of_the_address(address: str) -> None:
    assert egress_of(("10.1.0.0/16",)).permits(address, 443)
    assert not egress_of(("10.2.0.0/16",)).permits(address, 443)


def test_no_socket_is_made_for_a_refused_address() -> None:
    info = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 80))
    with pytest.raises(EgressRefusedError):
        egress_of(()).open_socket(info)
    egress_of(("127.0.0.0/8",)).open_socket(info).close()


def test_a_range_that_is_none_is_a_wrong_setting() -> None:
    with pytest.raises(InvalidSetting, match="egress_allow"):
        egress_of(("10.0.0.0/99",))


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "::ffff:a9fe:a9fe"],
)
def test_metadata_services_are_never_reached_whatever_is_allowed(address: str) -> None:
    assert not egress_of(("0.0.0.0/0", "::/0")).permits(address, 80)


def test_only_web_schemes_are_spoken() -> None:
    assert is_web_scheme("HTTPS")
    assert not any(is_web_scheme(scheme) for scheme in ("ftp", "file", "gopher", "unix", ""))


@pytest.mark.parametrize(
    ("exemption", "address", "port"), [("127.0.0.1:8586", "127.0.0.1", 8586), ("[::1]:8586", "::1", 8586)]
)
def test_an_exemption_may_be_for_one_address_and_port(exemption: str, address: str, port: int) -> None:
    egress = egress_of((exemption,))
    assert egress.permits(address, port)
    assert not egress.permits(address, port + 1)
    assert not egress.permits("127.0.0.2", port)
    assert egress_of(("10.0.0.0/8:443", "10.1.2.3")).permits("10.9.9.9", 443)
    assert not egress_of(("10.0.0.0/8:443", "10.1.2.3")).permits("10.9.9.9", 80)


@pytest.mark.parametrize(
    "wrong", ["localhost:80", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "[::1]", "::1:x", "127.0.0.1:80:80"]
)
def test_what_is_no_range_and_no_port_is_refused_by_name(wrong: str) -> None:
    with pytest.raises(InvalidSetting, match="egress_allow"):
        egress_of((wrong,))
