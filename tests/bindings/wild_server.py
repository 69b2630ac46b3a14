"""
An MCP server for tests: answers well, badly, late or never. Run as a process of its own.

It speaks the protocol itself, without the SDK: that starts in a moment, and it can
break the protocol. The tool's name says how it answers. ``die`` ends the process in
mid call, after it has written the file it is given: a write that was applied but
never confirmed.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOLS = [
    {"name": "pid", "description": "Process id.", "inputSchema": {"type": "object"}},
    {"name": "mismatch", "inputSchema": {"type": "object"}, "outputSchema": NUMBER},
]

writing = threading.Lock()
roots = threading.Event()
told = []


def send(**message):
    with writing:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def text(*parts, error=False, structured=None):
    result = {"content": [{"type": "text", "text": part} for part in parts], "isError": error}
    return result if structured is None else {**result, "structuredContent": structured}


def answer(name, args):
    match name:
        case "pid":
            return text(str(os.getpid()))
        case "environment":
            return text(json.dumps(dict(os.environ)))
        case "place":
            return text(json.dumps({"argv": sys.argv[1:], "cwd": str(Path.cwd())}))
        case "parts":
            return text("first", "second")
        case "structured":
            return text("not this", structured={"n": 2**60})
        case "mismatch":
            return text("x", structured={"n": "not a number"})
        case "json":
            return text('{"n": 1}')
        case "fails":
            return text("no such", "record", error=True)
        case "image":
            return {"content": [{"type": "image", "data": "AAEC", "mimeType": "image/png"}]}
        case "resource":
            inside = {"uri": "x:1", "mimeType": "text/plain", "text": "inside"}
            link = {"type": "resource_link", "uri": "x:2", "name": "two"}
            return {"content": [{"type": "resource", "resource": inside}, link]}
        case "long":
            return text("x" * int(args["n"]))
        case "nonsense":
            return {"content": "no list"}
        case "sleep":
            time.sleep(args["s"])
            return text("awake")
        case "die":
            if args.get("file"):
                Path(args["file"]).write_text("applied")
            os._exit(3)
        case "roots":
            send(id="roots", method="roots/list")
            roots.wait(10)
            return text(json.dumps(told))
    return None


def call(number, params):
    result = answer(params["name"], params.get("arguments") or {})
    if result is None:
        token = os.environ.get("TOKEN")
        send(id=number, error={"code": -32602, "message": f"no tool {params['name']} {token}"})
    else:
        send(id=number, result=result)


def handle(message):
    match message:
        case {"id": number, "method": "initialize", "params": params}:
            about = {"name": "wild", "version": "1"}
            version = params["protocolVersion"]
            capable = {"tools": {}}
            send(
                id=number,
                result={"protocolVersion": version, "capabilities": capable, "serverInfo": about},
            )
        case {"id": number, "method": "tools/list"}:
            send(id=number, result={"tools": TOOLS})
        case {"id": number, "method": "tools/call", "params": params}:
            threading.Thread(target=call, args=(number, params), daemon=True).start()
        case {"id": "roots", "result": {"roots": found}}:
            told.extend(root["uri"] for root in found)
            roots.set()
        case {"id": number, "method": method}:
            send(id=number, error={"code": -32601, "message": f"no method {method}"})


if "--refuse" in sys.argv:
    sys.exit(f"this server has a bad day with {os.environ.get('TOKEN')}")
if "--chatty" in sys.argv:
    print("Welcome to the wild server!", flush=True)
for line in sys.stdin:
    handle(json.loads(line))
os._exit(0)
