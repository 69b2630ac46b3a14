"""Arguments become words of a command, one for one, and nothing else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bindings.goldens import BINDINGS, HostWorkspace, rows

from codemode.bindings._command import ENVIRONMENT, CommandSender
from codemode.bindings.cli import BINDING
from codemode.core.call import Response, SendContext
from codemode.core.run import CommandResult
from codemode.core.tool import Binding, Tool, Toolset
from codemode.errors import (
    BadAnswer,
    BadArguments,
    InvalidRow,
    NeedsContainer,
    OutcomeUnknown,
    ResponseTooLarge,
    UpstreamError,
    UpstreamTimeout,
)

TEXT = {"type": "string"}
FILE = {"type": "string", "format": "file"}
MANY = {"type": "array", "items": TEXT}
ARGS = {
    "type": "object",
    "properties": {
        "text": TEXT,
        "file": FILE,
        "files": {"type": "array", "items": FILE},
        "words": MANY,
        "n": {"type": "integer"},
        "x": {"type": "number"},
        "on": {"type": "boolean"},
        "kind": {"enum": ["a", "b"]},
        "any": {},
        "level": {"type": "integer", "default": 3},
    },
}


def tool(argv=(), *, effect="read", returns=None, **binding):
    fields = {"binary": ["prog"], "argv": list(argv), **binding}
    return Tool(
        toolset=Toolset(name="cases", description="Cases."),
        name="case",
        description="One thing.",
        when_to_use="In a test.",
        args=ARGS,
        returns=returns,
        effect=effect,
        binding=Binding(via="cli", spec=BINDING.parse(fields, args=ARGS)),
    )


def words(argv, args):
    return list(BINDING.prepare(tool(argv), args, {}).command.argv)


@pytest.mark.parametrize(
    ("argv", "args", "expected"),
    [
        (["a", "b"], {}, ["a", "b"]),
        ([{"arg": "text"}], {"text": "x y; rm -rf /"}, ["x y; rm -rf /"]),
        ([{"arg": "text"}], {}, []),
        ([{"arg": "text"}], {"text": None}, []),
        ([{"arg": "text"}], {"text": ""}, [""]),
        ([{"flag": "--w", "arg": "n"}], {"n": 3}, ["--w", "3"]),
        ([{"flag": "--w=", "arg": "n"}], {"n": -3}, ["--w=-3"]),
        ([{"flag": "-e", "arg": "text"}], {"text": "-x"}, ["-e", "-x"]),
        (["--", {"arg": "text"}], {"text": "-x"}, ["--", "-x"]),
        ([{"flag": "-v", "arg": "on", "when": True}], {"on": True}, ["-v"]),
        ([{"flag": "-v", "arg": "on", "when": True}], {"on": False}, []),
        ([{"flag": "-q", "arg": "on", "when": False}], {"on": False}, ["-q"]),
        ([{"flag": "-q", "arg": "on", "when": False}], {}, []),
        ([{"flag": "-a", "arg": "kind", "when": "a"}], {"kind": "b"}, []),
        ([{"arg": "words", "repeat": True}], {"words": ["a", "b c"]}, ["a", "b c"]),
        (
            [{"flag": "-i", "arg": "words", "repeat": True}],
            {"words": ["a", "b"]},
            ["-i", "a", "-i", "b"],
        ),
        ([{"flag": "-f", "arg": "words", "join": ","}], {"words": ["a", "b"]}, ["-f", "a,b"]),
        ([{"text": "{n}x{x}+{level}"}], {"n": 1, "x": 2.0}, ["1x2+3"]),
        ([{"text": "{n}x{x}"}], {"n": 1}, []),
        ([{"text": "-r{n}"}], {"n": 1}, ["-r1"]),
        ([{"flag": "-l", "arg": "level"}], {}, ["-l", "3"]),
        ([{"arg": "any"}], {"any": {"a": [1, "é"]}}, ['{"a": [1, "é"]}']),
        ([{"arg": "x"}], {"x": 0.5}, ["0.5"]),
        ([{"arg": "n"}], {"n": 2**70}, [str(2**70)]),
    ],
)
def test_argv(argv, args, expected):
    assert words(argv, args) == expected


@pytest.mark.parametrize(
    ("argv", "args"),
    [
        ([{"arg": "text"}], {"text": "-rf"}),
        ([{"arg": "text"}], {"text": "--exec=x"}),
        ([{"arg": "n"}], {"n": -1}),
        ([{"arg": "words", "repeat": True}], {"words": ["a", "-b"]}),
        ([{"text": "{text}.png"}], {"text": "-x"}),
        (["-f", {"arg": "text"}], {"text": "-x"}),
        ([{"arg": "text"}, "--"], {"text": "-x"}),
        ([{"flag": "-e", "arg": "text"}], {"text": "a\0b"}),
        ([{"flag": "-e", "arg": "text"}], {"text": "\ud800"}),
    ],
)
def test_a_value_that_a_program_would_misread_is_refused(argv, args):
    with pytest.raises(BadArguments):
        words(argv, args)


@pytest.mark.case("attack:73")
@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../x", "a/../../x", "..", "-rf", "~/x", "a\\..\\b", "a\0b", "", "a\nb", 7],
)
@pytest.mark.parametrize("place", ["file", "files"])
def test_paths_that_leave_the_workspace_are_refused_wherever_they_stand(path, place):
    called = tool([{"flag": "-f", "arg": "file"}, "--", {"arg": "files", "repeat": True}])
    value = path if place == "file" else ["fine", path]
    with pytest.raises(BadArguments, match=place):
        BINDING.prepare(called, {place: value}, {})


@pytest.mark.parametrize("path", ["text:/etc/passwd", "@list", "host:file", "https://x/y"])
def test_a_path_that_a_program_takes_for_an_instruction_stays_a_path(path):
    argv = [{"arg": "file"}, {"text": "{file}[0]"}, {"arg": "files", "repeat": True}]
    called = tool(argv, outputs=["file"])
    request = BINDING.prepare(called, {"file": path, "files": [path, "a.b/c:d"]}, {})
    assert request.command.argv == (f"./{path}", f"./{path}[0]", f"./{path}", "a.b/c:d")
    assert request.outputs == (path,)


def test_a_path_is_checked_even_where_no_word_holds_it():
    with pytest.raises(BadArguments):
        BINDING.prepare(tool(["x"], stdin="file"), {"file": "../x"}, {})


ANY_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


@given(ANY_TEXT, st.lists(ANY_TEXT), st.integers())
def test_every_value_is_exactly_one_word_and_no_shell_is_there(text, many, n):
    argv = [{"flag": "-n", "arg": "n"}, "--", {"arg": "text"}, {"arg": "words", "repeat": True}]
    command = BINDING.prepare(tool(argv), {"text": text, "words": many, "n": n}, {}).command
    assert command.argv == ("-n", str(n), "--", text, *many)
    assert command.binaries == ("prog",)


@given(ANY_TEXT, st.booleans())
def test_no_value_becomes_an_option_unless_the_row_says_so(text, joined):
    argv = [{"text": "{text}!"}] if joined else [{"arg": "text"}]
    try:
        (word,) = words(argv, {"text": text})
    except BadArguments:
        assert text.startswith("-")
    else:
        assert not word.startswith("-")


def test_stdin_is_the_text_or_json_of_its_argument():
    assert BINDING.prepare(tool(stdin="text"), {"text": "é"}, {}).command.stdin == "é".encode()
    assert BINDING.prepare(tool(stdin="any"), {"any": [1]}, {}).command.stdin == b"[1]"
    assert BINDING.prepare(tool(stdin="any"), {}, {}).command.stdin == b""


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"binary": []}, "binding.binary"),
        ({"binary": ["/bin/sh"]}, "binding.binary"),
        ({"binary": ["a b"]}, "binding.binary"),
        ({"binary": "sh"}, "binding.binary"),
        ({"argv": "-c ls"}, "binding.argv"),
        ({"shell": "ls"}, "binding.shell"),
        ({"argv": [{"arg": "missing"}]}, "binding.argv[0].arg"),
        ({"argv": ["a", {"arg": "on"}]}, "binding.argv[1].when"),
        ({"argv": [{"arg": "words"}]}, "binding.argv[0].repeat"),
        ({"argv": [{"arg": "text", "repeat": True}]}, "binding.argv[0].repeat"),
        ({"argv": [{"arg": "words", "repeat": True, "join": ","}]}, "binding.argv[0].join"),
        ({"argv": [{"arg": "on", "when": True}]}, "binding.argv[0].when"),
        ({"argv": [{"text": "{missing}"}]}, "binding.argv[0].text"),
        ({"argv": [{"text": "x", "flag": "-x"}]}, "binding.argv[0]"),
        ({"argv": [{"arg": "text", "quote": True}]}, "binding.argv[0].quote"),
        ({"argv": [3]}, "binding.argv[0]"),
        ({"stdin": "missing"}, "binding.stdin"),
        ({"exit_ok": ["0"]}, "binding.exit_ok"),
        ({"exit_ok": [True]}, "binding.exit_ok"),
        ({"parse": "yaml"}, "binding.parse"),
        ({"outputs": ["missing"]}, "binding.outputs[0]"),
        ({"outputs": [{"glob": "{missing}"}]}, "binding.outputs[0].glob"),
        ({"env": {"A": 1}}, "binding.env"),
        ({"timeout_s": 0}, "binding.timeout_s"),
    ],
)
def test_a_wrong_binding_names_its_field(fields, field):
    with pytest.raises(InvalidRow) as caught:
        BINDING.parse({"binary": ["prog"], "argv": [], **fields}, args=ARGS)
    assert caught.value.field == field


def read(called, stdout=b"", *, status=0, detail="", value=None):
    request = BINDING.prepare(called, {"file": "out.txt"}, {})
    return BINDING.read(
        called, request, Response(status=status, body=stdout, detail=detail, value=value)
    )


def test_output_is_parsed_as_the_row_says():
    assert read(tool(), b"a\nb\n") == "a\nb"
    assert read(tool(), b"\xff") == "\ufffd"
    assert read(tool(parse="lines"), b"a\nb\n") == ["a", "b"]
    assert read(tool(parse="json"), b'{"a": 18014398509481985}') == {"a": 18014398509481985}
    assert read(tool(parse="json", empty=[]), b" \n") == []
    assert read(tool(parse="jc:kv"), b"Pages: 3\n") == {"Pages": "3"}
    with pytest.raises(BadAnswer, match=r"did not print JSON.*oops"):
        read(tool(parse="json"), b"oops")
    with pytest.raises(BadAnswer, match="no-such-parser"):
        read(tool(parse="jc:no-such-parser"), b"x")


def test_exit_codes_that_are_no_answer_carry_the_reason():
    with pytest.raises(UpstreamError, match=r"exit code 2\. no such file") as caught:
        read(tool(), status=2, detail="no such file\n")
    assert caught.value.status == 2
    assert read(tool(exit_ok=[0, 1]), b"x", status=1) == "x"


def test_files_made_are_the_answer():
    one = tool(outputs=["file"])
    assert read(one, value=[["out.txt"]]) == "out.txt"
    with pytest.raises(BadAnswer, match="did not make file"):
        read(one, value=[[]])
    many = tool(outputs=[{"glob": "{file}*"}])
    assert read(many, value=[["out.txt1", "out.txt2"]]) == ["out.txt1", "out.txt2"]
    both = tool(outputs=["file", {"glob": "x*"}])
    assert read(both, value=[["out.txt"], []]) == {"file": "out.txt", "x*": []}


def test_glob_signs_in_an_argument_stand_for_themselves():
    request = BINDING.prepare(tool(outputs=["file", {"glob": "{file}-*"}]), {"file": "a[1]*"}, {})
    assert request.outputs == ("a[[]1][*]", "a[[]1][*]-*")


class OneAnswer:
    """A workspace whose every command ends in the same way."""

    def __init__(self, result):
        self.result, self.commands = result, []

    async def run_command(self, command):
        self.commands.append(command)
        return self.result


def context(workspace, **changes):
    values = {"timeout_s": 30.0, "max_response_bytes": 1000, "run_id": "r", **changes}
    return SendContext(workspace=workspace, **values)


@pytest.mark.parametrize(
    ("result", "effect", "error"),
    [
        (CommandResult(exit_code=None), "read", UpstreamError),
        (CommandResult(exit_code=-9, timed_out=True), "read", UpstreamTimeout),
        (CommandResult(exit_code=-9, timed_out=True), "write", OutcomeUnknown),
        (CommandResult(exit_code=0, truncated=True), "read", ResponseTooLarge),
    ],
)
async def test_commands_that_gave_no_answer(result, effect, error):
    request = BINDING.prepare(tool(effect=effect), {}, {})
    with pytest.raises(error) as caught:
        await CommandSender().send(request, context(OneAnswer(result)))
    assert type(caught.value) is error
    assert caught.value.retryable == (error is UpstreamTimeout)


async def test_without_a_workspace_the_error_names_the_fix():
    with pytest.raises(NeedsContainer) as caught:
        await CommandSender().send(BINDING.prepare(tool(), {}, {}), context(None))
    assert "--engine container" in caught.value.hint


async def test_a_command_gets_no_more_time_or_output_than_its_run():
    workspace = OneAnswer(CommandResult(exit_code=0))
    await CommandSender().send(BINDING.prepare(tool(), {}, {}), context(workspace, timeout_s=5.0))
    (command,) = workspace.commands
    assert (command.timeout_s, command.max_output_bytes) == (5.0, 1000)
    assert command.env == ENVIRONMENT


async def test_a_shell_s_signs_reach_a_real_program_untouched(tmp_path):
    words = ["$(touch pwned)", "`touch pwned`", "; touch pwned", "*", "a b", "'\"", "\n"]
    script = "import json, sys; print(json.dumps(sys.argv[1:]))"
    called = tool(
        ["-c", script, "--", {"arg": "words", "repeat": True}], binary=["python3"], parse="json"
    )
    request = BINDING.prepare(called, {"words": words}, {})
    response = await CommandSender().send(request, context(HostWorkspace(tmp_path)))
    assert BINDING.read(called, request, response) == ["--", *words]
    assert list(tmp_path.iterdir()) == []


def test_parsers_that_rows_name_exist():
    import jc

    known = {name.replace("_", "-") for name in jc.parser_mod_list()}
    named = {
        row["binding"]["parse"].removeprefix("jc:")
        for _, row in rows("cli")
        if row["binding"].get("parse", "").startswith("jc:")
    }
    assert named
    assert named <= known


def test_every_row_that_runs_in_the_container_has_a_golden_case():
    without = [
        f"{file['toolset']}.{row['name']}"
        for via in BINDINGS
        for file, row in rows(via)
        if not row.get("golden")
    ]
    assert without == []


def test_file_arguments_of_rows_are_declared_as_files():
    """An argument that says it is a file or folder has the format, so that it is checked."""
    for via in BINDINGS:
        for file, row in rows(via):
            for name, schema in row["args"]["properties"].items():
                if name in ("input", "inputs", "output", "into", "folder", "prefix", "database"):
                    assert '"format": "file"' in json.dumps(schema), (file["toolset"], row["name"])
