"""
A loopback service that knows real operations and refuses any other request.

`facts/*.json` hold the structure of operations (method, path, parameters, body)
from descriptions of the services, never from the rows that are tested against
them. Each file names its origin.
"""

from upstream.service import FactUpstream

__all__ = ["FactUpstream"]
