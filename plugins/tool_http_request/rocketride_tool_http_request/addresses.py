# SPDX-License-Identifier: MIT
"""Which IP addresses may be connected to."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

__all__ = ["Allowed", "kind_of"]

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# What the standard library of one of our Python versions takes for public, or calls by a name that says less.
_SPECIAL: tuple[tuple[str, Network], ...] = tuple(
    (name, ipaddress.ip_network(network))
    for name, network in (
        ("an IPv4-mapped", "::ffff:0:0/96"),
        ("an IPv4-translated", "::ffff:0:0:0/96"),
        ("a NAT64", "64:ff9b::/96"),
        ("a NAT64", "64:ff9b:1::/48"),
        ("a 6to4", "2002::/16"),
        ("a 6to4", "192.88.99.0/24"),
        ("a Teredo", "2001::/32"),
        ("a site-local", "fec0::/10"),
        ("a documentation", "3fff::/20"),
        ("a segment routing", "5f00::/16"),
        ("a reserved", "0.0.0.0/8"),
        ("a shared", "100.64.0.0/10"),
        ("a reserved", "192.0.0.0/24"),
        ("a cloud platform's internal", "168.63.129.16/32"),
    )
)


def kind_of(address: Address) -> str:
    """What keeps an address from being public, as "a private"; "" for a public one."""
    if address.is_unspecified:
        return "an unspecified"
    if address.is_loopback:
        return "a loopback"
    for name, network in _SPECIAL:
        if address in network:
            return name
    if address.is_link_local:
        return "a link-local"
    if address.is_multicast:
        return "a multicast"
    if address.is_reserved:
        return "a reserved"
    return "" if address.is_global else "a private"


class Allowed:
    """The addresses that may be connected to.

    Parameters:
        private: private and loopback ones, too.
        listed: host names, addresses and networks that are allowed whatever they are.

    Raises:
        ValueError: an item is none of these.
    """

    def __init__(self, private: bool, listed: Iterable[str]) -> None:
        self._private = private
        self._networks: list[Network] = []
        self._hosts: set[str] = set()
        for item in listed:
            bare = item.strip().strip("[]").rstrip(".").lower()
            try:
                self._networks.append(ipaddress.ip_network(bare, strict=False))
            except ValueError:
                if not re.fullmatch(r"(?=.*[a-z_])[\w-]+(\.[\w-]+)*", bare):
                    raise ValueError("an item of allowedAddresses is no host name, IP address or network") from None
                self._hosts.add(bare)

    def refused(self, host: str, address: str) -> str:
        """Why a connection for `host` may not be made to that address: the kind of the address; "" where it may."""
        if host.rstrip(".").lower() in self._hosts:
            return ""
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return "an unreadable"
        kind = kind_of(found)
        if not kind or (self._private and kind in {"a private", "a loopback"}):
            return ""
        return "" if any(found in network for network in self._networks) else kind
