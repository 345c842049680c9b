"""The conformance handler of the published Python SDK, written with its own calls.

It follows the agreement with a handler subject (CONFORMANCE.md): it reads its whole
log, then does what the latest entry named conform/instructions asks for.
"""

import base64
import json
import os

import pugmark
from pugmark.http import WSGIPugmark, serve

PACKED = lambda body: {"body": base64.b64encode(body).decode()}
TYPES = {"text": "text/plain", "json": "application/json", "base64": "application/octet-stream"}


def attempt(call, show):
    """What the SDK returned, or the error that it raised."""
    try:
        return show(call())
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def entry(obj):
    seen = {"event": obj.event(), "name": obj.name(), "content-type": obj.content_type()}
    seen |= {"schema-url": obj.schema_url(), "metadata": obj.metadata()}
    return seen | attempt(obj.body, PACKED)


def event(e):
    return {"event": str(e)} | ({"name": e.object.name()} if isinstance(e, pugmark.PushEvent) else {})


def observe(session, do, events, entries):
    seen = {"session": session.session_id() or "", "agent": session.agent() or ""}
    seen |= {"metadata": session.metadata(), "entries": [*map(entry, entries)], "events": [*map(event, events)]}
    seen |= {} if session.snapshot() is None else {"snapshot": session.snapshot()}
    session.write_json(seen, name="conform/observed")


def arguments(do):
    return {k.replace("-", "_"): v for k, v in do.items() if k != "op"}


def write(session, do, *_):
    if "content-encoding" in do:  # the SDK decodes such a body before it sends it
        return unsupported(session, "write", "content-encoding")
    kind = next(kind for kind in TYPES if kind in do)
    value = base64.b64decode(do[kind]) if kind == "base64" else do[kind]
    fields = {k: v for k, v in arguments(do).items() if k not in TYPES and k != "helper"}
    if not fields.get("fork") and not fields.get("session"):
        helpers = {"text": session.write_text, "json": session.write_json, "base64": session.write_bytes}
        # To the general call a text is a text: as JSON only the helper can write it.
        call = helpers[kind] if do.get("helper") or kind == "json" and isinstance(value, str) else session.write
        return call(value, **{k: v for k, v in fields.items() if k not in ("fork", "session")})
    data = value if kind == "base64" else (value if kind == "text" else json.dumps(value)).encode()
    session.write(pugmark.LocalObject(pugmark.Output(data=data, **({"content_type": TYPES[kind]} | fields))))


def load(session, do, *_):
    read = {"text": session.load_text, "json": session.load_json, "bytes": session.load_bytes}[do["as"]]
    answer = {"name": do["name"], "as": do["as"], "found": session.load(do["name"]) is not None}
    if answer["found"]:
        show = (lambda v: {"base64": base64.b64encode(v).decode()}) if do["as"] == "bytes" else (lambda v: {do["as"]: v})
        answer |= attempt(lambda: read(do["name"]), show)
    session.write_json(answer, name="conform/loaded")


def memory(session, do, *_):
    read = lambda: session.load("memories/" + do["key"]).body()
    session.write_json({"key": do["key"]} | attempt(read, PACKED), name="conform/memory")


def unsupported(session, op, field=None):
    session.write_json({"op": op} | ({"field": field} if field else {}), name="conform/unsupported")


OPS = {"observe": observe, "write": write, "load": load, "memory": memory}
OPS |= {"write-remote": lambda session, do, *_: session.write_remote(**arguments(do))}
OPS |= {"pause": lambda session, do, *_: session.pause(do.get("reason", ""))}
OPS |= {"sleep": lambda session, do, *_: session.sleep(do["seconds"], do.get("reason", ""))}
OPS |= {"log": lambda session, do, *_: print(do["text"]), "fail": lambda *_: 1 / 0}  # the SDK's print is on stderr


def handle(session):
    events = list(session.events())  # reads the log to its end, and keeps it as the state
    entries = list(session.state())
    instructions = session.load_json("conform/instructions") or {"do": []}
    for do in instructions["do"]:
        if do["op"] in OPS:
            OPS[do["op"]](session, do, events, entries)
        else:
            unsupported(session, do["op"])


if os.environ.get("PUGMARK_RPC_URL"):
    serve(WSGIPugmark(handle))
else:
    handle(pugmark.default_session())
