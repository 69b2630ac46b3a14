"""codemode: a directory of tools as a typed API, and one sandboxed run of a script against it."""
