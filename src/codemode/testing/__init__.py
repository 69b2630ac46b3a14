"""For users' own tests: a fake service on loopback, and an engine that runs plain functions."""

from codemode.sandbox.fake import FakeEngine, FakeSandbox
from codemode.testing.upstream import FakeReply, FakeRequest, FakeUpstream

__all__ = ["FakeEngine", "FakeReply", "FakeRequest", "FakeSandbox", "FakeUpstream"]
