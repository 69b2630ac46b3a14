# ruff: noqa: E501  scripts are kept as a model writes them
"""Section L: limits that end a script, and what it finds when it looks around."""

from codemode.core.run import Limits

from . import Case, failed, py, ts

CPU = frozenset({"cpu_limit"})
MEMORY = frozenset({"memory_limit"})
FULL = frozenset({"full_python"})
SOON = Limits(wall_s=2.0, cpu_s=1.0)
WALL = Limits(wall_s=1.5, cpu_s=60.0)
SMALL = Limits(wall_s=30.0, cpu_s=20.0, memory_mib=96)

SECRET = "seeded-secret-4711"
"""The suite puts it into the host's environment before an engine starts."""


def timed_out(*message: str) -> dict:
    return {"status": "timed_out", "code": "timeout", "message": message}


def bounded(outcome, _) -> None:
    assert outcome.status in ("succeeded", "timed_out"), outcome


CASES = [
    Case(
        name="spin_until_wall",
        ids=("L1", "attack:59"),
        typescript=ts('console.log("before"); while (true) {}'),
        python=py('print("before")\nwhile True:\n    pass'),
        limits=WALL,
        logs=(("stdout", "before"),),
        **timed_out(),
    ),
    Case(
        name="spin_until_cpu",
        ids=("L1",),
        typescript=ts("while (true) {}"),
        python=py("while True:\n    pass"),
        needs=CPU,
        limits=Limits(wall_s=20.0, cpu_s=1.0),
        **timed_out("processor"),
    ),
    Case(
        name="sleep_until_wall",
        ids=("L1", "L17"),
        typescript=ts("await new Promise((r) => setTimeout(r, 60000));"),
        python=py("await asyncio.sleep(9)"),
        limits=WALL,
        **timed_out("1.5 s"),
    ),
    Case(
        name="endless_microtasks",
        ids=("attack:59",),
        typescript=ts("for (;;) await null;"),
        limits=WALL,
        **timed_out(),
    ),
    Case(
        name="spin_after_a_call",
        ids=("T15",),
        typescript=ts("await desk.echo({}); while (true) {}"),
        python=py("await desk.echo()\nwhile True:\n    pass"),
        limits=WALL,
        **timed_out(),
    ),
    Case(
        name="call_that_never_ends",
        ids=("attack:65",),
        typescript=ts("await desk.slow({ s: 60 });"),
        python=py("await desk.slow(s=60)"),
        limits=WALL,
        also=lambda _, desk: desk.cancelled == 1 or _fail(desk.cancelled),
        **timed_out(),
    ),
    Case(
        name="memory",
        ids=("L3", "attack:53"),
        typescript=ts("const a: any[] = []; for (;;) a.push(new Array(100000).fill(1.5));"),
        python=py("a = []\nwhile True:\n    a.append('a' * 10000000)"),
        needs=MEMORY,
        limits=SMALL,
        **failed("out_of_memory"),
    ),
    Case(
        name="memory_outside_the_heap",
        ids=("L3",),
        typescript=ts("const a: any[] = []; for (;;) a.push(new Uint8Array(10_000_000).fill(1));"),
        needs=MEMORY,
        limits=SMALL,
        **failed("out_of_memory"),
    ),
    Case(
        name="deep_recursion",
        ids=("attack:59",),
        typescript=ts("const f = (): number => f() + 1; f();"),
        python=py("def f():\n    return f() + 1\nf()"),
        **failed("exception"),
    ),
    Case(
        name="regular_expression",
        ids=("L5", "attack:59"),
        typescript=ts('/(a+)+$/.test("a".repeat(40) + "!"); return 1;'),
        python=py('import re\nre.match(r"(a+)+$", "a" * 40 + "!")\nreturn 1'),
        limits=SOON,
        also=bounded,
        status="timed_out",
    ),
    Case(
        name="network",
        ids=("L7", "attack:31"),
        typescript=ts(
            "const seen: string[] = [];\n"
            'for (const url of ["http://169.254.169.254/", "http://127.0.0.1:1/", "https://example.com/", "file:///etc/passwd"]) {\n'
            '  try { await fetch(url, { signal: AbortSignal.timeout(3000) }); seen.push("open"); } catch { seen.push("blocked"); }\n'
            "}\nreturn seen;"
        ),
        value=["blocked"] * 4,
    ),
    Case(
        name="no_sockets_at_all",
        ids=("L7", "attack:31"),
        unless=FULL,
        python=py(
            "seen = []\n"
            "try:\n    import socket\n    seen.append('socket')\nexcept ImportError:\n    pass\n"
            "try:\n    import urllib.request\n    seen.append('urllib')\nexcept ImportError:\n    pass\n"
            "try:\n    open('/etc/passwd').read()\n    seen.append('files')\nexcept Exception:\n    pass\n"
            "return seen"
        ),
        value=[],
    ),
    Case(
        name="native_code_that_nobody_needs",
        ids=("L7",),
        unless=frozenset({"files"}),
        typescript=ts(
            "const names = Object.getOwnPropertyNames(globalThis);\n"
            "return names.filter((n) => /gpu|image|canvas|worker|storage|navigator|socket|fetch|prompt/i.test(n));"
        ),
        value=[],
    ),
    Case(
        name="sockets",
        ids=("L7", "attack:31"),
        python=py(
            "import socket\nseen = []\n"
            "for host, port in (('169.254.169.254', 80), ('1.1.1.1', 443), ('172.17.0.1', 22)):\n"
            "    try:\n        socket.create_connection((host, port), 2)\n        seen.append('open')\n"
            "    except OSError:\n        seen.append('blocked')\n"
            "try:\n    socket.getaddrinfo('example.com', 80)\n    seen.append('open')\n"
            "except OSError:\n    seen.append('blocked')\nreturn seen"
        ),
        python_needs=FULL,
        value=["blocked"] * 4,
    ),
    Case(
        name="websocket_and_worker",
        ids=("L7",),
        typescript=ts(
            "const seen: string[] = [];\n"
            'try { const w = new WebSocket("ws://127.0.0.1:1/"); await new Promise((ok, no) => { w.onopen = ok; w.onerror = no; w.onclose = no; }); seen.push("open"); } catch { seen.push("blocked"); }\n'
            'try { new (globalThis as any).Worker("data:text/javascript,1", { type: "module" }); seen.push("open"); } catch { seen.push("blocked"); }\n'
            "return seen;"
        ),
        value=["blocked", "blocked"],
    ),
    Case(
        name="import_anything_else",
        ids=("L7", "C23"),
        typescript=ts(
            "const seen: string[] = [];\n"
            'for (const name of ["npm:left-pad", "https://example.com/x.ts", "node:fs", "node:child_process", "./x.ts", "file:///etc/passwd", "data:text/javascript,export default 1"]) {\n'
            '  try { await import(name); seen.push(name); } catch { seen.push("refused"); }\n'
            "}\nreturn seen;"
        ),
        value=["refused"] * 7,
    ),
    Case(
        name="function_constructor",
        ids=("L9",),
        typescript=ts(
            'const root: any = Function("return this")();\n'
            "const other: any = (desk.echo as any).constructor.constructor;\n"
            "const found = [typeof root.Deno, typeof root.require, typeof root.prompt, other === Function];\n"
            f'return [found, JSON.stringify(root.process?.env ?? {{}}).includes("{SECRET}")];'
        ),
        value=[["undefined"] * 3 + [True], False],
    ),
    Case(
        name="function_constructor_reaches_no_module",
        ids=("L9",),
        unless=frozenset({"files"}),  # where there are files, node:fs shows the sandbox's own
        typescript=ts(
            "const make: any = (desk.echo as any).constructor.constructor;\n"
            'try { await make("return import(\\"node:fs\\")")(); return "imported"; } catch { return typeof process; }'
        ),
        value="undefined",
    ),
    Case(
        name="subclasses_and_modules",
        ids=("L11",),
        python=py(
            "try:\n    n = len(().__class__.__base__.__subclasses__())\nexcept Exception:\n    n = 0\n"
            "try:\n    import os\n    found = str(dict(os.environ))\nexcept Exception:\n    found = ''\n"
            f"return '{SECRET}' in found"
        ),
        value=False,
    ),
    Case(
        name="frames_and_globals",
        ids=("L11",),
        python=py(
            "import sys, importlib\n"
            "seen = []\nframe = sys._getframe()\nwhile frame:\n    seen.append(str(frame.f_globals)[:100000])\n    frame = frame.f_back\n"
            "seen += [str(vars(m))[:20000] for m in list(sys.modules.values())]\n"
            f"return any('{SECRET[:6]}' + '{SECRET[6:]}' in one for one in seen)"
        ),
        python_needs=FULL,
        value=False,
    ),
    Case(
        name="overwritten_stub",
        ids=("L13",),
        typescript=ts(
            'try { (desk as any).forbidden = async () => "mine"; } catch {}\n'
            'try { await (desk as any).forbidden({}); return "allowed"; } catch (e) { return (e as any).code; }'
        ),
        python=py(
            "import tools\ntry:\n    tools.desk.extra = 1\nexcept Exception:\n    pass\n"
            "try:\n    await desk.forbidden()\n    return 'allowed'\nexcept ToolError as e:\n    return e.code"
        ),
        value="not_allowed",
    ),
    Case(
        name="spoilt_builtins",
        ids=("L13",),
        typescript=ts(
            "(JSON as any).stringify = () => 'null'; (Array.prototype as any).map = () => []; "
            "(globalThis as any).console = null; (Promise.prototype as any).then = undefined; return 1;"
        ),
        limits=WALL,
        status="succeeded",
        also=lambda outcome, _: (
            outcome.status in ("succeeded", "failed", "timed_out", "engine_lost") or _fail(outcome)
        ),
        value=None,
    ),
]

ANY_END = frozenset({"regular_expression", "spoilt_builtins"})
"""Cases whose end is the runtime's affair; ``also`` says what is promised."""


def _fail(value: object) -> None:
    raise AssertionError(repr(value))
