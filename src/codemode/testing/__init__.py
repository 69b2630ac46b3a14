"""For users' own tests: a fake service on loopback."""

from codemode.testing.upstream import FakeReply, FakeRequest, FakeUpstream

__all__ = ["FakeReply", "FakeRequest", "FakeUpstream"]
