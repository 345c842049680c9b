"""What run.sh needs besides a shell: the two servers that an input names, a handler
that is ended with all that it started, an input that is written slowly, and a comparison
of what came with what was wanted. It needs Python 3.8 or later, and nothing but its
standard library.

    repro.py serve N            serves the bodies of invocation N; out/N.input is its input
    repro.py play N SECONDS COMMAND...     runs the handler; out/N.end says how it ended
    repro.py rpc COMMAND...                runs it with a listening descriptor 3
    repro.py http URL COMMAND...           runs it with a free port for {port}
    repro.py feed N             writes out/N.input as the harness wrote it
    repro.py post N URL         posts it so, where curl would send it at once
    repro.py keep N             copies an answer, up to what a handler may write
    repro.py wait URL           until somebody answers there
    repro.py root URL           prints it without path and query
    repro.py check              0 the handler behaves, 1 the failure shows, 2 can't tell
"""

import base64
import contextlib
import gzip
import http.client
import http.server
import json
import os
import re
import select
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from fractions import Fraction
from urllib.parse import unquote, urlsplit

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "out")
PARENT = os.getppid()
with open(os.path.join(HERE, "repro.json"), encoding="utf-8") as file:
    PLAN = json.load(file)


def path(*names):
    return os.path.join(HERE, *names)


def read(name):
    try:
        with open(os.path.join(OUT, name), "rb") as f:
            return f.read()
    except FileNotFoundError:
        return b""


def invocation(number):
    return PLAN["invocations"][int(number) - 1]


def note(name, text):
    with open(os.path.join(OUT, name), "w", encoding="utf-8") as f:
        f.write(text + "\n")


def over():
    """run.sh is at its end. A signal to a process that the shell has only just forked can
    be lost, and run.sh can be killed, so that a signal is not all that is looked at."""
    return os.path.exists(os.path.join(OUT, "over")) or os.getppid() != PARENT


def tell(text):
    """Says on descriptor 9 that what run.sh waits for is there. The shell has opened it, so
    that its end is there for run.sh to see if this program does not get so far."""
    with open(9, "w", encoding="utf-8") as f:
        f.write(text + "\n")


# --- the servers of section 7


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a handler that hangs up is no fault


