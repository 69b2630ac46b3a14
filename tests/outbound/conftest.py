from __future__ import annotations

import pytest
from hypothesis import settings

from outbound.flows import Supplier

# A slow machine is no failure; every test has pytest's own deadline.
settings.register_profile("outbound", deadline=None)
settings.load_profile("outbound")


@pytest.fixture
def supplier() -> Supplier:
    return Supplier()
