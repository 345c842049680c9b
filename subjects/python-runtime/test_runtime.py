"""Tests of the runtime, in the order of the protocol's sections. Run with `python3 -m unittest`."""

import base64
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import runtime

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "runtime.py")

# What every small handler here starts with. `log` are the replayed entries, `event` is the lifecycle event.
PRELUDE = """
import base64, json, os, sys, time, urllib.error, urllib.request
def read():
    return [json.loads(line) for line in sys.stdin.buffer]
def out(body="", **fields):
    record = {key.replace("_", "-"): value for key, value in fields.items()}
    data = body if isinstance(body, bytes) else body.encode()
    if data:
        record["data"] = base64.b64encode(data).decode()
    sys.stdout.write(json.dumps(record) + "\\n")
    sys.stdout.flush()
def pause(reason="", **metadata):
    out(reason, content_type="application/vnd.pugmark.pause+text", metadata=metadata)
def get(url):
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.status, answer.read(), dict(answer.headers)
    except urllib.error.HTTPError as error:
        return error.code, b"", {}
def report(value):
    out(json.dumps(value), name="report")
"""
START = PRELUDE + """
inputs = read()
memory, log, event = inputs[0]["url"], inputs[1:-1], inputs[-1].get("event", "")
"""


def python(code, prelude=START):
    return [sys.executable, "-S", "-c", prelude + code]


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.store = os.path.join(folder.name, "store")
        silent = mock.patch.object(runtime, "note")
        self.notes = silent.start()
        self.addCleanup(silent.stop)

    def do(self, op, session=None, **request):
        return runtime.perform(op, {"store": self.store, "session": session, **request})

    def start(self, **request):
        return self.do("start", **request)["session"]

    def push(self, session, body, **fields):
        data = body if isinstance(body, bytes) else body.encode()
        return self.do("push", session, body=base64.b64encode(data).decode(), **fields)["version"]

    def once(self, session, code="", prelude=START, **request):
        request = request or {"command": python(code, prelude)}
        return self.do("run", session, once=True, **request)

    def entries(self, session):
        return self.do("log", session)["entries"]

    def bodies(self, session):
        return [base64.b64decode(entry["body"]).decode() for entry in self.entries(session) if "control" not in entry]

    def report(self, session, code="", **request):
        """What a handler on this session reports of itself."""
        self.once(session, code, **request)
        return json.loads([base64.b64decode(entry["body"]) for entry in self.entries(session)
                           if entry.get("name") == "report"][-1])

    def types(self, session):
        return [snapshot["type"] for snapshot in self.do("inspect", session)["snapshots"]]

    def fails(self, session, code="", pattern="", prelude=START, **request):
        before = self.do("inspect", session)
        with self.assertRaisesRegex(runtime.FailedInvocation, pattern):
            self.once(session, code, prelude, **request)
        self.assertEqual(self.do("inspect", session), before)


