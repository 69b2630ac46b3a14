"""One spelling for each host, and a class for each address."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode.core.address import (
    Destination,
    address_class,
    canonical_host,
    is_allowed,
    vet,
)
from codemode.errors import AddressRefused

V4 = st.ip_addresses(v=4)


@pytest.mark.case("attack:33", "E3")
@pytest.mark.parametrize(
    ("spelled", "host"),
    [
        ("127.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("0x7F000001", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("１２７.0.0.1", "127.0.0.1"),
        ("127。0。0。1", "127.0.0.1"),
        ("[::1]", "::1"),
        ("[0:0:0:0:0:0:0:1]", "::1"),
        ("[::FFFF:127.0.0.1]", "::ffff:7f00:1"),
        ("localhost.", "localhost"),
        ("LOCALHOST", "localhost"),
        ("ⓛocalhost", "localhost"),
        ("Bücher.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("раypal.com", "xn--ypal-43d9g.com"),
        ("a_b.example", "a_b.example"),
    ],
)
def test_spellings(spelled: str, host: str) -> None:
    assert canonical_host(spelled) == host


@pytest.mark.parametrize(
    "host",
    [
        *("", ".", "a..b", "-a.example", "a b", "a\0b", "a/b", "a@b", "256.1.1.1", "1.2.3.4.5"),
        *("[::1%25eth0]", "::g", "x" * 64 + ".example", "a." * 130, "a\\b", "4294967296"),
        "08.1.1.1",
    ],
)
def test_what_is_no_host(host: str) -> None:
    with pytest.raises(AddressRefused):
        canonical_host(host)


@pytest.mark.case("attack:33")
@given(V4, st.data())
def test_every_way_to_write_an_ipv4_address_is_one_address(
    address: IPv4Address, data: st.DataObject
) -> None:
    def part(number: int) -> str:
        return data.draw(st.sampled_from([f"{number}", f"0x{number:x}", f"0{number:o}"]))

    octets = list(address.packed)
    n_parts = data.draw(st.integers(1, 4))
    last = int.from_bytes(bytes(octets[n_parts - 1 :]), "big")
    spelled = ".".join([*map(part, octets[: n_parts - 1]), part(last)])
    assert canonical_host(spelled + data.draw(st.sampled_from(["", "."]))) == str(address)


@given(st.text(max_size=40))
def test_canonical_is_idempotent_and_never_anything_but_refused(text: str) -> None:
    try:
        once = canonical_host(text)
    except AddressRefused:
        return
    assert canonical_host(once) == once
    assert once.isascii()
    assert not set(once) & set("/@\\?#% \r\n\0")


@pytest.mark.case("attack:33", "attack:35")
@given(V4)
def test_an_ipv4_address_inside_an_ipv6_one_is_judged_too(address: IPv4Address) -> None:
    number = int(address)
    inside = [
        IPv6Address((0xFFFF << 32) | number),
        IPv6Address((0x0064FF9B << 96) | number),
        IPv6Address((0x2002 << 112) | (number << 80)),
        IPv6Address((0x20010000 << 96) | (number ^ 0xFFFFFFFF)),  # Teredo, client obscured
    ]
    if address_class(str(address)) is not None:
        for each in inside:
            assert address_class(str(each)) is not None, each


@pytest.mark.case("attack:35")
@given(st.ip_addresses())
def test_nothing_that_the_standard_library_calls_local_is_public(address: object) -> None:
    ip = ip_address(str(address))
    if ip.is_private or ip.is_loopback or ip.is_link_local or ip.is_multicast or ip.is_reserved:
        embedded = getattr(ip, "ipv4_mapped", None)
        nat64 = ip.version == 6 and int(ip) >> 32 == 0x0064FF9B << 64
        if embedded is None and not nat64:
            assert address_class(str(ip)) is not None


def test_public_addresses_are_public() -> None:
    public = ("93.184.215.14", "1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101")
    for address in public:
        assert address_class(address) is None, address


@pytest.mark.case("attack:35")
def test_metadata_services_by_address_and_name() -> None:
    for address in ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16"):
        assert address_class(address) == "metadata service"
    assert address_class("192.0.0.192") == "metadata service"
    assert address_class("::ffff:169.254.169.254") == "metadata service"
    with pytest.raises(AddressRefused):
        vet("metadata.google.internal", "93.184.215.14", 80, frozenset())
    # The operator's exact listing is the one way.
    vet("metadata.google.internal", "169.254.169.254", 80, frozenset({"169.254.169.254"}))


def test_listing_is_exact() -> None:
    allow = frozenset({"127.0.0.1:8080", "10.0.0.7", "[::1]:9"})
    assert is_allowed("127.0.0.1", 8080, allow)
    assert not is_allowed("127.0.0.1", 8081, allow)
    assert is_allowed("10.0.0.7", 1234, allow)
    assert not is_allowed("10.0.0.70", 1234, allow)
    assert is_allowed("::1", 9, allow)
    assert not is_allowed("::1", 10, allow)


@pytest.mark.case("E3")
@pytest.mark.parametrize(
    ("url", "destination"),
    [
        ("https://API.example.com./x", "https://api.example.com"),
        ("https://api.example.com:443", "https://api.example.com"),
        ("http://127.1:80/", "http://127.0.0.1"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
        ("HTTPS://a.example:8443", "https://a.example:8443"),
    ],
)
def test_destinations(url: str, destination: str) -> None:
    assert str(Destination.of(url)) == destination


@pytest.mark.case("E1", "E3")
@pytest.mark.parametrize(
    "url",
    [
        *("https://api@evil.example/", "https://u:p@a.example", "//a.example", "/x"),
        *("ftp://a.example", "file:///etc/passwd", "https://", "https:///x"),
        *("http://a.example:0", "http://a.example:99999", "http://a.example:x"),
        *("https://a.example\\@evil.example", "javascript:1", "gopher://a.example"),
        *("http://[::1", "https://a.example%2eevil.example/"),
    ],
)
def test_addresses_of_requests_that_are_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        Destination.of(url)
