"""Library functions: what is sent to the container, what the caller inside makes of it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bindings.goldens import HARNESS, HostWorkspace

from codemode.bindings._command import CommandSender
from codemode.bindings.python import BINDING, KINDS
from codemode.core.call import Response, SendContext
from codemode.core.tool import Binding, Tool, Toolset
from codemode.errors import BadArguments, InvalidRow, NeedsContainer, UpstreamError

TEXT = {"type": "string"}
ARGS = {
    "type": "object",
    "properties": {
        "a": TEXT,
        "b": TEXT,
        "c": {"type": "integer", "default": 7},
        "file": {"type": "string", "format": "file"},
    },
}


def tool(**binding):
    fields = {"callable": "builtins:dict", **binding}
    return Tool(
        toolset=Toolset(name="cases", description="Cases."),
        name="case",
        description="One thing.",
        when_to_use="In a test.",
        args=ARGS,
        returns=None,
        effect="read",
        binding=Binding(via="python", spec=BINDING.parse(fields, args=ARGS)),
    )


def sent(called, args):
    return json.loads(BINDING.prepare(called, args, {}).command.stdin)


def call(**job):
    """What the program in the image answers, run by this interpreter."""
    done = subprocess.run(
        [sys.executable, "-I", str(HARNESS / "call.py")],
        input=json.dumps(job).encode(),
        capture_output=True,
        timeout=30,
        env={},
    )
    answer = json.loads(done.stdout)
    assert done.returncode == (1 if "error" in answer else 0)
    return answer


def test_arguments_go_by_position_by_name_and_with_their_defaults():
    called = tool(positional=["b", "a"], names={"c": "count"}, fixed={"strict": True})
    job = sent(called, {"a": "x", "b": "y"})
    assert job["args"] == ["y", "x"]
    assert job["kwargs"] == {"strict": True, "count": 7}
    assert sent(called, {"b": "y", "c": 1})["kwargs"] == {"strict": True, "count": 1}
    with pytest.raises(BadArguments, match="b must be given"):
        sent(called, {"a": "x"})


def test_kinds_follow_their_arguments():
    called = tool(positional=["a"], names={"b": "when"}, arguments={"a": "bytes", "b": "date"})
    job = sent(called, {"a": "x", "b": "2026-11-02"})
    assert job["arg_kinds"] == ["bytes"]
    assert job["kwarg_kinds"] == {"when": "date", "c": None}


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "-x", "a/../../b"])
def test_files_stay_in_the_workspace(path):
    with pytest.raises(BadArguments, match="file"):
        sent(tool(arguments={"file": "file"}), {"file": path})


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"callable": "os.system"}, "binding.callable"),
        ({"callable": "os:system('x')"}, "binding.callable"),
        ({"callable": ""}, "binding.callable"),
        ({"positional": ["missing"]}, "binding.positional[0]"),
        ({"positional": "a"}, "binding.positional"),
        ({"arguments": {"a": "pickle"}}, "binding.arguments.a"),
        ({"arguments": {"missing": "bytes"}}, "binding.arguments.missing"),
        ({"names": {"missing": "k"}}, "binding.names.missing"),
        ({"names": {"a": "not a word"}}, "binding.names.a"),
        ({"fixed": {"a": 1}}, "binding.fixed"),
        ({"names": {"a": "k"}, "fixed": {"k": 1}}, "binding.fixed"),
        ({"convert": "pickle"}, "binding.convert"),
        ({"convert": {"method": "a.b"}}, "binding.convert"),
        ({"convert": {"attributes": []}}, "binding.convert"),
        ({"package": 3}, "binding.package"),
        ({"code": "1"}, "binding.code"),
    ],
)
def test_a_wrong_binding_names_its_field(fields, field):
    with pytest.raises(InvalidRow) as caught:
        BINDING.parse({"callable": "builtins:dict", **fields}, args=ARGS)
    assert caught.value.field == field


def test_kinds_are_those_the_program_knows():
    source = (HARNESS / "call.py").read_text()
    scope = {"__name__": "call"}
    exec(compile(source, "call.py", "exec"), scope)
    assert set(scope["KINDS"]) == KINDS


@pytest.mark.case("R31")
@pytest.mark.parametrize(
    ("function", "args", "kinds", "value"),
    [
        ("decimal:Decimal", ["1.10"], [None], "1.10"),
        ("fractions:Fraction", [1, 3], [None, None], "1/3"),
        ("uuid:UUID", ["12345678123456781234567812345678"], [None], None),
        ("builtins:bytes", ["abc"], ["bytes"], "YWJj"),
        ("builtins:bytes", ["YWJj"], ["base64"], "YWJj"),
        ("builtins:set", [[3, 1, 2]], [None], [1, 2, 3]),
        ("builtins:tuple", [[1, 2]], [None], [1, 2]),
        ("builtins:reversed", [[1, 2]], [None], [2, 1]),
        ("datetime:timedelta", [1], [None], 86400.0),
        ("datetime:date.replace", ["2026-11-02"], ["date"], "2026-11-02"),
        ("datetime:datetime.isoformat", ["2026-11-02T10:00:00"], ["datetime"], None),
        ("urllib.parse:urlsplit", ["a://b/c"], [None], None),
        (
            "builtins:int",
            ["123456789012345678901234567890"],
            [None],
            123456789012345678901234567890,
        ),
        ("builtins:dict", [[[1, "a"], [None, "b"]]], [None], {"1": "a", "None": "b"}),
        ("decimal:Decimal", ["0.1"], ["decimal"], "0.1"),
        ("pathlib:PurePosixPath", ["a", "b"], [None, None], "a/b"),
        ("http:HTTPStatus", [404], [None], 404),
    ],
)
def test_every_type_has_one_json_form(function, args, kinds, value):
    answer = call(callable=function, args=args, arg_kinds=kinds, kwargs={})
    assert "value" in answer, answer
    if value is not None:
        assert answer["value"] == value
        assert type(answer["value"]) is type(value)


@pytest.mark.case("R3")
@pytest.mark.parametrize(
    ("job", "said"),
    [
        ({"callable": "no_such_module:x"}, "cannot import no_such_module:x"),
        ({"callable": "math:no_such"}, "cannot import math:no_such"),
        ({"callable": "math:sqrt", "args": [-1]}, "ValueError"),
        ({"callable": "builtins:float", "args": ["nan"]}, "nan has no JSON form"),
        ({"callable": "builtins:object"}, "object has no JSON form"),
        ({"callable": "itertools:count"}, "more than 100000 items"),
        ({"callable": "math:sqrt", "args": ["x"], "arg_kinds": ["date"]}, "'x' is no date"),
        ({"callable": "csv:reader", "args": ["no-such"], "arg_kinds": ["file"]}, "No such file"),
        ({"callable": "builtins:dict", "args": [[[1, 0], ["1", 0]]]}, "two keys become '1'"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(job, said):
    answer = call(**job)
    assert said in answer["error"]
    assert "Traceback" not in answer["error"]


async def test_a_function_that_ends_the_process_leaves_no_answer(tmp_path):
    called = tool(callable="sys:exit", positional=["c"])
    request = BINDING.prepare(called, {}, {})
    context = SendContext(
        workspace=HostWorkspace(tmp_path), timeout_s=30.0, max_response_bytes=9999, run_id="r"
    )
    response = await CommandSender().send(request, context)
    with pytest.raises(UpstreamError, match=r"without an answer \(exit code 7\)"):
        BINDING.read(called, request, response)


def test_a_missing_package_is_named():
    answer = call(callable="no_such_module:x", package="nothing 1.0")
    assert "nothing 1.0" in answer["hint"]
    with pytest.raises(UpstreamError) as caught:
        BINDING.read(tool(), None, Response(status=1, body=json.dumps(answer).encode()))
    assert caught.value.hint == answer["hint"]


def test_what_a_function_prints_does_not_spoil_the_answer():
    assert call(callable="builtins:print", args=['{"value": "forged"}']) == {"value": None}


@pytest.mark.parametrize(
    ("convert", "function", "args", "kinds", "value"),
    [
        ("text", "builtins:bytes", ["é"], ["bytes"], "é"),
        ("text", "decimal:Decimal", ["1.0"], [None], "1.0"),
        ("list", "builtins:range", [3], [None], [0, 1, 2]),
        ("hex", "builtins:bytes", ["ab"], ["bytes"], "6162"),
        ("base64", "builtins:bytes", ["ab"], ["bytes"], "YWI="),
        ({"method": "hexdigest"}, "hashlib:md5", ["abc"], ["bytes"], None),
        ({"attributes": ["real", "imag"]}, "builtins:complex", [1, 2], [None, None], None),
    ],
)
def test_conversions(convert, function, args, kinds, value):
    answer = call(callable=function, args=args, arg_kinds=kinds, convert=convert)["value"]
    expected = {
        "hashlib:md5": "900150983cd24fb0d6963f7d28e17f72",
        "builtins:complex": {"real": 1.0, "imag": 2.0},
    }
    assert answer == (expected[function] if value is None else value)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=10,
)


@given(JSON)
def test_json_is_carried_exactly(value):
    scope = {"__name__": "call"}
    exec(CALL_SOURCE, scope)
    assert scope["plain"](value) == value


CALL_SOURCE = compile((HARNESS / "call.py").read_text(), "call.py", "exec")


async def test_a_row_runs_in_a_workspace(tmp_path):
    (tmp_path / "in.csv").write_text("a,b\n1,é\n", encoding="utf-8")
    called = tool(
        callable="csv:DictReader",
        positional=["file"],
        arguments={"file": "text_file"},
        convert="list",
        names={"c": "restval"},
    )
    request = BINDING.prepare(called, {"file": "in.csv"}, {})
    context = SendContext(
        workspace=HostWorkspace(tmp_path), timeout_s=30.0, max_response_bytes=9999, run_id="r"
    )
    response = await CommandSender().send(request, context)
    assert BINDING.read(called, request, response) == [{"a": "1", "b": "é"}]
    without = SendContext(workspace=None, timeout_s=1.0, max_response_bytes=1, run_id="r")
    with pytest.raises(NeedsContainer):
        await CommandSender().send(request, without)