class Transports(Case):
    def test_commit_is_next_version(self):
        session = self.start()
        self.assertEqual(self.once(session, 'out("a", name="x"); out("b")'), {"version": 1, "state": "ran"})
        self.assertEqual(self.bodies(session), ["a", "b"])
        self.assertEqual([entry["sequence"] for entry in self.entries(session)], [1, 2])

    def test_failures_commit_nothing(self):
        session, other = self.start(), self.start()
        write = f'out("l"); out("m", name="memories/n/k"); out("x", session="{other}"); out("f", fork=True);'
        self.fails(session, write + "sys.stderr.write('because'); sys.exit(3)", "exit status 3.*because")
        self.fails(session, write + "os.kill(os.getpid(), 9)", "signal 9")
        self.fails(session, pattern="cannot start", command=["/nonexistent/handler"])
        self.assertEqual(self.bodies(other), [])
        self.assertEqual(self.report(session, 'report(get(memory + "n/k")[0])'), 404)
        with runtime.Store(self.store).read() as db:
            self.assertEqual(db.execute("SELECT count(*) FROM object").fetchone()[0], 1)

    def test_stderr_is_drained(self):
        session = self.start()
        self.once(session, 'sys.stderr.write("x" * 1000000); read(); out("good")', PRELUDE)
        self.assertEqual(self.bodies(session), ["good"])

    def test_exit_without_reading(self):
        session = self.start()
        for _ in range(300):
            self.push(session, "x" * 1000)
        self.once(session, command=["sh", "-c", "exec <&-; echo '{\"data\":\"QQ\"}'"])
        self.once(session, command=["sh", "-c", "echo '{\"data\":\"Qg\"}'"])
        self.assertEqual(self.bodies(session)[-2:], ["A", "B"])

    def test_child_that_holds_the_output(self):
        session, before = self.start(), time.monotonic()
        self.once(session, command=["sh", "-c", "sleep 5 & echo '{\"data\":\"QQ\"}'"])
        self.assertLess(time.monotonic() - before, 3)
        self.assertEqual(self.bodies(session), ["A"])

    def test_rpc(self):
        session = self.start(agent="me & you", metadata={"k": "é"})
        self.push(session, "x")
        code = """
import http.server, socket
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        inputs = self.rfile.read(int(self.headers["Content-Length"])).decode().splitlines()
        self.send_response(200)
        self.end_headers()
        if len(inputs) < 5:
            body = json.dumps([self.path, dict(self.headers), os.environ["PUGMARK_SESSION_ID"], os.getpid()])
            record = {"name": "report", "data": base64.b64encode(body.encode()).decode()}
            self.wfile.write(json.dumps(record).encode())
assert os.environ["PUGMARK_RPC_URL"] == "fd://3"
server = http.server.HTTPServer(("127.0.0.1", 0), Handler, bind_and_activate=False)
server.socket = socket.socket(fileno=3)
server.serve_forever()
"""
        answer = self.do("run", session, rpc=python(code, PRELUDE))
        self.assertEqual(answer, {"version": 3, "state": "idle"})
        first, second = [json.loads(body) for body in self.bodies(session)[1:]]
        self.assertEqual(first[0], f"/?agent=me+%26+you&session={session}&snapshot=1")
        headers = {name.lower(): value for name, value in first[1].items()}
        self.assertEqual(headers["content-type"], "application/json")
        self.assertEqual(headers["x-pugmark-session-metadata"], '{"k": "\\u00e9"}')
        self.assertRegex(headers["traceparent"], f"^00-{session}-[0-9a-f]{{16}}-01$")
        self.assertNotIn("transfer-encoding", headers)
        self.assertEqual(first[2], session)
        self.assertEqual(first[3], second[3])       # one process a run
        with self.assertRaises(ProcessLookupError):
            os.kill(first[3], 0)

    def serve(self, answer):
        """A raw HTTP service: `answer` gets the connection."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def accept():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    answer(connection)

        threading.Thread(target=accept, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}/serve?x=1"

    def test_http_answers(self):
        session = self.start()
        self.push(session, b"x" * 100)
        record = b'{"data":"QQ"}'

        def whole(connection):
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(1)
            length = int(re.search(rb"Content-Length: (\d+)", head)[1])
            while length:
                length -= len(connection.recv(length))
            return head

        def reply(status, length=len(record)):
            def answer(connection):
                whole(connection)
                connection.sendall(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, length, record))
            return answer

        self.once(session, url=self.serve(reply(b"200 OK")))
        self.assertEqual(self.bodies(session)[1:], ["A"])
        self.fails(session, pattern="answered 500", url=self.serve(reply(b"500 Oops")))
        self.fails(session, pattern="answered 202", url=self.serve(reply(b"202 Accepted")))
        self.fails(session, pattern="answered 302", url=self.serve(reply(b"302 Found\r\nLocation: http://127.0.0.1:1/")))
        self.fails(session, pattern="IncompleteRead", url=self.serve(reply(b"200 OK", 500)))
        self.fails(session, pattern="failed", url="http://127.0.0.1:1/")

    def test_http_answer_before_the_request_was_read(self):
        session = self.start()
        for _ in range(100):
            self.push(session, b"x" * 1024)
            self.push(session, os.urandom(1024))

        def answer(connection):
            connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"data":"QQ"}')

        url = self.serve(answer)
        for _ in range(5):
            self.once(session, url=url)
        self.assertEqual([entry["body"] for entry in self.entries(session)[-5:]], ["QQ=="] * 5)

    def test_metadata_too_large(self):
        session = self.start(metadata={"k": "x" * 200000})
        self.fails(session, pattern="limit.*PUGMARK_SESSION_METADATA")
        self.fails(session, pattern="limit of 65536", url="http://127.0.0.1:1/")


class WireFormat(Case):
    def raw(self, session, stream):
        self.once(session, f"sys.stdout.buffer.write({stream!r})")

    def test_framing(self):
        session = self.start()
        stream = b'\n\t {\r\n "data"\t:\n"QQ==" }{"data":"QUI","unknown":[1e999,{"a":null,"n":' + b"9" * 5000 + b'}]}'
        stream += b'{} {"name":"","metadata":{},"fork":false,"uri":null}{"data":"QUJD","name":"\xf0\x9f\x98\x80","size":7}'
        self.raw(session, stream)
        self.assertEqual(self.bodies(session), ["A", "AB", "ABC"])
        self.assertEqual(self.entries(session)[2]["name"], "\U0001f600")

    def test_garbage_is_refused(self):
        session = self.start()
        for stream, pattern in [
                (b'\xef\xbb\xbf{"data":"QQ"}', "byte-order mark"), (b'starting v1\n{"data":"QQ"}', "byte 0.*starting v1"),
                (b'{"data":"QQ"}{"data":"Q', "byte 13"), (b'{"name":"\xff"}', "byte 9"), (b'{"name":"\\ud800"}', "surrogate"),
                (b'[]', "no JSON object"), (b'null', "no JSON object"), (b'{"a":NaN}', "NaN"), (b'{"name":1}', "not a string"),
                (b'{"fork":1}', "not a boolean"), (b'{"fork":0}', "not a boolean"), (b'{"metadata":{"k":null}}', "null"),
                (b'{"metadata":{"k":1}}', "not a string"), (b'{"name":"a","name":"b"}', "twice"),
                (b'{"data":"Q"}', "base64"), (b'{"data":"QU_-"}', "base64"), (b'{"data":"QU\\nJD"}', "base64"),
                (b'{"data":"QQ="}', "base64"), (b'{"a":' + b"[" * 100000, "deeply"), (b'\xc2\xa0{"data":"QQ"}', "byte 0"),
                (b'{"content-type":"application/vnd.pugmark.control+json"}', "control"),
                (b'{"session":"../../x","name":"a"}', "not a session ID"), (b'{"fork":true,"session":"0"}', "not a session ID"),
                (b'{"name":"memories/../../x/y"}', "not a memory name"), (b'{"name":"memories/a/.."}', "not a memory name"),
                (b'{"uri":"s3://bucket/key"}', "cannot fetch"), (b'{"uri":"file:///nonexistent"}', "no such file")]:
            with self.subTest(stream[:40]):
                self.fails(session, f"sys.stdout.buffer.write({stream!r})", pattern)

    def test_uri(self):
        path = os.path.join(self.folder, "a body.bin")
        with open(path, "wb") as file:
            file.write(b"from a file")
        session = self.start()
        uri = "file://" + path.replace(" ", "%20")
        self.once(session, f'out(uri={uri!r}, name="n"); out("inline", uri={uri!r})')
        self.assertEqual(self.bodies(session), ["from a file", "inline"])


class Inputs(Case):
    def test_stream_order_and_lifecycle(self):
        session = self.start()
        self.push(session, "one", name="n", metadata={"k": "v"}, **{"content-type": "text/plain", "schema-url": "s"})
        first, entry, last = self.report(session, "report(inputs)")
        self.assertEqual(first["event"], "memory")
        self.assertTrue(first["url"].endswith("/"))
        self.assertEqual(last, {"event": "start"})
        url = entry.pop("url")
        self.assertRegex(url, r"^http://127\.0\.0\.1:\d+/sha256:[0-9a-f]{64}$")
        self.assertEqual(entry, {"event": "push", "size": 3, "content-type": "text/plain", "schema-url": "s", "name": "n",
                                 "metadata": {"k": "v"}, "data": base64.b64encode(b"one").decode()})
        self.assertEqual(self.report(session, "report(inputs)")[-1], {})

    def test_start_again_after_failure_and_empty_invocation(self):
        session = self.start()
        self.fails(session, "sys.exit(1)")
        self.assertEqual(self.once(session)["state"], "idle")
        self.assertEqual(self.report(session, "report(event)"), "start")
        self.assertEqual(self.report(session, "report(event)"), "")

    def tags(self, session):
        return self.report(session, 'report([i.get("event", "") for i in log])')

    def test_push_tags(self):
        session = self.start()
        self.push(session, "a")
        self.push(session, "b")
        self.assertEqual(self.tags(session), ["", "push"])
        self.once(session, 'out("c"); out("d"); pause("stop")')
        self.push(session, "e")
        self.push(session, "f")
        self.assertEqual(self.tags(session), [""] * 5 + ["push"] * 2)
        self.assertEqual(self.tags(session), [""] * 5 + ["push"] * 3)       # to the letter (R44)

    def test_objects(self):
        session, other = self.start(), self.start()
        self.push(session, b"L" * 5000, **{"content-type": "text/x", "content-encoding": "gzip"})
        self.push(session, b"s" * 1024)
        self.push(session, b"")
        self.push(session, "early", **{"content-type": "text/a"})
        self.push(session, "early", **{"content-type": "text/b"})
        self.push(other, "secret")
        large, small, empty, early, late, unknown, foreign = self.report(session, """
