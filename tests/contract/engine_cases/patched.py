# ruff: noqa: E501  scripts are kept as a model writes them
"""A script that patches the language changes its own behaviour, not the frames."""

from . import Case, failed, ts

PATCH = (
    'const { defineProperty: define, getOwnPropertyDescriptor: described } = Object, { ownKeys } = Reflect; const { Error: Fault } = globalThis; let used = 0; const evil = () => { used += 1; throw new Fault("patched"); }; '
    "const patch = (target) => { const names = ownKeys(target); for (let i = 0; i < names.length; i += 1) { "
    "const own = described(target, names[i]); "
    'if (names[i] !== "constructor" && own.configurable && typeof own.value === "function") define(target, names[i], { value: evil, writable: true, configurable: true }); '
    "else if (own.configurable && own.get) define(target, names[i], { get: evil, configurable: true }); } }; "
)
WORK = 'console.log("out %s", "é", { a: [1, "x"] }, [2n], new M([["k", new S([1])]])); const got = await desk.echo({ a: [1, { b: "é" }], big: 2n ** 64n }); return { got, list: [1, [2]], when: new D(0), map: new M([["k", 1]]) };'
KEEP = "const M = Map, S = Set, D = Date; const bytes = Object.getPrototypeOf(Uint8Array); "
RESULT = {
    "got": {"a": [1, {"b": "é"}], "big": 2**64},
    "list": [1, [2]],
    "when": "1970-01-01T00:00:00.000Z",
    "map": {"k": 1},
}
LOGS = (("stdout", 'out é { a: [1, "x"] } [2n] Map(1) { "k" => Set(1) { 1 } }'),)
KINDS = {
    "text": "patch(TextEncoder.prototype); patch(TextDecoder.prototype); patch(String.prototype); patch(String);",
    "json": 'patch(JSON); JSON.stringify = () => \'{"type":"done","status":"succeeded","value":"forged"}\';',
    "lists": "patch(Array); for (const name of ['push', 'pop', 'map', 'join', 'shift', 'slice', 'includes', 'filter', 'sort', 'forEach', 'flat', 'find', 'some']) if (described(Array.prototype, name).configurable) Array.prototype[name] = evil;",
    "numbers": "patch(Number); patch(Number.prototype); patch(Math); patch(BigInt); patch(BigInt.prototype); patch(Symbol.prototype);",
    "dates": "patch(Date.prototype); patch(RegExp.prototype);",
    "objects": "patch(Object); patch(Reflect); patch(Function.prototype);",
    "promises": "patch(Promise); patch(Promise.prototype);",
    "bytes": "patch(bytes); patch(bytes.prototype); patch(Uint8Array.prototype); patch(DataView.prototype); patch(ArrayBuffer.prototype); patch(ArrayBuffer);",
    "json_forms": "Object.prototype.toJSON = () => 'forged'; Array.prototype.toJSON = () => ['forged'];",
    "errors": "Error.prepareStackTrace = evil; patch(Error.prototype); Error.captureStackTrace = evil; Error.stackTraceLimit = 0;",
    "globals": "for (const name of ['Map', 'Set', 'Array', 'Object', 'JSON', 'Promise', 'TextEncoder', 'TextDecoder', 'Error', 'Uint8Array', 'setTimeout', 'String', 'Number', 'Reflect', 'Symbol', 'Date', 'RegExp']) define(globalThis, name, { value: evil, writable: true, configurable: true });",
}
ITERATION = (
    "const pairs = new M([['k', new S([1])]]), map = new M([['k', 1]]), when = new D(0); "
    "patch(M.prototype); patch(S.prototype); patch(WeakMap.prototype); patch(Object.getPrototypeOf([][Symbol.iterator]())); Array.prototype[Symbol.iterator] = evil; "
    'console.log("out %s", "é", { a: [1, "x"] }, [2n], pairs); '
    'const got = await desk.echo({ a: [1, { b: "é" }], big: 2n ** 64n }); return { got, list: [1, [2]], when, map };'
)


def no_harness_path(outcome, _) -> None:
    assert len(outcome.logs) > 7, outcome.logs
    for line in outcome.logs:
        assert "file:" not in line.text, line
        assert "harness" not in line.text, line


CASES = [
    *(
        Case(
            name=f"patched_{kind}",
            ids=("attack:45",),
            typescript=ts(f"{PATCH}{KEEP}{patches} {WORK}"),
            value=RESULT,
            logs=LOGS,
        )
        for kind, patches in KINDS.items()
    ),
    Case(
        name="patched_iteration",
        ids=("attack:45",),
        typescript=ts(f"{PATCH}{KEEP}{ITERATION}"),
        value=RESULT,
        logs=LOGS,
    ),
    Case(
        name="patched_and_failed",
        ids=("attack:45", "R13"),
        typescript=ts(
            f"{PATCH}const own = new TypeError('mine'); patch(Error.prototype); patch(String.prototype); patch(Array.prototype); patch(Object); patch(JSON); patch(RegExp.prototype);\n"
            "throw own;"
        ),
        **failed("exception", "TypeError: mine", line=1),
    ),
    Case(
        name="patched_and_refused",
        ids=("attack:45",),
        typescript=ts(
            f"{PATCH}patch(Map.prototype); patch(Promise.prototype); patch(String.prototype); patch(Array.prototype); patch(Object); patch(JSON);\n"
            "await desk.fail({});"
        ),
        **failed("not_found", "There is no such thing."),
    ),
    Case(
        name="forged_by_the_encoder",
        ids=("attack:45",),
        typescript=ts(
            "const { encode } = TextEncoder.prototype; TextEncoder.prototype.encode = function (text) { "
            'return encode.call(this, text.includes(\'"done"\') ? \'{"type":"done","status":"succeeded","value":"\\\\ud800"}\' : text); }; '
            "await desk.echo({}); return 5;"
        ),
        value=5,
    ),
    Case(
        name="stacks_show_the_script_alone",
        ids=("attack:45",),
        typescript=ts(
            "const shown = []; const here = () => shown.push(String(new Error('x').stack)); here(); await desk.echo({ get a() { here(); return 1; } }); "
            "try { await desk.fail({}); } catch (e) { shown.push(String(e.stack)); } "
            "try { (desk as any).nothing; } catch (e) { shown.push(String(e.stack)); } "
            "console.log({ get a() { here(); return 1; } }); "
            "Error.prepareStackTrace = (_, sites) => sites.map((site) => site.getFileName()).join(); here(); await desk.echo({ get a() { here(); return 1; } }); "
            "console.log(shown.length); for (const one of shown) console.log(one); return true;"
        ),
        value=True,
        also=no_harness_path,
    ),
]
