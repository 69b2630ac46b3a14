"""The one JSON form of answers, the same at every edge and in the record of a run."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from codemode.core.run import CheckReport, Diagnostic, Preview, RunResult


def diagnostic_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """Lines and columns from 1; fields without content are left out."""
    found = asdict(diagnostic)
    found["suggestions"] = list(diagnostic.suggestions)
    for optional in ("tool", "signature", "suggestions", "end_line", "end_column"):
        if not found[optional]:
            del found[optional]
    return found


def preview_json(preview: Preview) -> dict[str, Any]:
    """``{"read": [...], "write": [...], "destructive": [...], "open": [...], "calls": [...]}``."""
    return {
        **preview.by_effect(),
        "open": list(preview.open_reasons),
        "calls": [asdict(call) | {"args": dict(call.args)} for call in preview.calls],
    }


def report_json(report: CheckReport) -> dict[str, Any]:
    """What ``check`` answers."""
    return {
        "language": report.language,
        "engine": report.engine,
        "diagnostics": [diagnostic_json(diagnostic) for diagnostic in report.diagnostics],
        "preview": preview_json(report.preview),
    }


def result_json(result: RunResult) -> dict[str, Any]:
    """What ``run`` answers. *files* carry sizes; their bytes travel beside this."""
    return {
        "run_id": result.run_id,
        "status": result.status,
        "engine": result.engine,
        "runtime": result.runtime,
        "value": result.value,
        "has_value": result.has_value,
        "error": None if result.error is None else asdict(result.error),
        "diagnostics": [diagnostic_json(diagnostic) for diagnostic in result.diagnostics],
        "preview": preview_json(result.preview),
        "calls": [asdict(call) for call in result.calls],
        "logs": [asdict(line) for line in result.logs],
        "files": [{"path": file.path, "bytes": len(file.data)} for file in result.files],
        "usage": asdict(result.usage),
        "truncated": list(result.truncated),
        "notes": list(result.notes),
    }


def diagnostic_text(diagnostic: Diagnostic) -> str:
    """A few lines that a model can act on at once."""
    where = f"{diagnostic.line}:{diagnostic.column}"
    lines = [f"{where} {diagnostic.severity} {diagnostic.code}: {diagnostic.message}"]
    if diagnostic.suggestions:
        lines.append(f"  nearest: {', '.join(diagnostic.suggestions)}")
    if diagnostic.signature:
        lines.append(f"  signature: {diagnostic.signature}")
    return "\n".join(lines)