import hashlib
root = log[0]["url"].rsplit("/", 1)[0]
def shown(i):
    status, body, headers = get(i["url"])
    assert hashlib.sha256(body).hexdigest() == i["url"][-64:]
    assert "data" not in i or base64.b64decode(i["data"]) == body
    return [status, len(body), "data" in i, headers["Content-Type"], headers.get("Content-Encoding"), headers["Content-Length"]]
report([shown(i) for i in log] + [get(root + "/sha256:" + "0" * 64)[0],
       get(root + "/sha256:" + hashlib.sha256(b"secret").hexdigest())[0]])
""")
        self.assertEqual(large, [200, 5000, False, "text/x", "gzip", "5000"])
        self.assertEqual(small[:3], [200, 1024, True])
        self.assertEqual(empty[:3], [200, 0, False])
        self.assertEqual((early[3], late[3]), ("text/b", "text/b"))
        self.assertEqual((unknown, foreign), (404, 404))

    def test_one_copy(self):
        session, other = self.start(), self.start()
        self.push(session, "same")
        self.push(other, "same")
        self.once(session, 'out("same"); out("same", name="memories/n/k")')
        with runtime.Store(self.store).read() as db:
            self.assertEqual(db.execute("SELECT count(*) FROM object").fetchone()[0], 1)


class Memory(Case):
    def test_memory(self):
        session, other = self.start(), self.start()
        answer = self.once(session, """
