"""The directory and the credentials that a config leads to. Light: no engine, no checker."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from codemode.core.call import BindingModule
from codemode.core.credential import Credential
from codemode.core.tool import Directory
from codemode.store.config import Config
from codemode.store.credentials import load_credentials
from codemode.store.rows import load_directory
from codemode.store.shipped import shipped


def read_directory(
    config: Config,
    known: Mapping[str, BindingModule],
    credentials: Collection[str] | None = None,
) -> Directory:
    """
    The directory that *config* names, or the shipped one.

    Args:
        credentials: Names that rows may use; None for those that *config* leads to.
    """
    if credentials is None:
        credentials = read_credentials(config)
    folder = config.directory or shipped("directory")
    return load_directory(folder, known, credentials=credentials)


def read_credentials(config: Config) -> Mapping[str, Credential]:
    """The shipped credentials, with the operator's tables laid over them."""
    own = config.directory
    if own is not None and own.resolve() == shipped("directory"):
        own = None
    overrides = {
        name: section.model_dump(exclude_none=True, mode="json")
        for name, section in config.credentials.items()
    }
    return load_credentials(
        shipped("directory"), operator=overrides, imported=(own,) if own else ()
    )
