from __future__ import annotations

import pytest

from outbound.flows import Supplier


@pytest.fixture
def supplier() -> Supplier:
    return Supplier()