out("1", name="memories/team/k", content_type="text/plain"); out("2", name="memories/team/ops/k")
out("3", name="memories/team/ops/eu/k"); out("4", name="memories/team/k"); out("5", name="memories/a b%2F/é")
out("6", name="memories/ab/x"); out("x", name="memories/team/ops2")
""")
        self.assertEqual(answer["state"], "idle")
        self.assertEqual(self.do("inspect", session)["version"], 0)
        found = self.report(other, """
keys = ["team/k", "team/ops/k", "team/ops/eu/k", "a%20b%252F/%C3%A9", "team/ops2", "a/x", "team/ops/eu/no/k", "team%2Fk",
        "team/ops%2Fk", "team", "", "../secret", "team/"]
report([body.decode() if status == 200 else status for status, body, _ in map(get, [memory + key for key in keys])])
""")
        self.assertEqual(found, ["4", "2", "3", "5", "x", 404, 404, 404, 404, 404, 404, 404, 404])

    def test_name_without_object_is_an_entry(self):
        session = self.start()
        self.once(session, 'out("e", name="memories/x"); out("e2", name="other/memories/x/y")')
        self.assertEqual(self.bodies(session), ["e", "e2"])

    def test_latest_wins_for_all_and_at_once(self):
        session = self.start()
        self.once(session, 'out("1", name="memories/n/k")')
        seen = self.report(session, f"""
import subprocess
first = get(memory + "n/k")[1].decode()
subprocess.run([sys.executable, {PROGRAM!r}, "--store", {self.store!r}, "run", {self.start()!r}, "--once", "--",
                "sh", "-c", "echo '{{\\"name\\":\\"memories/n/k\\",\\"data\\":\\"Mg\\"}}'"], stdout=2, check=True)
