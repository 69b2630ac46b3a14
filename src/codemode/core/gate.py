"""
The gate's own rules: what neither compiler covers, or could be talked out of.
"""

from __future__ import annotations

import re

from codemode.core.script import Script
from codemode.core.syntax import Source, blank

_SUPPRESSION = re.compile(
    r"@ts-(?=ignore|nocheck|expect-error)|#(?=\s*(?:type|ty|pyright|mypy)\s*:)", re.IGNORECASE
)


def neutralised(script: Script) -> str:
    """
    The runnable form as a checker may see it: no comment is left, nothing moves.

    A checker takes orders from comments, in more spellings than anyone lists. What
    still looks like one (a text that two parsers read differently) is defaced too.
    """
    source = Source(script.runnable, script.language)
    pieces: list[str] = []
    done = 0
    for node in source.walk():
        if node.type in ("comment", "hash_bang_line", "html_comment"):
            start, end = source.start(node), source.end(node)
            if start < done:
                continue
            pieces += (source.text[done:start], blank(source.text[start:end]))
            done = end
    text = "".join(pieces) + source.text[done:]
    return _SUPPRESSION.sub(lambda match: match[0][:-1] + "_", text)
