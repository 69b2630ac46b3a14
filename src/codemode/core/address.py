"""Hosts and addresses: one spelling for each, then what class an address is of."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

import idna

from codemode.errors import AddressRefused

DEFAULT_PORTS = {"http": 80, "https": 443}

_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")

METADATA_NAMES = frozenset(
    {"metadata", "metadata.google.internal", "metadata.goog", "instance-data"}
    | {"instance-data.ec2.internal"}
)
METADATA_ADDRESSES = frozenset(
    map(
        ip_address,
        (
            "169.254.169.254",  # AWS, GCP, Azure, DigitalOcean
            "169.254.170.2",  # AWS ECS task credentials
            "fd00:ec2::254",  # AWS over IPv6
            "100.100.100.200",  # Alibaba
            "168.63.129.16",  # Azure wire server: a public address
            "192.0.0.192",  # Oracle
        ),
    )
)
_V4 = [
    (IPv4Network(network), name)
    for network, name in (
        ("0.0.0.0/8", "unspecified"),
        ("127.0.0.0/8", "loopback"),
        ("10.0.0.0/8", "private"),
        ("172.16.0.0/12", "private"),
        ("192.168.0.0/16", "private"),
        ("100.64.0.0/10", "shared (carrier NAT)"),
        ("169.254.0.0/16", "link-local"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
        ("192.88.99.0/24", "reserved"),
    )
]
_V6 = [
    (IPv6Network(network), name)
    for network, name in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
        ("64:ff9b:1::/48", "local NAT64"),
    )
]
_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_COMPATIBLE = IPv6Network("::/96")


@lru_cache(maxsize=1024)
def canonical_host(host: str) -> str:
    """
    The one spelling of *host*: lower-case ASCII name, dotted IPv4 or short IPv6.

    >>> canonical_host("0x7f.1"), canonical_host("EXAMPLE.com."), canonical_host("[::1]")
    ('127.0.0.1', 'example.com', '::1')

    Raises:
        AddressRefused: If it is no host name (empty, control characters, a zone id).
    """
    text = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if ":" in text:
        try:
            return str(IPv6Address(text)) if "%" not in text else _refuse(host)
        except ValueError:
            return _refuse(host)
    text = unicodedata.normalize("NFKC", text).replace("。", ".").lower().removesuffix(".")
    if numeric := _ipv4(text):
        return numeric
    if not text.isascii():
        try:
            text = idna.encode(text, uts46=True, transitional=False).decode()
        except (idna.IDNAError, UnicodeError):
            return _refuse(host)
    labels = text.split(".")
    if len(text) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        return _refuse(host)
    if _NUMBER.fullmatch(labels[-1]):  # a last label of digits is an address, and a bad one
        return _refuse(host)
    return text


def _refuse(host: str) -> str:
    raise AddressRefused(f"{host[:100]!r} is not a host name or address.")


def _ipv4(text: str) -> str | None:
    """As ``inet_aton`` reads it: one to four parts, decimal, octal or hexadecimal."""
    parts = text.split(".")
    if len(parts) > 4 or not all(_NUMBER.fullmatch(part) for part in parts):
        return None
    try:
        numbers = [_number(part) for part in parts]
    except ValueError:
        return None
    *leading, last = numbers
    if any(number > 255 for number in leading) or last >= 256 ** (4 - len(leading)):
        return None
    value = last
    for position, number in enumerate(leading):
        value += number << (8 * (3 - position))
    return str(IPv4Address(value))


def _number(part: str) -> int:
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    return int(part, 8) if len(part) > 1 and part.startswith("0") else int(part)


@dataclass(frozen=True, slots=True, order=True)
class Destination:
    """Exactly where a request goes. Host canonical, port always given."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> Destination:
        """
        Destination of an absolute URL.

        Raises:
            AddressRefused: If it is not http or https, has userinfo or a bad host or port.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise AddressRefused("The address of a request cannot be read.") from None
        if parts.scheme not in DEFAULT_PORTS:
            raise AddressRefused(f"Scheme {parts.scheme!r} is not http or https.")
        if "@" in parts.netloc or "\\" in url:
            raise AddressRefused("An address with user information or a backslash is not used.")
        if not host:
            raise AddressRefused("The address of a request has no host.")
        if port == 0:
            raise AddressRefused("Port 0 cannot be dialled.")
        return cls(
            parts.scheme,
            canonical_host(host),
            port if port is not None else DEFAULT_PORTS[parts.scheme],
        )

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def authority(self) -> str:
        """``host`` or ``host:port`` as it stands in a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def address_class(address: str) -> str | None:
    """
    Why *address* may not be dialled, or None for a public one.

    An IPv6 address that carries an IPv4 one (mapped, compatible, 6to4, Teredo,
    NAT64) is judged by both.
    """
    try:
        ip = ip_address(address.split("%", 1)[0])
    except ValueError:
        return "not an address"
    for each in _embedded(ip):
        if each in METADATA_ADDRESSES:
            return "metadata service"
    for each in _embedded(ip):
        table: list[tuple[IPv4Network, str]] | list[tuple[IPv6Network, str]]
        table = _V4 if isinstance(each, IPv4Address) else _V6
        for network, name in table:
            if each in network:
                return name
        if not each.is_global and each is not ip:
            return "reserved"
    if isinstance(ip, IPv6Address) and ip not in _UNICAST:
        # What stands for an IPv4 address was judged as that address above.
        return None if ip.ipv4_mapped is not None or ip in _NAT64 else "reserved"
    return None if ip.is_global else "reserved"


def _embedded(ip: IPv4Address | IPv6Address) -> Iterator[IPv4Address | IPv6Address]:
    """*ip* and every IPv4 address inside it."""
    mapped = ip.ipv4_mapped if isinstance(ip, IPv6Address) else None
    if mapped is None:
        yield ip
    if isinstance(ip, IPv6Address):
        if mapped is not None:
            yield mapped
        if ip.sixtofour is not None:
            yield ip.sixtofour
        if ip.teredo is not None:
            yield from ip.teredo
        if ip in _NAT64 or (ip in _COMPATIBLE and int(ip) > 1):
            yield IPv4Address(int(ip) & 0xFFFFFFFF)


def is_allowed(address: str, port: int, allow_addresses: frozenset[str]) -> bool:
    """Whether the operator listed exactly *address*, or it with exactly *port*."""
    plain = canonical_host(address.split("%", 1)[0])
    bracketed = f"[{plain}]" if ":" in plain else plain
    return plain in allow_addresses or f"{bracketed}:{port}" in allow_addresses


BAD_PORTS = frozenset(
    {1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95}
    | {101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179}
    | {389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601}
    | {636, 993, 995, 1719, 1720, 1723, 2049, 2375, 2376, 3306, 3659, 4045, 5060, 5061, 5432}
    | {6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6697, 10080, 11211, 27017}
)
"""Ports of protocols that an HTTP request could be smuggled into."""


def vet(host: str, address: str, port: int, allow_addresses: frozenset[str]) -> None:
    """
    Check a resolved *address* before it is dialled.

    Raises:
        AddressRefused: With its class, and what the operator would have to list.
    """
    if is_allowed(address, port, allow_addresses):
        return
    why = "metadata service" if host in METADATA_NAMES else address_class(address)
    if why is None and port in BAD_PORTS:
        why = f"on port {port}, which is another protocol's"
    if why is not None:
        raise AddressRefused(
            f"{host} is {address}: {why}.",
            hint=f'The operator can list it: allow_addresses = ["{address}"] in codemode.toml.',
        )
