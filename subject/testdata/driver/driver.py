"""A driver for the tests of package subject: it does what the word of a request says.

The word stands where the operation has room for one: in the agent of `start`, the
name of `push`, the trace context of `run`, and the session of the other two. What
begins with `raw:` is the answer's line, with ID for its number. With `stubborn` as
its argument nothing but force ends the driver.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

SESSION = "0123456789abcdef0123456789abcdef"
WORDS = {"start": "agent", "push": "name", "run": "traceparent"}
GOOD = {"start": {"session": SESSION}, "push": {}, "run": {}, "log": {"entries": []}, "inspect": {"session": SESSION}}
told = []  # every request, as it came
held = []  # requests that are answered later
stubborn = "stubborn" in sys.argv


def say(text):
    print(text, flush=True)


def answer(request, **more):
    say(json.dumps({"id": request["id"], **(more or {"ok": GOOD[request["op"]]})}))


def complain():
    for i in range(3000):
        print("line", i, "of many", file=sys.stderr)
    print("\x1b[31mthe cause\x1b[0m", file=sys.stderr, flush=True)


def wait(request):
    while not (pathlib.Path(request["store"]) / "go").exists():
        time.sleep(0.005)
    answer(request)


def act(request, word):
    if word.startswith("raw:"):
        say(word[4:].replace("ID", str(request["id"])))
    elif word == "requests":
        answer(request, ok={"entries": told})
    elif word == "pid":
        answer(request, ok={"entries": [{"pid": os.getpid()}]})
    elif word == "environment":
        ours = {k: v for k, v in os.environ.items() if k.startswith("PUGMARK_")}
        (pathlib.Path(request["store"]) / "environment").write_text(json.dumps(ours))
        answer(request)
    elif word == "never":
        subprocess.Popen(["sleep", "60"])
        (pathlib.Path(request["store"]) / "never").touch()
    elif word == "late":
        held.append(request)
        (pathlib.Path(request["store"]) / "late").touch()
    elif word == "waits":
        threading.Thread(target=wait, args=[request], daemon=True).start()
        (pathlib.Path(request["store"]) / "waits").touch()
    elif word == "now":
        answer(request)
        while held:
            answer(held.pop())
    elif word == "twice":
        say("\n".join([json.dumps({"id": request["id"], "ok": GOOD[request["op"]]})] * 2))
    elif word == "noise":
        complain()
        answer(request)
    elif word == "bytes":
        sys.stdout.buffer.write(b'{"id":%d,"ok":{"entries":[],"a":"\xff"}}\n' % request["id"])
        sys.stdout.flush()
    elif word == "half":
        print('{"id":%d,"ok":{"ent' % request["id"], end="", flush=True)
        sys.exit(0)
    elif word == "huge":
        for _ in range(40):
            sys.stdout.write("x" * 1000000)
        sys.stdout.flush()
    elif word == "large":
        answer(request, ok={"entries": [{"body": "x" * 5000000}]})
    elif word == "dies":
        complain()
        os._exit(3)
    elif word == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif word == "dies later":
        answer(request)
        os._exit(5)
    elif word == "leaves stdout open":
        subprocess.Popen(["sleep", "60"])
        os._exit(4)
    elif word == "closes stdout":
        os.close(1)
        time.sleep(60)
    elif word == "closes stdin":
        os.close(0)
        answer(request)
        time.sleep(60)
    elif word == "deaf":
        answer(request)
        time.sleep(60)
    else:
        answer(request)


if stubborn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
while line := sys.stdin.readline():
    request = json.loads(line)
    told.append(request)
    if request["op"] == "quit":
        for last in (p for p in sys.argv[1:] if "/" in p):
            pathlib.Path(last).write_text(line)
        say(json.dumps({"id": request["id"], "ok": {}}))
        if not stubborn:
            break
    else:
        act(request, request.get(WORDS.get(request["op"], "session"), ""))
while stubborn:
    time.sleep(60)