report([first, get(memory + "n/k")[1].decode()])
""")
        self.assertEqual(seen, ["1", "2"])

    def test_concurrent_writers(self):
        sessions = [self.start() for _ in range(6)]
        threads = [threading.Thread(target=self.once, args=(session, f'out("{n}", name="memories/n/k{n}")'))
                   for n, session in enumerate(sessions)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = self.report(sessions[0], 'report([get(memory + f"n/k{n}")[1].decode() for n in range(6)])')
        self.assertEqual(found, list("012345"))


class Pausing(Case):
    def control(self, session):
        return self.entries(session)[-1]["control"]

    def test_pure_pause(self):
        session = self.start()
        self.once(session, 'pause("no"); out("kept"); pause("why"); out("kept too")')
        self.assertEqual(self.control(session), {"status": "stopped", "reason": "why"})
        self.assertEqual(self.bodies(session), ["kept", "kept too"])
        self.assertEqual(self.once(session, "sys.exit(1)"), {"version": 1, "state": "paused"})
        self.push(session, "wake up")
        self.assertEqual(self.report(session, "report([event, len(log)])"), ["wake", 3])
        self.assertEqual(self.report(session, "report([event, len(log)])"), ["", 4])

    def test_sleep(self):
        session = self.start()
        self.once(session, 'pause("nap", duration="300ms")')
        due = runtime.datetime.datetime.fromisoformat(self.control(session)["start-at"]).timestamp()
        woke, event = self.report(session, "report([time.time(), event])")
        self.assertEqual(event, "wake")
        self.assertGreaterEqual(woke, due)

    def test_push_ends_a_sleep(self):
        session, before = self.start(), time.monotonic()
        self.once(session, 'pause("nap", duration="1m")')
        threading.Timer(0.3, self.push, (session, "now")).start()
        self.assertEqual(self.report(session, "report([event, [i.get('event') for i in log]])"), ["wake", ["push"]])
        self.assertLess(time.monotonic() - before, 20)

    def test_clamp(self):
        session, before = self.start(), time.time()
        self.once(session, 'pause("long", duration="99999999999999999999h0.5ms")')
        due = runtime.datetime.datetime.fromisoformat(self.control(session)["start-at"]).timestamp()
        self.assertTrue(before + 600 <= due <= time.time() + 600.001)

    def test_durations(self):
        for text, nanos in [("300ms", 300 * 10**6), ("1.5s", 1500 * 10**6), ("1m0.5s", 60500 * 10**6), ("0s", 0),
                            ("250us", 250000), ("250µs", 250000), ("1ns", 1), ("2h30m", 600 * 10**9), ("60.00s", 60 * 10**9)]:
            self.assertEqual(runtime.nanoseconds(text), nanos, text)
        for text in ["", "-5s", "+5s", "5", "0", "1h 30m", "1e3s", ".5s", "5.s", "5S", "s", "5s\n", "٣s"]:
            with self.assertRaises(runtime.BadRequest, msg=text):
                runtime.nanoseconds(text)

    def test_bad_duration_fails(self):
        session = self.start()
        self.fails(session, 'pause("x", duration="-5s")', "not a duration")

    def test_until_idle(self):
        session = self.start()
        code = """
if len(log) == 2 and event != "wake": pause(duration="0.2s")
elif len(log) < 4: out(event or "-")
else: pause("end")
"""
        self.assertEqual(self.do("run", session, command=python(code)), {"version": 6, "state": "paused"})
        self.assertEqual(self.bodies(session), ["start", "-", "wake", "-"])


class Forking(Case):
    CHILD = "c" * 32

    def fork(self, parent, more=""):
        self.once(parent, f'out("task", fork=True, session="{self.CHILD}", name="t", metadata={{"m": "1"}});' + more)

    def test_two_phases(self):
        parent = self.start(agent="A", handler="h", metadata={"p": "1"})
        self.push(parent, "before")
        handlers = {"h": {"command": python(f"""
