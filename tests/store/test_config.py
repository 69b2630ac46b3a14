"""codemode.toml: strict, with the next action in every message."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from codemode.edges import cli
from codemode.errors import ConfigError
from codemode.store.config import Config, parse_config, read_config


def read(tmp_path: Path, text: str) -> Config:
    path = tmp_path / "codemode.toml"
    path.write_text(text, encoding="utf-8")
    return read_config(path)


@pytest.mark.parametrize(
    ("text", "named", "known"),
    [
        ("pool = 3", "pool", "engine"),
        ("[engine]\npoolsize = 3", "engine.poolsize", "pool_size"),
        ("[credentials.github]\ntoken = 'x'", "credentials.github.token", "provider"),
        ("[toolsets.github]\nurl = 'x'", "toolsets.github.url", "base_url"),
    ],
)
def test_unknown_keys_are_errors_that_name_what_is_known(
    tmp_path: Path, text: str, named: str, known: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert named in caught.value.message
    assert "codemode.toml" in caught.value.message
    assert known in caught.value.hint


def test_a_wrong_value_is_named_and_never_shown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, "[limits]\nwall_s = 'hunter2'")
    assert "limits.wall_s" in caught.value.message
    assert "hunter2" not in str(caught.value) + caught.value.hint


def test_text_that_is_not_toml_names_the_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="line 2"):
        read(tmp_path, "[engine]\nname = \nruntime = 1")


def test_paths_start_at_the_files_folder(tmp_path: Path) -> None:
    config = read(
        tmp_path,
        "directory = 'rows'\nstate = 'kept'\n[policy]\nfile = 'p.toml'\n"
        "[mcp_servers.s]\nroots = ['docs', '/srv']\ncwd = 'here'",
    )
    server = config.mcp_servers["s"]
    assert server == {"roots": [str(tmp_path / "docs"), "/srv"], "cwd": str(tmp_path / "here")}
    assert config.directory == tmp_path / "rows"
    assert config.state_folder == tmp_path / "kept"
    assert config.policy.file == tmp_path / "p.toml"


def test_the_file_that_init_writes_states_the_defaults() -> None:
    """Each commented value of a plain section, uncommented, is the default."""
    text = Path(cli.__file__).with_name("codemode.toml").read_text(encoding="utf-8")
    lines, section = [], ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.split("]")[0].strip("[")
            lines.append(f"[{section}]")
        elif (
            section in ("engine", "limits", "server", "audit")
            and line.startswith("# ")
            and " = " in line
            and not any(word in line for word in ("image", "docker_host", "file"))
        ):
            lines.append(line[2:])
    config = parse_config(tomllib.loads("\n".join(lines)), origin="init", base=Path())
    assert config == Config()
    assert len(lines) > 15


def test_a_run_may_only_shorten_its_time() -> None:
    limits = Config().limits
    assert limits.for_run(wall_s=5).wall_s == 5
    assert limits.for_run(wall_s=10_000).wall_s == limits.wall_s
    assert limits.for_run(wall_s=-1).wall_s == limits.wall_s