def answering(name, find, log):
    class Answers(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_any(self):
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            log({"server": name, "method": self.command, "path": self.path, "traceparent": self.headers.get("traceparent", "")})
            answer = find(self.path.split("?")[0])
            if self.command not in ("GET", "HEAD"):
                answer = {"status": 405, "headers": {"Content-Length": ["0"], "Allow": ["GET, HEAD"]}}
            if answer is None:
                answer = {"status": 404, "headers": {"Content-Length": ["0"]}}
            self.give(answer)

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_any

        def give(self, answer):
            time.sleep(answer.get("delay", 0))
            headers = {k: v for k, v in answer["headers"].items()}
            body = b""
            if "body" in answer:
                with open(path("bodies", answer["body"]), "rb") as f:
                    body = f.read()[: answer["send"]]
            chunked = answer.get("chunked") and self.request_version != "HTTP/1.0"
            if answer.get("chunked") and not chunked:
                headers.pop("Transfer-Encoding", None)
            bodied = answer["status"] not in (204, 304)
            if answer.get("cut") or bodied and not chunked and "Content-Length" not in headers:
                headers.setdefault("Connection", ["close"])
                self.close_connection = True
            self.send_response_only(answer["status"])
            for key, values in headers.items():
                for value in values:
                    self.send_header(key, value)
            self.end_headers()
            if self.command == "HEAD":
                return
            if not chunked:
                self.wfile.write(body)
                return
            part = max((len(body) + 2) // 3, 1)
            for at in range(0, len(body), part):
                piece = body[at : at + part]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            if not answer.get("cut"):
                self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *args):
            pass

    return Answers


def memory_key(where, root):
    if not where.startswith(root):
        return None
    parts = [unquote(p) for p in where[len(root) :].split("/")]
    return None if any("/" in p for p in parts) else "/".join(parts)


def serve(number):
    it = invocation(number)
    lock, log = threading.Lock(), open(os.path.join(OUT, number + ".requests"), "w", encoding="utf-8")

    def record(entry):
        with lock:
            log.write(json.dumps(entry) + "\n")
            log.flush()

    objects, memory, root = it["objects"], it["memory"], it["memory-root"]
    finds = {
        "objects": lambda where: objects.get(unquote(where)),
        "memory": lambda where: memory.get(memory_key(where, root)),
    }
    with open(path(number + ".input"), "rb") as f:
        data = f.read()
    try:
        for name in ("objects", "memory"):
            handler, port = answering(name, finds[name], record), it[name + "-port"]
            try:
                server = Server(("127.0.0.1", port), handler)
            except OSError:  # somebody else has the port now: another one of as many digits
                server = other_port(handler)
                other = server.server_address[1]
                data = re.sub(rb":%d(?=[^0-9])" % port, b":%d" % other, data)
            threading.Thread(target=server.serve_forever, daemon=True).start()
        with open(os.path.join(OUT, number + ".input"), "wb") as f:
            f.write(data)
    except OSError as error:
        tell(f"the bodies can't be served: {error}")
        return 2
    tell("ready")
    while not over():
        time.sleep(0.1)
    return 0


def other_port(handler):
    for port in range(20001, 29999, 7):
        try:
            return Server(("127.0.0.1", port), handler)
        except OSError:
            continue
    raise OSError("no port is free")


# --- what plays the handler


# What a handler that has ended may still have of its children, as in the harness: they
# can hold its outputs for so long. And what a service has, once it is told to end.
GRACE, LEAVING = 0.5, 2  # seconds


def adopt():
    """Makes this process the parent of what the handler leaves behind, so that it is found
    wherever it went. Only Linux has that: elsewhere a process that leaves the handler's
    group (setsid) is not found."""
    if sys.platform == "linux":
        try:
            import ctypes

            ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
        except (ImportError, OSError, AttributeError):
            pass


def signals():
    """An event that the signals that end run.sh set."""
    told = threading.Event()
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: told.set())
    return told


def descendants():
    """The living processes that descend from this one, where there is a /proc."""
    children = {}
    for name in os.listdir("/proc") if sys.platform == "linux" else ():
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as f:
                    state, parent = f.read().rpartition(b")")[2].split()[:2]
            except OSError:
                continue
            children.setdefault(int(parent), []).append((int(name), state))
    living, left = [], [os.getpid()]
    while left:
        for pid, state in children.get(left.pop(), ()):
            left.append(pid)
            if state not in (b"Z", b"X"):
                living.append(pid)
    return living


def signal_group(process, number):
    with contextlib.suppress(OSError):  # nobody is left in it
        os.killpg(process.pid, number)


def end_all(process):
    """Kills the handler and what it started."""
    signal_group(process, signal.SIGKILL)
    until = time.monotonic() + 5
    while time.monotonic() < until:
        for pid in descendants():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.01)


class Outputs:
    """The handler's two outputs, copied to those of this process up to a limit."""

    def __init__(self, process):
        self.pipes = selectors.DefaultSelector()
        for pipe, to, name in ((process.stdout, 1, "stdout"), (process.stderr, 2, "stderr")):
            os.set_blocking(pipe.fileno(), False)
            self.pipes.register(pipe, selectors.EVENT_READ, [to, name, PLAN["most"]])

    def open(self):
        return len(self.pipes.get_map()) > 0

    def copy(self, seconds):
        """Copies what is there within that time, and returns the output that there is too
        much of, and whether anything came."""
        flood, came = "", False
        for key, _ in self.pipes.select(seconds):
            try:
                data = os.read(key.fd, 1 << 16)
            except BlockingIOError:
                continue
            came = came or bool(data)
            if not data:
                self.pipes.unregister(key.fileobj)
                continue
            to, name, room = key.data
            write(to, data[:room])
            key.data[2] = max(room - len(data), 0)
            if len(data) > room:
                flood = name
        return flood, came