out("task", fork=True, session="{self.CHILD}", name="t", metadata={{"m": "1"}})""")}}
        self.once(parent, handlers=handlers)
        with self.assertRaises(runtime.BadRequest):
            self.do("inspect", self.CHILD)
        recorded, control = self.do("inspect", parent)["snapshots"][1]["entries"]
        self.assertEqual((recorded["fork"], recorded["target-session"]), (True, self.CHILD))
        self.assertEqual(control["control"], {"status": "stopped"})         # the implicit pause
        for _ in range(2):                                                   # the pause holds; the child is made
            self.assertEqual(self.once(parent, handlers=handlers)["state"], "paused")
        child = self.do("inspect", self.CHILD)
        self.assertEqual((child["agent"], child["handler"], child["metadata"], child["parent"]),
                         ("A", "h", {"m": "1"}, {"session": parent, "version": 2}))
        (snapshot,) = child["snapshots"]
        self.assertEqual((snapshot["version"], snapshot["type"], len(snapshot["entries"])), (1, "normal", 1))
        self.assertNotIn("target-session", snapshot["entries"][0])
        self.push(parent, "after the fork")
        shown = 'report([event] + [[base64.b64decode(i["data"]).decode(), i.get("event", "")] for i in log])'
        handlers = {"h": {"command": python(shown)}}
        self.assertEqual(self.report(self.CHILD, handlers=handlers), ["fork", ["before", ""], ["task", "push"]])
        self.assertEqual(self.report(self.CHILD, handlers=handlers)[0], "")
        self.assertEqual(self.report(parent, handlers=handlers), ["wake", ["before", ""], ["after the fork", "push"]])

    def test_random_child_and_no_pause_beside_entries(self):
        parent = self.start()
        self.once(parent, 'out("a", fork=True); out("b", fork=True); out("local")')
        first, second, local = self.entries(parent)
        self.assertNotEqual(first["target-session"], second["target-session"])
        self.assertEqual(self.report(parent, "report(len(log))"), 1)
        self.assertEqual(self.bodies(first["target-session"])[-1], "a")

    def test_memory_beside_forks_still_pauses(self):
        parent = self.start()
        self.fork(parent, 'out("m", name="memories/n/k")')
        self.assertIn("control", self.entries(parent)[-1])

    def test_push_between_the_phases(self):
        parent = self.start()
        self.fork(parent)
        self.push(parent, "p")
        self.assertEqual(self.report(parent, "report([event, len(log)])"), ["wake", 1])
        self.assertEqual(self.bodies(self.CHILD), ["task", "task"])     # the parent's record, then the child's entry

    def test_existing_child(self):
        parent = self.start()
        self.start(session=self.CHILD, agent="other")
        self.fork(parent, 'out("l")')
        self.once(parent)
        child = self.do("inspect", self.CHILD)
        self.assertEqual((child["agent"], child["version"]), ("other", 1))
        self.fork(parent, 'out("l")')
        self.once(parent)
        self.assertEqual(self.do("inspect", self.CHILD), child)
        self.assertIn("left alone", self.notes.call_args[0][0])

    def test_grandchild_sees_the_chain(self):
        parent, grandchild = self.start(), "d" * 32
        self.push(parent, "p")
        self.fork(parent)
        self.once(parent)
        self.once(self.CHILD, f'out("c"); out("sub", fork=True, session="{grandchild}")')
        self.once(self.CHILD)
        self.assertEqual(self.report(grandchild, 'report([base64.b64decode(i["data"]).decode() for i in log])'),
                         ["p", "task", "c", "sub"])


class CrossWrites(Case):
    def test_provisional_snapshot_with_source(self):
        writer, target = self.start(), self.start()
        self.once(writer, f'out("1", session="{target}", name="n"); out("self", session="{writer}"); out("2", session="{target}")')
        dump = self.do("inspect", target)
        self.assertEqual(self.types(target), ["provisional"])
        first, second = dump["snapshots"][0]["entries"]
        self.assertEqual((first["source-session"], first["source-version"], first["name"]), (writer, 1, "n"))
        self.assertEqual(self.report(writer, "report([base64.b64decode(i['data']).decode() for i in log])"), ["self"])
        self.assertEqual(self.report(target, "report([[i['event'], base64.b64decode(i['data']).decode()] for i in log])"),
                         [["push", "1"], ["push", "2"]])

    def test_no_pause_and_each_write_once(self):
        writer, target = self.start(), self.start()
        for n in range(3):
            self.assertEqual(self.once(writer, f'out("{n}", session="{target}")')["state"], "ran")
        self.assertEqual(self.bodies(target), ["0", "1", "2"])

    def test_missing_target(self):
        self.fails(self.start(), f'out("l"); out("x", session="{"e" * 32}")', "does not exist")

    def test_wakes_a_paused_target(self):
        writer, target = self.start(), self.start()
        self.once(target, "pause()")
        self.once(writer, f'out("x", session="{target}")')
        self.assertEqual(self.report(target, "report(event)"), "wake")

    def test_precedence(self):
        session, other = self.start(), self.start()
        common = f'fork=True, session="{other}"'
        self.once(session, f'out("", content_type="{runtime.PAUSE}", name="memories/n/k", {common})')
        self.assertIn("control", self.entries(session)[0])
        self.push(session, "x")
        self.assertEqual(self.once(session, f'out("m", name="memories/n/k", {common})')["state"], "idle")
        self.assertEqual(self.report(session, 'report(get(memory + "n/k")[1].decode())'), "m")


class Surroundings(Case):
    NAMES = """[os.environ.get(name) for name in ("PUGMARK_AGENT_ID", "PUGMARK_SESSION_ID", "PUGMARK_SESSION_METADATA",
                                                  "TRACEPARENT", "TRACESTATE", "PUGMARK_FUTURE")]"""

    def test_environment(self):
        stale = {"PUGMARK_SESSION_METADATA": "stale", "TRACESTATE": "a=b", "PUGMARK_FUTURE": "1"}
        session, other = self.start(), self.start(agent="ä", metadata={"k": "é"})
        with mock.patch.dict(os.environ, stale):
            agent, identity, metadata, parent, state, future = self.report(session, f"report({self.NAMES})")
            self.assertEqual((agent, identity, metadata, state, future), ("", session, None, None, None))
            self.assertRegex(parent, f"^00-{session}-(?!0+-)[0-9a-f]{{16}}-01$")
            agent, _, metadata, *_ = self.report(other, f"report({self.NAMES})")
            self.assertEqual((agent, json.loads(metadata)), ("ä", {"k": "é"}))

    def test_trace(self):
        good = "00-" + "a" * 32 + "-" + "b" * 16 + "-00"
        trace = runtime.trace_context("c" * 32, good, "v=1")
        self.assertRegex(trace["traceparent"], "^00-c{32}-[0-9a-f]{16}-00$")
        self.assertEqual(trace["tracestate"], "v=1")
        self.assertIn("tracestate", runtime.trace_context("c" * 32, good.replace("00-", "01-", 1) + "-more", "v=1"))
        for bad in ["", None, good.upper(), good[:-1], good + "-more", good.replace("00-", "ff-", 1),
                    good.replace("a" * 32, "0" * 32), good.replace("b" * 16, "0" * 16)]:
            self.assertNotIn("tracestate", runtime.trace_context("c" * 32, bad, "v=1"), bad)

    def test_routing(self):
        named = {"h": {"command": python('out("named")')}, "g": {"command": python('out("wrong")')}}
        session, default, lost = self.start(handler="h"), self.start(), self.start(handler="nope")
        self.once(session, handlers=named, command=python('out("default")'))
        self.once(default, handlers=named, command=python('out("default")'))
        self.assertEqual((self.bodies(session), self.bodies(default)), (["named"], ["default"]))
        with self.assertRaisesRegex(runtime.BadRequest, "'nope'.*g, h"):
            self.once(lost, handlers=named, command=python(""))
        with self.assertRaisesRegex(runtime.BadRequest, "no default"):
            self.once(default, handlers=named)

    def test_requests(self):
        session = self.start(session="a" * 32, agent="x")
        self.assertEqual(self.start(session=session, agent="y"), session)
        self.assertEqual(self.do("inspect", session)["agent"], "x")
        for op, name in [("start", "0" * 32), ("start", "A" * 32), ("push", "b" * 32), ("run", "b" * 32), ("log", "b" * 32)]:
            with self.assertRaises(runtime.BadRequest, msg=(op, name)):
                self.do(op, name)
        with self.assertRaises(runtime.BadRequest):
            self.push(session, "{}", **{"content-type": runtime.CONTROL})


class Conflicts(Case):
    def test_push_during_an_invocation(self):
        session = self.start()
        marker = os.path.join(self.folder, "ran")
        self.once(session, f"""
