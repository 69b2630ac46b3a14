"""Where an HTTP answer may send a call next. Decided anew at every hop."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urljoin, urlsplit

from codemode.core.address import DEFAULT_PORTS, Destination
from codemode.core.call import HttpRequest, Response
from codemode.errors import AddressRefused, UpstreamError

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MAX_HOPS = 5
_KEPT_ELSEWHERE = frozenset({"accept", "accept-language", "user-agent", "range"})


def location(response: Response) -> str | None:
    """Where a redirect points, or None if the answer is none."""
    if response.status not in REDIRECTS:
        return None
    return response.headers.get("location")


def follow(request: HttpRequest, target: str, status: int, n_hops: int) -> HttpRequest:
    """
    The next request, without a credential (the caller decides that anew).

    Refused: more than `MAX_HOPS`; https to http; user information; another port
    that is not the scheme's own; ``//host`` and backslashes; a body sent to
    another origin.

    Args:
        request: What was sent, as it was before its credential was attached.
        n_hops: Redirects followed before this one.

    Raises:
        UpstreamError: Saying what is wrong with the redirect.
    """
    if n_hops >= MAX_HOPS:
        raise _refused(f"more than {MAX_HOPS} of them", status)
    if target.startswith("//") or "\\" in target or not target.isprintable():
        raise _refused("it points to an address in a form that is not followed", status)
    here = Destination.of(request.url)
    url = urljoin(request.url, target).partition("#")[0]
    try:
        there = Destination.of(url)
    except AddressRefused as error:
        raise _refused(error.message, status) from None
    if here.scheme == "https" and there.scheme == "http":
        raise _refused("it leads from https to http", status)
    if there.port not in (here.port, DEFAULT_PORTS[there.scheme]):
        raise _refused(f"it leads to port {there.port}", status)
    parts = urlsplit(url)
    path = parts.path or "/"
    url = f"{there}{path}" + (f"?{parts.query}" if parts.query else "")
    becomes_get = status == 303 and request.method != "HEAD"
    becomes_get = becomes_get or (status in (301, 302) and request.method == "POST")
    following = replace(request, url=url)
    if becomes_get:
        headers = tuple(
            item for item in request.headers if not item[0].lower().startswith("content-")
        )
        following = replace(following, method="GET", headers=headers, body=b"")
    if there != here:
        if following.method not in ("GET", "HEAD"):
            raise _refused(f"it would send a {following.method} to {there}", status)
        headers = tuple(item for item in following.headers if item[0].lower() in _KEPT_ELSEWHERE)
        following = replace(following, headers=headers)
    return following


def _refused(why: str, status: int) -> UpstreamError:
    return UpstreamError(f"A redirect was not followed: {why}.", status=status)