def write(to, data):
    view = memoryview(data)
    while view:
        view = view[os.write(to, view) :]


def run(command, env, end, seconds=None, floods=True, pass_fds=()):
    """Runs the handler in a session of its own until it ends, its seconds are over, it has
    written more than it may, or run.sh ends. How that was is in the file end before
    anybody is killed; then the handler and all that it started are."""
    adopt()
    told = signals()
    try:
        process = subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, pass_fds=pass_fds
        )
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        note(end, "exit 127" if isinstance(error, FileNotFoundError) else "exit 126")
        return 0
    try:
        for fd in pass_fds:
            os.close(fd)
        # Whoever writes the input must see when the handler reads no more.
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        outputs, until, how, leaving = Outputs(process), time.monotonic() + float(seconds or "inf"), "", False
        while not how:
            flood, _ = outputs.copy(0.05)
            if not outputs.open():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.05)
            now = time.monotonic()
            if flood and floods:
                how = "flood " + flood
            elif process.poll() is not None:
                how = exit_of(process.returncode)
            elif now >= until:
                how = "stopped" if leaving else "hang"
            elif not leaving and (told.is_set() or over()):
                if seconds:
                    return 0
                signal_group(process, signal.SIGTERM)
                leaving, until = True, now + LEAVING
        until = time.monotonic() + GRACE
        while process.returncode is not None and outputs.open() and time.monotonic() < until and not how.startswith("flood"):
            flood, _ = outputs.copy(0.05)
            if flood and floods:
                how = "flood " + flood
        note(end, how)
    finally:
        end_all(process)
    if not how.startswith("flood"):
        while outputs.open() and outputs.copy(0)[1]:
            pass
    return 0


def exit_of(code):
    return f"exit {code}" if code >= 0 else f"signal {-code}"


def play(number, seconds, *command):
    return run(command, os.environ, number + ".end", seconds)


def pieces(number):
    """The input in the writes of the harness, each with what is waited before it."""
    it, data, at = invocation(number), read(number + ".input"), 0
    for length, wait in zip(it["writes"], it["waits"]):
        yield data[at : at + length], wait
        at += length


def feed(number):
    it, how = invocation(number), "closed"
    try:
        for piece, wait in pieces(number):
            time.sleep(wait)
            write(1, piece)
        if it["hold"]:
            gone = select.poll()
            gone.register(1, 0)  # an error is told in any case: nobody reads any more
            if gone.poll(it["hold"] * 1000):
                how = "ended"
    except BrokenPipeError:
        how = "ended"
    note(number + ".fed", how)
    return 0


def copy_answer(number, read, to):
    """Copies an answer up to what a handler may write; False when there was more."""
    room = PLAN["most"]
    while True:
        data = read(1 << 16)
        if not data:
            return True
        write(to, data[:room])
        room -= len(data)
        if room < 0:
            note(number + ".end", "flood answer")
            return False


def keep(number):
    copy_answer(number, lambda n: os.read(0, n), 1)
    return 0


def too_late(*_):
    raise TimeoutError