if not os.path.exists({marker!r}):
    open({marker!r}, "w").close()
    import subprocess
    subprocess.run([sys.executable, {PROGRAM!r}, "--store", {self.store!r}, "push", {session!r}, "-"],
                   input=b"pushed", stdout=2, check=True)
out(f"saw {{len(log)}}"); pause()
""")
        self.assertEqual(self.bodies(session), ["pushed", "saw 1"])

    def test_arrival_during_a_silent_invocation_is_not_idle(self):
        session = self.start()
        code = f"""
import subprocess
if not log:
    subprocess.run([sys.executable, {PROGRAM!r}, "--store", {self.store!r}, "push", {session!r}, "-"],
                   input=b"x", stdout=2, check=True)
else:
    pause("seen")
"""
        self.assertEqual(self.do("run", session, command=python(code))["state"], "paused")

    def test_concurrent_processes(self):
        session, target = self.start(), self.start()
        code = f'out(str(os.getpid())); out(str(os.getpid()), session="{target}"); out("m", name=f"memories/n/{{os.getpid()}}")'
        runs = [subprocess.Popen([sys.executable, PROGRAM, "--store", self.store, "run", session, "--once", "--", *python(code)],
                                 stdout=subprocess.PIPE) for _ in range(4)]
        versions = sorted(json.loads(run.communicate()[0])["version"] for run in runs)
        self.assertEqual(versions, [1, 2, 3, 4])
        self.assertEqual(len(set(self.bodies(session)[::2])), 4)
        self.assertEqual(sorted(self.bodies(target)), sorted(self.bodies(session)[::2]))

    def test_killed_runtime_leaves_whole_versions(self):
        session, target = self.start(), self.start()
        code = f'out("a"); out("b", fork=True); out("c", session="{target}")'
        for delay in (0, 0.02, 0.05, 0.09):
            reached = self.do("inspect", session)["version"]
            with subprocess.Popen([sys.executable, PROGRAM, "--store", self.store, "run", session, "--", *python(code)],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                while self.do("inspect", session)["version"] == reached:
                    time.sleep(0.01)
                time.sleep(delay)
                process.kill()
        version = self.do("inspect", session)["version"]
        self.assertGreaterEqual(version, 4)
        self.once(session)
        dump = self.do("inspect", session)
        self.assertEqual(dump["version"], version)
        self.assertTrue(all(len(snapshot["entries"]) == 3 for snapshot in dump["snapshots"]))
        self.assertEqual(len(self.bodies(target)), version)
        for snapshot in dump["snapshots"]:
            child = snapshot["entries"][1]["target-session"]
            self.assertEqual(self.do("inspect", child)["version"], 1)


class Programs(Case):
    def call(self, *arguments, status=0, **options):
        done = subprocess.run([sys.executable, PROGRAM, "--store", self.store, *arguments], capture_output=True,
                              timeout=30, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout.decode()

    def test_command_line(self):
        body = os.path.join(self.folder, "body")
        with open(body, "wb") as file:
            file.write(b"\0body")
        session = self.call("start", "--agent", "A", "--handler", "h", "--metadata", '{"k":"v"}').splitlines()[-1]
        self.call("push", session, body, "--name", "--odd", "--content-type", "x/y", "--metadata", '{"m":"é"}')
        handler = shlex.join(python('out(os.environ["TRACEPARENT"]); out(os.environ["TRACESTATE"]); pause("p")'))
        trace = {"TRACEPARENT": "00-" + "a" * 32 + "-" + "b" * 16 + "-01", "TRACESTATE": "v=1"}
        self.call("run", session, "--handler", "h=" + handler, "--handler", "g=false", env={**os.environ, **trace})
        entries = [json.loads(line) for line in self.call("log", session).splitlines()]
        self.assertEqual((entries[0]["name"], entries[0]["metadata"]), ("--odd", {"m": "é"}))
        self.assertEqual(base64.b64decode(entries[2]["body"]), b"v=1")
        self.assertEqual(json.loads(self.call("inspect", session))["version"], 2)
        self.call("push", session, body)
        self.call("run", session, "--once", "--handler", "h=sh -c 'exit 4'", status=1)
        self.call("run", session, "--", "true", status=2)
        self.call("run", "nonsense", "--", "true", status=2)
        self.call("frobnicate", status=2)
        self.call("run", self.start(), "--once", "--rpc", "--", "false", status=1)

    def test_interrupt_ends_the_handler(self):
        session, marker = self.start(), os.path.join(self.folder, "pid")
        with subprocess.Popen([sys.executable, PROGRAM, "--store", self.store, "run", session, "--",
                               "sh", "-c", f"echo $$ > {marker}.new; mv {marker}.new {marker}; exec sleep 30"]) as process:
            while not os.path.exists(marker):
                time.sleep(0.02)
            process.terminate()
        with open(marker) as file, self.assertRaises(ProcessLookupError):
            os.kill(int(file.read()), 0)

    def test_driver(self):
        with subprocess.Popen([sys.executable, PROGRAM, "driver"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as driver:
            def send(number, op, **request):
                driver.stdin.write(json.dumps({"id": number, "op": op, "store": self.store, "new": 1, **request}).encode() + b"\n")
                driver.stdin.flush()

            def ask(number, op, **request):
                send(number, op, **request)
                return receive()

            def receive():
                return json.loads(driver.stdout.readline())

            session = ask(1, "start", metadata={"k": "v"})["ok"]["session"]
            send(2, "run", session=session, once=True, command=python('time.sleep(0.5); out("late")'))
            self.assertEqual(ask(3, "push", session=session, body="QQ==", name="n"), {"id": 3, "ok": {"version": 1}})
            self.assertEqual(receive(), {"id": 2, "ok": {"version": 2, "state": "ran"}})
            entries = ask(4, "log", session=session)["ok"]["entries"]
            self.assertEqual([(entry["version"], entry["session"], entry["body"]) for entry in entries],
                             [(1, session, "QQ=="), (2, session, "bGF0ZQ==")])
            self.assertEqual(ask(5, "run", session=session, command=["false"])["error"]["kind"], "failed-invocation")
            self.assertEqual(ask(6, "push", session="b" * 32)["error"]["kind"], "request")
            self.assertEqual(ask(7, "dance"), {"id": 7, "unsupported": True})
            self.assertEqual(ask(8, "inspect", session=session)["ok"]["metadata"], {"k": "v"})
            driver.stdin.write(b"not json\n")
            self.assertEqual(ask(9, "inspect", session=session)["error"]["kind"], "request")
            self.assertEqual(receive()["id"], 9)
            send(10, "run", session=session, command=["sleep", "30"])
            driver.stdin.close()
            self.assertEqual(driver.wait(10), 0)


if __name__ == "__main__":
    unittest.main()
