"""A tiny runtime for the tests of command templates: it keeps what it was told.

It is no runtime of the protocol: a handler is run and not fed.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("op")
for name in "store session agent handler metadata body name type encoding schema url".split():
    parser.add_argument("--" + name)
parser.add_argument("--namespace", action="append")
parser.add_argument("--named", action="append")
parser.add_argument("--once", action="store_true")
words = sys.argv[1:]
rest = words[words.index("--") + 1:] if "--" in words else []
options = {k: v for k, v in vars(parser.parse_args(words[:-len(rest) - 1] if rest else words)).items() if v}
if rest:
    options["rest"] = rest
op = options.pop("op")
store = pathlib.Path(options.pop("store"))
session = options.get("session") or "0123456789abcdef0123456789abcdef"
file = store / session


def told(**more):
    trace = {k: os.environ[k] for k in ("TRACEPARENT", "TRACESTATE") if k in os.environ}
    with file.open("a") as f:
        print(json.dumps({"op": op, **options, **trace, **more}), file=f)


if op == "start":
    store.mkdir(parents=True, exist_ok=True)
    told()
    print("starting\n" + session)
elif not file.exists():
    sys.exit("there is no session " + session)
elif op == "push":
    told(body=pathlib.Path(options.pop("body")).read_bytes().hex())
elif op == "run":
    told()
    if rest and subprocess.run(rest).returncode:
        sys.exit("the handler has failed")
elif op == "log":
    print(file.read_text(), end="")
elif op == "inspect":
    print(json.dumps({"session": session, "version": len(file.read_text().splitlines())}, indent=2))