def post(number, url):
    it, parts = invocation(number), urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port or 80)
    signal.signal(signal.SIGALRM, too_late)
    signal.alarm(PLAN["limit"])
    try:
        connection.putrequest("POST", it["target"], skip_accept_encoding=True)
        for key, value in it["headers"]:
            connection.putheader(key, value)
        connection.putheader("Content-Length", str(sum(it["writes"])))
        connection.endheaders()
        try:
            for piece, wait in pieces(number):
                time.sleep(wait)
                connection.send(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass  # an answer may be there all the same
        answer = connection.getresponse()
        with open(os.path.join(OUT, number + ".outputs"), "wb") as f:
            if not copy_answer(number, answer.read1, f.fileno()):
                return 23
    except TimeoutError:
        return 28
    except (OSError, http.client.HTTPException):
        return 56
    print(answer.status)
    return 0


def rpc(*command):
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    port = listener.getsockname()[1]
    if listener.fileno() != 3:
        os.dup2(listener.fileno(), 3)
        listener.close()
    tell(f"http://127.0.0.1:{port}/")
    return run(command, dict(os.environ, PUGMARK_RPC_URL="fd://3"), "handler.end", pass_fds=(3,))


def serve_http(url, *command):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = str(s.getsockname()[1])
    tell(url.replace("{port}", port))
    # What a service logs is nobody's answer: as in the harness, it is only cut.
    return run([c.replace("{port}", port) for c in command], os.environ, "handler.end", floods=False)


def root(url):
    parts = urlsplit(url)
    print(f"{parts.scheme}://{parts.netloc}")
    return 0


def wait(url):
    parts, why = urlsplit(url), ""
    end = time.monotonic() + max(PLAN["limit"], 10)
    while not why and time.monotonic() < end:
        ended = read("handler.end").decode().strip()
        if ended:
            why = f": the handler's process is over, {ended}"
            continue
        try:
            with socket.create_connection((parts.hostname, parts.port or 80), timeout=1) as s:
                if s.getsockname() != s.getpeername():  # connected to itself: nobody listens
                    return 0
        except OSError:
            time.sleep(0.05)
    print(f"run.sh: nobody answers at {url}{why}", file=sys.stderr)
    return 2


# --- what came, and what was wanted


class Unknown(Exception):
    """A check that this script can't make."""


class Wrong(Exception):
    """A check that does not hold."""


def plain(data, encoding):
    if not encoding:
        return data
    if encoding == "gzip":
        return gzip.decompress(data)
    raise Unknown(f"a body in the encoding {encoding}")


def decode(text):
    kept = "".join(text.split()).replace("-", "+").replace("_", "/").rstrip("=")
    return base64.b64decode(kept + "=" * (-len(kept) % 4))


def shown(data):
    text = data.decode("utf-8", "backslashreplace") if isinstance(data, bytes) else json.dumps(data, ensure_ascii=False)
    return text if len(text) <= 300 else text[:300] + "..."


def ending(stderr):
    last = stderr[-300:].strip()
    return f"; stderr ends with {shown(last)}" if last else ""


def empty(value):
    return value is None or value is False or value == "" or value == {} or (not isinstance(value, bool) and value == 0)


FIELDS = ("data", "content-type", "content-encoding", "schema-url", "name", "metadata", "uri", "fork", "session")


class Played:
    """One invocation that was played."""

    def __init__(self, number, it):
        self.number, self.it = number, it
        self.end = read(f"{number}.end").decode().strip()
        self.success = self.end in ("exit 0", "answer 200")
        self.stderr = read(f"{number}.stderr") or read("handler.stderr")
        self.requests = [json.loads(line) for line in read(f"{number}.requests").decode().splitlines()]
        raw = b"" if self.end.startswith("flood ") else read(f"{number}.outputs")
        if self.end.startswith("answer ") and not self.success:
            raw = b""
        self.broken = {}
        self.records = self.split(raw)
        named = [r for r in self.records if str(r.get("name", "")).startswith("conform/")]
        self.answers = named
        self.outputs = [r for r in self.records if r not in named and not all(empty(r.get(f)) for f in FIELDS)]

    def split(self, raw):
        """The records, with the rules of section 3 that the stream breaks."""
        note = self.broken.setdefault
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            note("utf8", f"byte {raw[error.start]:02x} at byte {error.start}")
            text = raw.decode("utf-8", "replace")
        records, at, space = [], 0, re.compile(r"[ \t\r\n]*")
        decoder = json.JSONDecoder()
        while True:
            at = space.match(text, at).end()
            if at == len(text):
                return records
            if text[at] == "\ufeff":
                note("no-bom", f"a byte-order mark at character {at}")
                at += 1
                continue
            try:
                value, end = decoder.raw_decode(text, at)
            except ValueError:
                rule = "single-object" if text[at] == "{" else "no-foreign-content"
                if rule != "single-object" or self.success:
                    note(rule, shown(text[at : at + 80].encode("utf-8", "replace")))
                return records
            if not isinstance(value, dict):
                note("single-object", shown(value))
                at = end
                continue
            if not text.startswith("\n", end) or text[end + 1 : end + 2] in tuple(" \t\r\n"):
                note("trailing-lf", f"{text[end : end + 2]!r} after record {len(records) + 1}")
            self.look(value, len(records) + 1)
            records.append(value)
            at = end

    def look(self, record, n):
        note = self.broken.setdefault
        for key, value in record.items():
            if key not in FIELDS:
                note("closed-fields", f"the field {key} in record {n}")
            elif empty(value):
                note("omit-empty", f"{key} in record {n}")
        data = record.get("data")
        if isinstance(data, str):
            if any(c in data for c in " \t\r\n"):
                note("no-line-breaks", f"record {n}")
            if "-" in data or "_" in data:
                note("standard-alphabet", f"record {n}")

    def body(self, record):
        return plain(decode(record.get("data") or ""), record.get("content-encoding"))

    def answer(self, name):
        """The answers of the agreement with this name."""
        return [json.loads(self.body(r)) for r in self.answers if r.get("name") == "conform/" + name]

    def at_work(self):
        return bool(self.outputs or self.answers or self.requests)


def same(what, want, got):
    if want != got:
        raise Wrong(f"{what}: want {shown(want)}, got {shown(got)}")


def compare_body(what, want, got, by_value=False):
    if want is None:
        return
    expected = base64.b64decode(want["base64"])
    if by_value and want["json"]:
        try:
            if json.loads(expected, parse_float=Fraction) == json.loads(got, parse_float=Fraction):
                return
        except ValueError:
            pass
    if expected != got:
        raise Wrong(f"{what}: want {len(expected)} bytes, {shown(expected)}; got {len(got)} bytes, {shown(got)}")


def compare_list(what, want, got, compare):
    for i, (w, g) in enumerate(zip(want, got)):
        compare(f"{what} {i + 1}", w, g)
    same(f"number of {what} items", len(want), len(got))


def compare_texts(what, want, got, names):
    for name in names:
        if name in want:
            value = got.get(name)
            same(f"{what}, {name}", want[name], type(want[name])() if value is None else value)


def entry_body(entry):
    if entry.get("error"):
        return None
    return decode(entry.get("body") or "")


def compare_entry(what, want, got):
    compare_texts(what, want, got, ("event", "name", "size", "content-type", "content-encoding", "schema-url", "metadata"))
    body = entry_body(got)
    if want.get("error"):
        if body is not None:
            raise Wrong(f"{what}: want an error, got {shown(body)}")
    elif "body" in want:
        if body is None:
            raise Wrong(f"{what}: want a body, got the error {got['error']}")
        compare_body(what + ", body", want["body"], body)


def compare_output(played):
    def compare(what, want, got):
        compare_texts(what, want, got, ("uri", "content-type", "content-encoding", "schema-url", "name", "session", "metadata", "fork"))
        if "duration" in want:
            same(what + ", metadata.duration in ns", want["duration"], nanoseconds((got.get("metadata") or {}).get("duration", "")))
        if "body" in want:
            compare_body(what + ", body", want["body"], played.body(got), True)

    return compare


UNITS = {"ns": 1, "us": 10**3, "\u00b5s": 10**3, "\u03bcs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}


def nanoseconds(text):
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)", text)
    if not parts or "".join(n + u for n, u in parts) != text:
        return text
    return int(sum(Fraction(n) * UNITS[u] for n, u in parts))


def check_exit(p, want):
    if want == "0" and not p.success or want == "failure" and p.success:
        raise Wrong(f"end: want {'success' if want == '0' else 'failure'}, got {p.end}{ending(p.stderr)}")


def check_observed(p, want):
    answers = p.answer("observed")
    if not answers:
        raise Wrong(f"want the Output conform/observed, got none; the end is {p.end}")
    got = answers[-1]
    compare_texts("conform/observed", want, got, ("session", "agent", "metadata"))
    if "snapshot" in want and got.get("snapshot") is not None:
        same("conform/observed, snapshot", want["snapshot"], got["snapshot"])
    listed = got.get("entries") or []
    if want.get("only-entries") and any(is_lifecycle(e) for e in listed):
        raise Wrong("conform/observed: the reading call yields more than log entries")
    if "entries" in want:
        kept = [e for e in listed if e.get("name") != "conform/instructions" and not is_lifecycle(e)]
        compare_list("entry", want["entries"], kept, compare_entry)
    if want.get("events"):
        raise Unknown("typed events")


def is_lifecycle(entry):
    return entry.get("event") in ("start", "fork", "wake", "memory", "protocol") or all(empty(v) for k, v in entry.items() if k != "event")


def check_loaded(p, want):
    def compare(what, w, g):
        compare_texts(what, w, g, ("name", "found", "text", "json", "base64"))
        if w.get("error") and not g.get("error"):
            raise Wrong(f"{what}: want an error")

    compare_list("conform/loaded", want, p.answer("loaded"), compare)


def check_memory(p, want):
    def compare(what, w, g):
        same(what + ", key", w["key"], g.get("key"))
        if not w.get("error") and g.get("body") is None and not g.get("error"):
            raise Wrong(f"{what}: want a body, got none")
        compare_entry(what, w, g)

    compare_list("conform/memory", want, p.answer("memory"), compare)


def check_outputs(p, want):
    compare_list("output", want, p.outputs, compare_output(p))


def check_silent(p, want):
    if p.records:
        raise Wrong(f"want no Output at all, got {shown(p.records[0])}")


def check_stderr(p, want):
    if want.encode() not in p.stderr:
        raise Wrong(f"stderr: want text that contains {want!r}, got {shown(p.stderr[-300:])}")


def check_stream(p, rules):
    for rule in rules:
        if rule in p.broken:
            raise Wrong(f"stream, {rule}: {p.broken[rule]}")
        if rule in ("never-split", "closed-events"):
            raise Unknown(f"the rule {rule}")
    if not p.records:
        raise Wrong(f"want a record on the stream, got none; the end is {p.end}")


def check_fetches(p, want):
    def fits(request, w):
        where = request["path"].split("?")[0]
        return (
            request["method"] == (w.get("method") or "GET")
            and (not w.get("entry") or request["server"] == "objects" and p.it["names"].get(where) == w["entry"])
            and (not w.get("memory") or request["server"] == "memory" and memory_key(where, p.it["memory-root"]) == w["memory"])
            and (not w.get("path") or [unquote(s) for s in where.split("/")] == [unquote(s) for s in w["path"].split("/")])
        )

    for w in want:
        found = [r for r in p.requests if fits(r, w)]
        if not w["least"] <= len(found) <= w.get("most", len(found)):
            raise Wrong(f"requests: want {shown(w)}, got {[r['method'] + ' ' + r['path'] for r in p.requests]}")
        if w.get("same-trace"):
            raise Unknown("the trace context of the requests")


def check_before_close(p, want):
    if read(f"{p.number}.fed").strip() != b"ended":
        raise Wrong("want the end of the handler while its input is still open; the input had to be closed first")


def check_any_of(p, blocks):
    wrong, unknown = [], None
    for block in blocks:
        try:
            return check_block(p, block)
        except Wrong as error:
            wrong.append(str(error))
        except Unknown as error:
            unknown = error
    if unknown:
        raise unknown
    raise Wrong("none of the alternatives holds: " + "; ".join(wrong))


CHECKS = {
    "exit": check_exit,
    "stream": check_stream,
    "observed": check_observed,
    "loaded": check_loaded,
    "memory": check_memory,
    "outputs": check_outputs,
    "silent": check_silent,
    "stderr": check_stderr,
    "fetches": check_fetches,
    "before-close": check_before_close,
    "any-of": check_any_of,
}


def check_block(p, block):
    unknown = None
    for key, want in block.items():
        try:
            if key not in CHECKS:
                raise Unknown(want)
            CHECKS[key](p, want)
        except Unknown as error:
            unknown = error
        except (ValueError, TypeError, AttributeError, KeyError, OSError, EOFError) as error:
            raise Wrong(f"{key}: what came can't be read as the agreement has it: {error}")
    if unknown:
        raise unknown


def judged(p, blocks, wrong, unknown):
    name = f"invocation {p.number}: " if len(PLAN["invocations"]) > 1 else ""
    if p.end.startswith("flood "):
        what = p.end.partition(" ")[2]
        wrong.append(f"{name}the handler wrote more than a handler may: more than {PLAN['most']} bytes on {what}")
        return
    if p.end == "hang":
        wrong.append(f"{name}the handler was still running after {PLAN['limit']} s")
        return
    if p.end.startswith("signal ") and not PLAN["may-die"]:
        wrong.append(f"{name}the handler was killed by a signal ({p.end})")
        return
    for block in blocks:
        try:
            check_block(p, block)
        except Wrong as error:
            wrong.append(name + str(error))
        except Unknown as error:
            unknown.append(name + str(error))
    for rule in PLAN["always"]:
        if rule in p.broken:
            wrong.append(f"{name}stream, {rule}: {p.broken[rule]}")
    if any(r.get("content-type") == "application/vnd.pugmark.control+json" for r in p.records):
        wrong.append(f"{name}an Output is a control message")
    if any(r["method"] in ("PUT", "POST", "DELETE") for r in p.requests):
        wrong.append(f"{name}a server, which is read-only, was asked for more than GET")


def check():
    wrong, unknown, at_work = [], [], False
    for i, it in enumerate(PLAN["invocations"]):
        p = Played(i + 1, it)
        if p.end in ("exit 126", "exit 127") and not p.at_work():  # what a shell says
            print("can't tell: the handler was not started:")
            return report([shown(p.stderr.strip())], 2)
        at_work = at_work or p.at_work() or any(b.get("stderr") for b in PLAN["checks"])
        if p.answer("unsupported"):
            unknown.append(f"the handler says that it can't do what it was told: {shown(p.answer('unsupported'))}")
            continue
        if it["role"] == "control":
            failed = []
            judged(p, [PLAN["control"]], failed, unknown)
            if failed:
                print("can't tell: the control, which shows that the handler is at work, does not hold:")
                return report(failed, 2)
            continue
        judged(p, PLAN["checks"], wrong, unknown)
    if wrong:
        print("the failure shows:")
        return report(wrong, 1)
    if unknown:
        print("can't tell: what this script looks at holds, and these only the harness can tell:")
        return report(unknown, 2)
    if not at_work:
        print("can't tell: the handler gave no sign of having been at work")
        return 2
    print("the handler behaves")
    return 0


def report(lines, status):
    for line in lines:
        print("  " + line)
    return status


VERBS = {
    "serve": serve, "play": play, "feed": feed, "post": post, "keep": keep,
    "rpc": rpc, "http": serve_http, "wait": wait, "root": root, "check": check,
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(VERBS[sys.argv[1]](*sys.argv[2:]))
