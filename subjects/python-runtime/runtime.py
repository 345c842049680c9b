#!/usr/bin/env python3
"""A small runtime of the pugmark handler protocol, version 1.

    runtime.py --store DIR start [--session ID] [--agent ID] [--handler NAME] [--metadata JSON]
    runtime.py --store DIR push SESSION FILE [--name N] [--content-type T] [--content-encoding E]
                                             [--schema-url U] [--metadata JSON]
    runtime.py --store DIR run SESSION [--once] [--rpc] [--url URL] [--handler NAME=COMMAND]... [-- COMMAND...]
    runtime.py --store DIR log SESSION
    runtime.py --store DIR inspect SESSION
    runtime.py driver
    runtime.py version

FILE may be "-" for standard input. Exit status: 0, 1 for a failed invocation, 2 for a request that cannot be met.

A store is one SQLite database. Everything an invocation leaves behind (entries, forks, writes to other sessions,
memory, bodies) is one transaction of it: that is what makes commits atomic, crashes harmless and conflicts visible.

Section numbers in comments are those of the protocol text; R, S and F numbers are those of the notes beside it.
"""

import base64
import contextlib
import datetime
import errno
import hashlib
import http.client
import http.server
import json
import math
import os
import re
import secrets
import selectors
import shlex
import signal
import socket
import socketserver
import sqlite3
import sys
import threading
import time
import urllib.parse
from dataclasses import dataclass, field
from decimal import Decimal

VERSION = "1.0"
CONTROL = "application/vnd.pugmark.control+json"
PAUSE = "application/vnd.pugmark.pause+text"
DESCRIBED = ("content-type", "content-encoding", "schema-url", "name", "metadata")     # what a writer says of a body
INLINE_LIMIT = 1024             # §7.1
LONGEST_SLEEP = 600 * 10**9     # §10, in nanoseconds
GRACE = 0.5                     # seconds for a pipe that outlives its handler (R22)
STDERR_KEPT = 8 * 1024          # bytes of a handler's stderr kept for the error message
HEADER_LIMIT = 64 * 1024        # longest header line that common servers take (R20)
MOST_CONFLICTS = 100            # lost commits in a row before a run gives up


class Failure(Exception):
    """What an answer reports as an error; `kind` is the word of the driver agreement."""
    kind = "internal"


class FailedInvocation(Failure):
    """The handler failed; nothing of the invocation was committed (§2.1, §16)."""
    kind = "failed-invocation"


class BadRequest(Failure):
    kind = "request"


class Conflict(Exception):
    """Somebody else committed the version this invocation was going to commit."""


def note(text):
    """A line for the operator. The handler's streams and the driver's answers stay clean of it."""
    print(f"runtime: {text}", file=sys.stderr, flush=True)


def compact(fields):
    """Drops what is empty: a missing field reads as its zero value (§3.2)."""
    return {key: value for key, value in fields.items() if value}


def checked_id(text):
    """A session ID is 16 bytes in lower-case hex and not all zero, for it doubles as a trace ID (§14.1)."""
    if not isinstance(text, str) or not re.fullmatch(r"[0-9a-f]{32}", text) or set(text) == {"0"}:
        raise BadRequest(f"not a session ID (32 lower-case hex digits, not all zero): {text!r}")
    return text


def checked_text(what, value):
    """Text that UTF-8 can carry: lone surrogates end here (R18). Null is the empty text (R17)."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadRequest(f"{what} is not a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadRequest(f"{what} holds a lone surrogate") from None
    return value


def checked_metadata(value):
    if value is None:
        return {}
    if not isinstance(value, dict) or getattr(value, "repeated", None):
        raise BadRequest("metadata is not an object with every key once")
    for key, item in value.items():
        if item is None:
            raise BadRequest(f"metadata value of {key!r} is null")
        checked_text("metadata key", key)
        checked_text(f"metadata value of {key!r}", item)
    return dict(value)


def decode_base64(text):
    """Standard alphabet, padded or not, no line breaks (§3.1)."""
    digits = text.rstrip("=")
    padding = len(text) - len(digits)
    if not re.fullmatch(r"[A-Za-z0-9+/]*", digits) or len(digits) % 4 == 1 or padding not in (0, -len(digits) % 4):
        raise BadRequest("data is not base64 in the standard alphabet")
    return base64.b64decode(digits + "=" * (-len(digits) % 4))


def encode_base64(body):
    return base64.b64encode(body).decode()


def digest_of(body):
    return "sha256:" + hashlib.sha256(body).hexdigest()


def nanoseconds(duration):
    """§10: decimal numbers with an optional fraction, each with a unit. No sign, no missing digit (R34)."""
    units = {"ns": 1, "us": 10**3, "\u00b5s": 10**3, "\u03bcs": 10**3, "ms": 10**6,
             "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
    part = r"([0-9]+(?:\.[0-9]+)?)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)"
    if not re.fullmatch(f"(?:{part})+", duration):
        raise BadRequest(f"not a duration: {duration!r}")
    total = sum(Decimal(number) * units[unit] for number, unit in re.findall(part, duration))
    return min(math.ceil(min(total, LONGEST_SLEEP)), LONGEST_SLEEP)


def timestamp(nanos):
    """RFC 3339 in microseconds, rounded up so that no sleep ends early."""
    micros = -(-nanos // 1000)
    moment = datetime.datetime.fromtimestamp(micros // 10**6, datetime.timezone.utc)
    return moment.replace(tzinfo=None, microsecond=micros % 10**6).isoformat(timespec="microseconds") + "Z"


# ---------------------------------------------------------------------------------------------------------------
# The store


SCHEMA = """
CREATE TABLE IF NOT EXISTS object (digest TEXT PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, agent TEXT NOT NULL, handler TEXT NOT NULL,
    metadata TEXT NOT NULL, parent TEXT, parent_version INTEGER);
CREATE TABLE IF NOT EXISTS snapshot (session TEXT, version INTEGER, origin TEXT NOT NULL,
    PRIMARY KEY (session, version));
CREATE TABLE IF NOT EXISTS entry (session TEXT, sequence INTEGER, version INTEGER NOT NULL,
    digest TEXT NOT NULL, fields TEXT NOT NULL, PRIMARY KEY (session, sequence));
CREATE TABLE IF NOT EXISTS pending_fork (session TEXT, sequence INTEGER, PRIMARY KEY (session, sequence));
CREATE TABLE IF NOT EXISTS delivery (target TEXT, source TEXT, source_version INTEGER,
    PRIMARY KEY (target, source, source_version));
CREATE TABLE IF NOT EXISTS memory (namespace TEXT, name TEXT, version INTEGER, fields TEXT NOT NULL,
    PRIMARY KEY (namespace, name, version));
PRAGMA user_version = 1"""

# Where a snapshot came from, and the type the dump gives it (S3, R45).
SNAPSHOT_TYPES = {"invocation": "normal", "fork": "normal", "session": "provisional", "push": "queueing"}


@dataclass
class Entry:
    session: str
    version: int
    sequence: int
    fields: dict                # as the dump names them
    body: bytes | None          # only when small enough to be inlined

    @property
    def control(self):
        return self.fields.get("control")

    @property
    def replayed(self):
        """Control messages, forks and recorded writes to other sessions are never fed to a handler. A fork of
        any snapshot counts, not only of the latest: a push may have come in between (R39)."""
        return not self.control and "target-session" not in self.fields


@dataclass
class Manifest:
    id: str
    agent: str
    handler: str
    metadata: dict
    parent: str | None
    parent_version: int | None


@dataclass
class View:
    """A session as of one version: all that an invocation is told, and all that is decided from it."""
    manifest: Manifest
    version: int
    invoked: int                # latest version that an invocation committed, 0 for none
    entries: list               # parents' entries first, oldest first (§4.2)
    own: list = field(init=False)
    stop: Entry | None = field(init=False)

    def __post_init__(self):
        self.own = [entry for entry in self.entries if entry.session == self.manifest.id]
        last = next((entry for entry in reversed(self.own) if entry.control), None)
        self.stop = last if last and last.control["status"] == "stopped" else None

    def lifecycle(self):
        """§6. A failed or empty invocation changes nothing, so the event comes again (R41)."""
        if not self.invoked:
            return "fork" if self.manifest.parent else "start"
        return "wake" if self.stop and self.invoked <= self.stop.version else ""

    def pushed(self, entry):
        """§4.3. A stop of a parent does not count (R44); n is what the latest snapshot added (R5)."""
        if entry.session != self.manifest.id:
            return False
        if self.stop:
            return entry.sequence > self.stop.sequence
        return entry.version == self.version

    def delay(self):
        """Seconds until an invocation is due: 0 for now, infinity for a pure pause (§10)."""
        if not self.stop or self.own[-1] is not self.stop:
            return 0
        if "start-at" not in self.stop.control:
            return math.inf
        return max(0, datetime.datetime.fromisoformat(self.stop.control["start-at"]).timestamp() - time.time())


class Store:
    """One database. Every operation opens its own connection, so threads and processes share nothing but the file.
    Writers take SQLite's write lock at their first word: what they then read cannot change before they commit."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.path = os.path.join(folder, "pugmark.sqlite")
        with self.read() as db:
            made = db.execute("PRAGMA user_version").fetchone()[0]
        if not made:
            with self.write() as db:
                for statement in SCHEMA.split(";"):
                    db.execute(statement)

    @contextlib.contextmanager
    def transaction(self, begin):
        db = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        try:
            db.execute(begin)
            yield db
            db.execute("COMMIT")
        finally:
            db.close()          # without a COMMIT this rolls back

    def read(self):
        return self.transaction("BEGIN")

    def write(self):
        return self.transaction("BEGIN IMMEDIATE")

    # Manifests

    def start(self, session, agent="", handler="", metadata=None):
        """Create-if-absent (S2): an existing session is returned as it is."""
        session = checked_id(session or secrets.token_hex(16))
        with self.write() as db:
            self._create(db, Manifest(session, agent, handler, metadata or {}, None, None))
        return session

    @staticmethod
    def _create(db, manifest):
        db.execute("INSERT OR IGNORE INTO session VALUES (?, ?, ?, ?, ?, ?)",
                   (manifest.id, manifest.agent, manifest.handler, json.dumps(manifest.metadata),
                    manifest.parent, manifest.parent_version))

    @staticmethod
    def _manifest(db, session):
        row = db.execute("SELECT * FROM session WHERE id = ?", (session,)).fetchone()
        if not row:
            raise BadRequest(f"no such session: {session}")
        return Manifest(row[0], row[1], row[2], json.loads(row[3]), row[4], row[5])

    # Snapshots

    @staticmethod
    def _version(db, session):
        return db.execute("SELECT coalesce(max(version), 0) FROM snapshot WHERE session = ?", (session,)).fetchone()[0]

    def version(self, session):
        with self.read() as db:
            return self._version(db, session)

    def _append(self, db, session, origin, entries):
        """Adds one snapshot. Versions have no gaps, sequence numbers rise through the whole session (S3, S4)."""
        version = self._version(db, session) + 1
        sequence, = db.execute("SELECT coalesce(max(sequence), 0) FROM entry WHERE session = ?", (session,)).fetchone()
        db.execute("INSERT INTO snapshot VALUES (?, ?, ?)", (session, version, origin))
        for fields in entries:
            sequence += 1
            db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?)",
                       (session, sequence, version, fields["digest"], json.dumps(fields)))
            if fields.get("fork"):
                db.execute("INSERT INTO pending_fork VALUES (?, ?)", (session, sequence))
        return version

    @staticmethod
    def _keep(db, body):
        """One copy of a body, whoever writes it (S1)."""
        digest = digest_of(body)
        db.execute("INSERT OR IGNORE INTO object VALUES (?, ?)", (digest, body))
        return digest

    def push(self, session, body, fields):
        if fields.get("content-type") == CONTROL:
            raise BadRequest("control messages are written by the runtime alone (§9)")
        with self.write() as db:
            self._manifest(db, session)
            fields = compact({"digest": self._keep(db, body), "size": len(body), **fields})
            return self._append(db, session, "push", [fields])

    def view(self, session):
        """Materialises the whole log: the parent chain, then the session's own snapshots (§1, §4.2)."""
        with self.read() as db:
            manifest = self._manifest(db, session)
            version = self._version(db, session)
            invoked, = db.execute("SELECT coalesce(max(version), 0) FROM snapshot WHERE session = ? AND "
                                  "origin = 'invocation'", (session,)).fetchone()
            chain, link = [(session, version)], manifest
            while link.parent:
                chain.append((link.parent, link.parent_version))
                link = self._manifest(db, link.parent)
            entries = [entry for name, limit in reversed(chain) for entry in self._entries(db, name, limit)]
            return View(manifest, version, invoked, entries)

    @staticmethod
    def _entries(db, session, limit):
        rows = db.execute("SELECT version, sequence, fields, CASE WHEN length(body) <= ? THEN body END FROM entry "
                          "JOIN object USING (digest) WHERE session = ? AND version <= ? ORDER BY sequence",
                          (INLINE_LIMIT, session, limit))
        return [Entry(session, version, sequence, json.loads(fields), body) for version, sequence, fields, body in rows]

    def body(self, digest):
        with self.read() as db:
            row = db.execute("SELECT body FROM object WHERE digest = ?", (digest,)).fetchone()
            return row and row[0]

    # Forks, second phase

    def make_forks(self, session):
        """Makes the children that committed forks ask for (§11.1). A fork leaves the list in the transaction that
        makes its child, so a crash on either side of it is healed by the next call."""
        with self.read() as db:
            if not db.execute("SELECT 1 FROM pending_fork WHERE session = ?", (session,)).fetchone():
                return
        with self.write() as db:
            parent = self._manifest(db, session)
            rows = db.execute("SELECT version, fields FROM entry JOIN pending_fork USING (session, sequence) "
                              "WHERE session = ? ORDER BY sequence", (session,)).fetchall()
            for version, text in rows:
                fields = json.loads(text)
                child = fields.pop("target-session")
                del fields["fork"]
                self._create(db, Manifest(child, parent.agent, parent.handler, fields.get("metadata", {}),
                                          session, version))
                if self._version(db, child):
                    note(f"fork of {session} to {child}: that session already has entries and is left alone (§11.1)")
                else:
                    self._append(db, child, "fork", [fields])
            db.execute("DELETE FROM pending_fork WHERE session = ?", (session,))

    # Commit

    def commit(self, view, plan):
        """Commits what an invocation on `view` produced, all of it or nothing. Returns the new version, or None
        when the session itself got nothing (§8.4, §16)."""
        session = view.manifest.id
        with self.write() as db:
            entries, pause = list(plan.entries), plan.pause
            if entries and not pause and all(fields.get("fork") for fields in entries):
                pause = Pause("", None)         # implicit: the parent waits for its children (§10)
            # Memory alone does not need the session to stand still, everything else does (§1).
            if (entries or pause) and self._version(db, session) != view.version:
                raise Conflict
            for body in plan.bodies:
                self._keep(db, body)
            self._remember(db, plan.memory)
            if not entries and not pause:
                return None
            if pause:
                entries.append(self._control(db, pause))    # last of its snapshot (S8)
            version = self._append(db, session, "invocation", entries)
            self._deliver(db, session, version, entries)
            return version

    def _control(self, db, pause):
        control = {"status": "stopped", "reason": pause.reason}
        if pause.duration is not None:
            control["start-at"] = timestamp(time.time_ns() + pause.duration)    # from commit time on (§10)
        control = compact(control)
        body = json.dumps(control).encode()
        return {"digest": self._keep(db, body), "size": len(body), "content-type": CONTROL, "control": control}

    def _deliver(self, db, writer, version, entries):
        """Writes to other sessions (§12): one provisional snapshot a target (R14). The writer's snapshot records
        them too, so that each source pair is used once (R23, R46)."""
        targets = {}
        for fields in entries:
            if "target-session" in fields and not fields.get("fork"):
                targets.setdefault(fields["target-session"], []).append(fields)
        for target, written in targets.items():
            if not db.execute("SELECT 1 FROM session WHERE id = ?", (target,)).fetchone():
                raise FailedInvocation(f"write to a session that does not exist: {target}")     # R42
            if db.execute("INSERT OR IGNORE INTO delivery VALUES (?, ?, ?)", (target, writer, version)).rowcount:
                source = {"source-session": writer, "source-version": version}
                self._append(db, target, "session", [
                    {**{key: value for key, value in fields.items() if key != "target-session"}, **source}
                    for fields in written])

    # Memory

    @staticmethod
    def _remember(db, writes):
        """A namespace is versioned; older values stay under older versions (§8). The write lock serialises
        writers, so the optimistic commit of §8.4 never has to be retried here."""
        versions = {}
        for (namespace, name), fields in writes.items():
            if namespace not in versions:
                versions[namespace], = db.execute("SELECT coalesce(max(version), 0) + 1 FROM memory "
                                                  "WHERE namespace = ?", (namespace,)).fetchone()
            db.execute("INSERT INTO memory VALUES (?, ?, ?, ?)",
                       (namespace, name, versions[namespace], json.dumps(fields)))

    def recall(self, namespace, name):
        with self.read() as db:
            row = db.execute("SELECT fields FROM memory WHERE namespace = ? AND name = ? ORDER BY version DESC LIMIT 1",
                             (namespace, name)).fetchone()
            return row and json.loads(row[0])

    # What is shown to people and harnesses

    def log(self, session):
        """Every entry, control and fork records included, parents' first."""
        return [{**self._shown(entry), "session": entry.session, "version": entry.version,
                 "body": encode_base64(self.body(entry.fields["digest"]) if entry.body is None else entry.body)}
                for entry in self.view(session).entries]

    @staticmethod
    def _shown(entry):
        return {"sequence": entry.sequence, **compact(entry.fields)}

    def dump(self, session):
        """The session dump of the storage notes, part C."""
        view = self.view(session)
        with self.read() as db:
            origins = db.execute("SELECT version, origin FROM snapshot WHERE session = ? AND version <= ? "
                                 "ORDER BY version", (session, view.version)).fetchall()
        manifest = view.manifest
        parent = manifest.parent and {"session": manifest.parent, "version": manifest.parent_version}
        named = {"agent": manifest.agent, "handler": manifest.handler, "metadata": manifest.metadata}
        return {"session": session, **compact(named), **({"parent": parent} if parent else {}),
                "version": view.version,
                "snapshots": [{"version": version, "type": SNAPSHOT_TYPES[origin],
                               "entries": [self._shown(entry) for entry in view.own if entry.version == version]}
                              for version, origin in origins]}


# ---------------------------------------------------------------------------------------------------------------
# Output records


@dataclass
class Pause:
    reason: str
    duration: int | None        # nanoseconds; None for a pure pause


@dataclass
class Plan:
    """What an invocation wants committed, sorted by the routes of §5.3."""
    bodies: list = field(default_factory=list)
    entries: list = field(default_factory=list)     # local entries, forks and writes to others, in stream order
    memory: dict = field(default_factory=dict)      # (namespace, name) -> fields; the last write of a name wins
    pause: Pause | None = None                      # likewise the last pause (§10)


class Fields(dict):
    """A JSON object that remembers whether a name came twice (R18)."""

    def __init__(self, pairs):
        super().__init__(pairs)
        self.repeated = len(self) != len(pairs)


def no_constant(name):
    raise ValueError(f"{name} is not JSON")


# Outputs have no numbers that matter. Not converting them keeps a huge one in an unknown field from doing harm (F8).
DECODER = json.JSONDecoder(object_pairs_hook=Fields, parse_constant=no_constant,
                           parse_int=lambda text: 0, parse_float=lambda text: 0.0)
WHITESPACE = re.compile(r"[ \t\r\n]*")


def records(stream):
    """Splits a handler's stream into records (§3). Whatever is no record fails the whole invocation (R16)."""
    def refuse(problem, offset):
        raise FailedInvocation(f"{problem} on the handler's output at byte {offset}: {stream[offset:offset + 40]!r}")

    if stream.startswith(b"\xef\xbb\xbf"):
        refuse("byte-order mark", 0)
    try:
        text = stream.decode("utf-8")
    except UnicodeDecodeError as error:
        refuse("bytes that are not UTF-8", error.start)
    position = WHITESPACE.match(text).end()
    while position < len(text):
        try:
            record, end = DECODER.raw_decode(text, position)
            problem = None if isinstance(record, Fields) else "a value that is no JSON object"
        except RecursionError:
            problem = "JSON nested too deeply"
        except ValueError as error:
            problem = f"non-JSON ({getattr(error, 'msg', error)})"
        if problem:
            refuse(problem, len(text[:position].encode()))
        yield record
        position = WHITESPACE.match(text, end).end()


def read_output(record):
    """The recognised fields of an Output, in their types, without the empty ones (§5, §3.2)."""
    if record.repeated:
        raise BadRequest("a field name comes twice")
    output = {name: checked_text(name, record.get(name)) for name in
              ("uri", "data", "content-type", "content-encoding", "schema-url", "name", "session")}
    output["metadata"] = checked_metadata(record.get("metadata"))
    output["fork"] = record.get("fork")
    if not isinstance(output["fork"], (bool, type(None))):
        raise BadRequest("fork is not a boolean")
    return compact(output)


def resolve_body(output):
    """§5.3, step 1: data when present, otherwise the uri, otherwise nothing."""
    if "data" in output:
        return decode_base64(output["data"])
    if "uri" not in output:
        return b""
    uri = urllib.parse.urlsplit(output["uri"])
    path = urllib.parse.unquote(uri.path)
    if uri.scheme != "file" or uri.netloc not in ("", "localhost"):
        raise BadRequest(f"this runtime cannot fetch {output['uri']!r}: only file:///...")
    if not os.path.isfile(path):        # a pipe or device could block for ever
        raise BadRequest(f"no such file: {output['uri']!r}")
    with open(path, "rb") as file:
        return file.read()


def memory_key(name):
    """Splits `memories/<namespace>/<object-name>`; None when the name has another form (R10).

    An object name has no slash, so the namespace is all up to the last one (R15). Reading needs no search for the
    longest prefix either: a namespace shorter than that leaves a name with a slash, and one that is longer is no
    prefix, so the key is found in exactly this namespace or nowhere (§8.2)."""
    if not re.match(r"memories/.*/", name, re.DOTALL):
        return None
    namespace, _, object_name = name.removeprefix("memories/").rpartition("/")
    if any(segment in ("", ".", "..") or "\0" in segment for segment in [*namespace.split("/"), object_name]):
        raise BadRequest(f"not a memory name: {name!r}")
    return namespace, object_name


def read_pause(output, body):
    try:
        reason = body.decode()
    except UnicodeDecodeError:
        raise BadRequest("the pause reason is not UTF-8") from None
    duration = output.get("metadata", {}).get("duration")
    return Pause(reason, None if duration is None else nanoseconds(duration))


def make_plan(stream, session):
    """Reads the handler's outputs in stream order and routes each (§5.2, §5.3). Writes nothing."""
    plan = Plan()
    for number, record in enumerate(records(stream), 1):
        try:
            output = read_output(record)
            if not output:
                continue                # a no-op (§3)
            route(plan, output, session)
        except (BadRequest, OSError) as error:
            raise FailedInvocation(f"output {number}: {error}") from None
    return plan


def route(plan, output, session):
    body = resolve_body(output)
    fields = compact({"digest": digest_of(body), "size": len(body), **{name: output.get(name) for name in DESCRIBED}})
    plan.bodies.append(body)
    target = output.get("session", "")
    if output.get("content-type") == CONTROL:
        raise BadRequest("a handler must not emit control messages (§9)")       # R8
    if output.get("content-type") == PAUSE:
        plan.pause = read_pause(output, body)
    elif key := memory_key(output.get("name", "")):
        plan.memory[key] = fields
    elif output.get("fork"):
        plan.entries.append({**fields, "fork": True, "target-session": checked_id(target or secrets.token_hex(16))})
    elif target and target != session:
        plan.entries.append({**fields, "target-session": checked_id(target)})
    else:
        plan.entries.append(fields)


# ---------------------------------------------------------------------------------------------------------------
# The object and the memory server


class BodyServer(socketserver.ThreadingTCPServer):
    """Serves bodies at an ephemeral port for one invocation (§7). `find` maps the segments of a path, each decoded,
    to the fields of an entry or None."""
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, store, find):
        self.store, self.find = store, find
        super().__init__(("127.0.0.1", 0), BodyHandler)
        self.root = f"http://127.0.0.1:{self.server_address[1]}/"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        """A handler that hangs up in the middle of a fetch is its own business."""


class BodyHandler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        fields = self.fields()
        body = fields and self.server.store.body(fields["digest"])
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", header_value(fields.get("content-type")) or "application/octet-stream")
        if encoding := header_value(fields.get("content-encoding")):
            self.send_header("Content-Encoding", encoding)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET

    def fields(self):
        """Each segment is percent-encoded once, and "/" separates segments (R31)."""
        path = self.path.split("?", 1)[0].encode("latin-1").removeprefix(b"/")
        try:
            return self.server.find([urllib.parse.unquote_to_bytes(segment).decode() for segment in path.split(b"/")])
        except UnicodeDecodeError:
            return None

    def log_message(self, *_):
        pass


def header_value(text):
    """What a header can carry; control characters would end it."""
    return text if text and re.fullmatch(r"[\x20-\x7e]+", text) else ""


@contextlib.contextmanager
def body_servers(store, view):
    # Only objects of this session's log are served (R52); of equal bodies the later entry gives the type (R48).
    known = {entry.fields["digest"]: entry.fields for entry in view.entries if entry.replayed}

    def find_object(segments):
        return known.get(segments[0]) if len(segments) == 1 else None

    def find_memory(segments):
        # Read as it is now, not as it was when the invocation began (R52).
        root, *namespace, name = segments if len(segments) > 2 else ("", "")
        if root != "memories" or any("/" in segment for segment in segments):
            return None
        return store.recall("/".join(namespace), name)

    with BodyServer(store, find_object) as objects, BodyServer(store, find_memory) as memory:
        yield objects.root, memory.root + "memories/"


# ---------------------------------------------------------------------------------------------------------------
# Handlers


class Children:
    """The handler processes of this runtime, so that none outlives it. A process is signalled only while it has not
    been waited for, since its number may be somebody else's afterwards."""

    def __init__(self):
        self.lock, self.alive, self.closed = threading.Lock(), {}, False

    def spawn(self, command, environment, files):
        """`files` are (descriptor here, descriptor there). posix_spawn places each exactly, fd 3 too, with no code
        run between fork and exec; everything else here is close-on-exec."""
        with self.lock:
            if self.closed:
                raise FailedInvocation("the runtime is shutting down")
            try:
                pid = os.posix_spawnp(command[0], command, environment, setpgroup=0, setsigmask=[],
                                      setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
                                      file_actions=[(os.POSIX_SPAWN_DUP2, here, there) for here, there in files])
            except OSError as error:
                if error.errno == errno.E2BIG:
                    size = max(environment, key=lambda name: len(environment[name]))
                    raise FailedInvocation(
                        "the environment is over the system's limit for a new process (E2BIG, for one variable or for "
                        f"all); its largest is {size.decode()} with {len(environment[size])} bytes") from None
                raise FailedInvocation(f"cannot start {command[0]!r}: {error.strerror}") from None
            except ValueError as error:
                raise FailedInvocation(f"cannot start {command[0]!r}: {error}") from None
            self.alive[pid] = None
            return pid

    def poll(self, pid):
        """The exit status (negative for a signal), or None while the process runs."""
        with self.lock:
            if pid in self.alive:
                if self.alive[pid] is None:
                    done, status = os.waitpid(pid, os.WNOHANG)
                    if not done:
                        return None
                    self.alive[pid] = os.waitstatus_to_exitcode(status)
                return self.alive[pid]

    def signal(self, pid, number):
        with self.lock:
            if self.alive.get(pid, 0) is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, number)

    def end(self, *pids):
        """Asks first, then insists. Of processes that have ended already only the number is forgotten."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in pids:
                self.signal(pid, number)
            deadline = time.monotonic() + 2
            while any(pid in self.alive and self.poll(pid) is None for pid in pids) and time.monotonic() < deadline:
                time.sleep(0.01)
        with self.lock:
            for pid in pids:
                self.alive.pop(pid, None)

    def close(self):
        with self.lock:
            self.closed = True
            pids = list(self.alive)
        self.end(*pids)


CHILDREN = Children()


class Diagnostics:
    """A handler's stderr: always drained, shown to the person at the command line, its end kept for error messages."""
    shown = False

    def __init__(self):
        self.kept, self.cut = b"", 0

    def add(self, chunk):
        if Diagnostics.shown:
            with contextlib.suppress(OSError):
                os.write(2, chunk)
        self.kept += chunk
        excess = max(0, len(self.kept) - STDERR_KEPT)
        self.cut, self.kept = self.cut + excess, self.kept[excess:]

    def __str__(self):
        if not self.kept:
            return ""
        omitted = f" (the last of {self.cut + len(self.kept)} bytes)" if self.cut else ""
        return f"; stderr{omitted}: {self.kept.decode(errors='backslashreplace').rstrip()}"


def status_text(status):
    return f"signal {-status}" if status < 0 else f"exit status {status}"


def environment(manifest, trace, **more):
    """§13 and §14. Identity and trace variables of the runtime's own surroundings do not leak in (F43)."""
    inherited = {name: value for name, value in os.environb.items()
                 if not name.startswith(b"PUGMARK_") and name not in (b"TRACEPARENT", b"TRACESTATE")}
    ours = {"PUGMARK_AGENT_ID": manifest.agent, "PUGMARK_SESSION_ID": manifest.id, **more,
            **{name.upper(): value for name, value in trace.items()}}
    if manifest.metadata:
        ours["PUGMARK_SESSION_METADATA"] = json.dumps(manifest.metadata)
    return inherited | {name.encode(): value.encode() for name, value in ours.items()}


class SubprocessHandler:
    """§2.1: Inputs on fd 0, Outputs on fd 1, done when it exits."""

    def __init__(self, command):
        self.command = command

    def invoke(self, view, stream, trace):
        with contextlib.ExitStack() as stack:
            def pipe():
                ends = os.pipe()
                return [stack.enter_context(os.fdopen(end, mode, buffering=0)) for end, mode in zip(ends, ("rb", "wb"))]
            (their_in, ours_in), (ours_out, their_out), (ours_err, their_err) = pipe(), pipe(), pipe()
            pid = CHILDREN.spawn(self.command, environment(view.manifest, trace),
                                 [(their_in.fileno(), 0), (their_out.fileno(), 1), (their_err.fileno(), 2)])
            try:
                for end in (their_in, their_out, their_err):
                    end.close()
                status, output, diagnostics = self.converse(pid, stream, ours_in, ours_out, ours_err)
            finally:
                CHILDREN.end(pid)
        if status != 0:
            raise FailedInvocation(f"the handler ended with {status_text(status)}{diagnostics}")
        return output

    @staticmethod
    def converse(pid, stream, stdin, stdout, stderr):
        """Feeds and drains the handler at its own pace until it has exited and its output has ended. It need not
        read, may close its input early (§16), and may leave a child behind that holds its output open (R22)."""
        output, diagnostics, rest = bytearray(), Diagnostics(), memoryview(stream)
        status, deadline = None, math.inf
        for file in (stdin, stdout, stderr):
            os.set_blocking(file.fileno(), False)
        with selectors.DefaultSelector() as selector:
            selector.register(stdin, selectors.EVENT_WRITE)
            selector.register(stdout, selectors.EVENT_READ, output.extend)
            selector.register(stderr, selectors.EVENT_READ, diagnostics.add)

            def done(file):
                selector.unregister(file)
                file.close()

            while True:
                if status is None and (status := CHILDREN.poll(pid)) is not None:
                    deadline = time.monotonic() + GRACE
                if status is not None and (stdout.closed or time.monotonic() > deadline):
                    break
                for key, _ in selector.select(0.02):
                    file = key.fileobj
                    try:
                        if file is not stdin:
                            chunk = file.read(65536)
                            if chunk:
                                key.data(chunk)
                            elif chunk is not None:
                                done(file)
                            continue
                        rest = rest[file.write(rest[:65536]) or 0:]
                        if not rest:
                            done(file)          # the end of the Inputs (§16)
                    except BrokenPipeError:
                        done(file)
            if not stderr.closed and (chunk := stderr.read(65536)):
                diagnostics.add(chunk)
        return status, bytes(output), diagnostics

    def close(self):
        pass


def post(url, view, stream, trace):
    """§2.2: one POST on a connection of its own. The answer is read while the request is still being sent, since a
    handler may answer in full without reading (R19) or before it has read everything."""
    manifest = view.manifest
    parts = urllib.parse.urlsplit(url)
    query = urllib.parse.urlencode({"agent": manifest.agent, "session": manifest.id, "snapshot": view.version})
    target = (parts.path or "/") + "?" + (parts.query + "&" if parts.query else "") + query
    headers = {"Content-Type": "application/json", "Content-Length": str(len(stream)), "Connection": "close", **trace}
    if manifest.metadata:
        headers["X-Pugmark-Session-Metadata"] = json.dumps(manifest.metadata)   # ASCII by escapes (R12)
    for name, value in headers.items():
        if len(name) + len(value) + 4 > HEADER_LIMIT:
            raise FailedInvocation(f"the {name} header is over the limit of {HEADER_LIMIT} bytes a line: {len(value)}")
    try:
        connection = http.client.HTTPConnection(parts.hostname, parts.port)
        with contextlib.closing(connection):
            connection.putrequest("POST", target)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders()
            with sending(connection.sock, stream):
                response = connection.getresponse()
                body = response.read()
    except (OSError, http.client.HTTPException) as error:
        raise FailedInvocation(f"the request to {url} failed: {type(error).__name__}: {error}") from None
    if response.status != 200:          # redirects and other 2xx too (R25)
        raise FailedInvocation(f"{url} answered {response.status} {response.reason}: {body[:200]!r}")
    return body


@contextlib.contextmanager
def sending(connection, stream):
    """Sends beside what the caller does. That the other side stops listening is no failure by itself."""
    def send():
        with contextlib.suppress(OSError):
            duplicate.sendall(stream)

    # A descriptor of its own: the client closes the connection's as soon as the answer has ended.
    duplicate = connection.dup()
    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            duplicate.shutdown(socket.SHUT_RDWR)    # wakes a sender that nobody listens to
        sender.join()
        duplicate.close()


class HttpHandler:
    """§2.2: a service that somebody else runs."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise BadRequest(f"not an http URL: {url!r}")
        self.url = url

    def invoke(self, view, stream, trace):
        return post(self.url, view, stream, trace)

    def close(self):
        pass


class RpcHandler:
    """§13, RPC mode: a process of ours that accepts on descriptor 3. It serves every invocation of one run."""

    def __init__(self, command):
        self.command, self.pid, self.url = command, None, None

    def invoke(self, view, stream, trace):
        if self.pid is None:
            self.spawn(view, trace)
        try:
            return post(self.url, view, stream, trace)
        except FailedInvocation as failure:
            time.sleep(0.05)            # a process that has just died says more than a broken connection
            status = CHILDREN.poll(self.pid)
            died = f"; the process ended with {status_text(status)}" if status is not None else ""
            raise FailedInvocation(f"{failure}{died}{self.diagnostics}") from None

    def spawn(self, view, trace):
        listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        reader, writer = os.pipe()
        nothing = os.open(os.devnull, os.O_RDONLY)
        try:
            self.pid = CHILDREN.spawn(self.command, environment(view.manifest, trace, PUGMARK_RPC_URL="fd://3"),
                                      [(nothing, 0), (writer, 1), (writer, 2), (listener.fileno(), 3)])
        except FailedInvocation:
            os.close(reader)
            raise
        finally:
            # Held by the child alone, so that its death resets connections instead of leaving them to wait.
            listener.close()
            os.close(writer)
            os.close(nothing)
        self.diagnostics = Diagnostics()
        threading.Thread(target=self.drain, args=(reader,), daemon=True).start()

    def drain(self, reader):
        with os.fdopen(reader, "rb", buffering=0) as file:
            while chunk := file.read(65536):
                self.diagnostics.add(chunk)

    def close(self):
        if self.pid is not None:
            CHILDREN.end(self.pid)


class Handlers:
    """§15: a default handler and named ones."""

    def __init__(self, default, named):
        self.default, self.named = default, named

    def pick(self, manifest):
        if not manifest.handler:
            if self.default is None:
                raise BadRequest("the session names no handler and the run was given no default one")
            return self.default
        if manifest.handler not in self.named:
            known = ", ".join(sorted(self.named)) or "none, only a default"
            raise BadRequest(f"the session asks for handler {manifest.handler!r}; registered: {known}")     # R51
        return self.named[manifest.handler]

    def close(self):
        for handler in [self.default, *self.named.values()]:
            if handler:
                handler.close()


# ---------------------------------------------------------------------------------------------------------------
# Invocations


def trace_context(session, traceparent, tracestate):
    """§14: the session ID is the trace ID whatever comes in. The state goes on only beside a valid parent (R53)."""
    match = re.fullmatch(r"(?!ff)([0-9a-f]{2})-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(-.*)?",
                         traceparent or "")
    valid = match and not (match[1] == "00" and match[3])
    sampled = int(match[2], 16) & 1 if valid else 1
    span = f"{secrets.randbits(64) or 1:016x}"
    trace = {"traceparent": f"00-{session}-{span}-{sampled:02x}"}
    if valid and header_value((tracestate or "").strip()):
        trace["tracestate"] = tracestate.strip()
    return trace


def input_stream(view, object_root, memory_root):
    """§4.2: the memory announcement, the log, the lifecycle event."""
    inputs = [{"event": "memory", "url": memory_root}]
    for entry in view.entries:
        if entry.replayed:
            shown = {name: entry.fields.get(name) for name in ("size", *DESCRIBED)}
            # The url goes along with inline data: an empty body would otherwise look like a no-op (R49).
            inputs.append(compact({
                "event": "push" if view.pushed(entry) else "", "url": object_root + entry.fields["digest"],
                **shown, "data": encode_base64(entry.body or b"")}))
    inputs.append(compact({"event": view.lifecycle()}))
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in inputs)


def wait_until_due(store, session):
    """The view to invoke a handler on, or None for a paused session. An entry that arrives ends a sleep (§10)."""
    view = store.view(session)
    while delay := view.delay():
        if delay == math.inf:
            return None
        time.sleep(min(delay, 0.05))
        if store.version(session) != view.version:
            view = store.view(session)
    return view


def run(store, session, handlers, once=False, traceparent="", tracestate=""):
    """Invokes the handler once, or until the session pauses or an invocation adds nothing (R6).

    A lost commit is not forced through: the handler is invoked again on what the log has become (§1), so nothing
    that was written meanwhile stays unseen, and the lost outputs, none of which took effect, appear once."""
    conflicts = 0
    while True:
        store.make_forks(session)       # also for a paused parent, or its children would never live (R38)
        view = wait_until_due(store, session)
        if view is None:
            return {"version": store.version(session), "state": "paused"}
        handler = handlers.pick(view.manifest)
        trace = trace_context(session, traceparent, tracestate)
        with body_servers(store, view) as roots:
            stream = handler.invoke(view, input_stream(view, *roots), trace)
        try:
            committed = store.commit(view, make_plan(stream, session))
        except Conflict:
            conflicts += 1
            if conflicts == MOST_CONFLICTS:
                raise FailedInvocation(f"lost {conflicts} commits in a row to other writers") from None
            continue
        conflicts = 0
        if once or committed is None:
            version = store.version(session)
            if once or version == view.version:     # else something arrived while the handler had nothing to say
                return {"version": version, "state": "ran" if committed else "idle"}


# ---------------------------------------------------------------------------------------------------------------
# The two ways to be driven


def described(request):
    """The fields of an entry that a push may set."""
    return {name: checked_metadata(value) if name == "metadata" else checked_text(name, value)
            for name in DESCRIBED for value in [request.get(name)]}


def make_handler(request):
    """A handler from `command`, `rpc` or `url`; a bare list is a command. None when there is none of them."""
    if isinstance(request, list):
        request = {"command": request}
    kinds = {"command": SubprocessHandler, "rpc": RpcHandler, "url": HttpHandler}
    given = [name for name in kinds if request.get(name)]
    if len(given) > 1:
        raise BadRequest(f"more than one default handler: {', '.join(given)}")
    return kinds[given[0]](request[given[0]]) if given else None


def perform(op, request):
    """One operation of the driver agreement. The command line goes through it too."""
    if not request.get("store"):
        raise BadRequest("no store given")
    store = Store(request["store"])
    if op == "start":
        agent, handler = (checked_text(name, request.get(name)) for name in ("agent", "handler"))
        metadata = checked_metadata(request.get("metadata"))
        return {"session": store.start(request.get("session"), agent, handler, metadata)}
    session = checked_id(request.get("session"))
    if op == "push":
        return {"version": store.push(session, decode_base64(request.get("body") or ""), described(request))}
    if op == "log":
        return {"entries": store.log(session)}
    if op == "inspect":
        return store.dump(session)
    named = {name: make_handler(given) for name, given in (request.get("handlers") or {}).items()}
    with contextlib.closing(Handlers(make_handler(request), named)) as handlers:
        return run(store, session, handlers, bool(request.get("once")),
                   request.get("traceparent"), request.get("tracestate"))


OPERATIONS = ("start", "push", "run", "log", "inspect")


def drive():
    """One JSON request a line in, one JSON answer a line out. Runs are answered when they are done (threads)."""
    lock = threading.Lock()

    def say(answer):
        with lock:
            print(json.dumps(answer), flush=True)

    def answer(request):
        try:
            say({"id": request["id"], "ok": perform(request["op"], request)})
        except Failure as failure:
            say({"id": request["id"], "error": {"message": str(failure), "kind": failure.kind}})
        except Exception as error:      # the driver outlives a request that breaks it
            say({"id": request["id"], "error": {"message": f"{type(error).__name__}: {error}", "kind": "internal"}})

    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        try:
            request = json.loads(line)
            op = request["op"]
            request.setdefault("id", None)
        except (ValueError, KeyError, TypeError, AttributeError):
            say({"id": None, "error": {"message": "not a request", "kind": "request"}})
            continue
        if op == "quit":
            CHILDREN.close()
            say({"id": request["id"], "ok": {}})
            break
        if op not in OPERATIONS:
            say({"id": request["id"], "unsupported": True})
        elif op == "run":
            threading.Thread(target=answer, args=(request,), daemon=True).start()
        else:
            answer(request)
    lock.acquire()          # the interpreter must not end with an answer halfway out


def parse_arguments(arguments):
    """Options take the next argument whatever it looks like, so that names may begin with a dash."""
    options, words, handlers = {}, [], {}
    rest = iter(arguments)
    for word in rest:
        if word == "--":
            options["command"] = list(rest)
        elif word in ("--once", "--rpc"):
            options[word[2:]] = True
        elif word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if not equals and (value := next(rest, None)) is None:
                raise BadRequest(f"{word} needs a value")
            if name == "handler" and words[:1] == ["run"]:
                name, _, command = value.partition("=")
                handlers[name] = shlex.split(command)
            else:
                options[name] = value
        else:
            words.append(word)
    if unknown := set(options) - {"store", "session", "agent", "handler", "metadata", "name", "content-type",
                                  "content-encoding", "schema-url", "once", "rpc", "url", "command"}:
        raise BadRequest(f"unknown option: --{unknown.pop()}")
    return words, options, handlers


def command_line(arguments):
    words, request, handlers = parse_arguments(arguments)
    op, *words = words or [""]
    if op == "version":
        print(VERSION)
        return
    if op == "driver":
        drive()
        return
    wanted = {op: ("session",) for op in OPERATIONS} | {"start": (), "push": ("session", "file")}
    if op not in wanted or len(words) != len(wanted[op]):
        raise BadRequest(f"usage:\n{__doc__}")
    request.update(zip(wanted[op], words))
    if "metadata" in request:
        try:
            request["metadata"] = json.loads(request["metadata"] or "null", object_pairs_hook=Fields)
        except ValueError as error:
            raise BadRequest(f"--metadata is not JSON: {error}") from None
    if op == "push":
        try:
            with (open(0, "rb") if request["file"] == "-" else open(request["file"], "rb")) as file:
                request["body"] = encode_base64(file.read())
        except OSError as error:
            raise BadRequest(f"cannot read the body: {error}") from None
    if op == "run":
        Diagnostics.shown = True
        if request.pop("rpc", False):
            request["rpc"] = request.pop("command", None)
        request.update(handlers=handlers, traceparent=os.environ.get("TRACEPARENT"),
                       tracestate=os.environ.get("TRACESTATE"))
    answer = perform(op, request)
    if op == "start":
        print(answer["session"])
    else:
        for item in answer["entries"] if op == "log" else [answer]:
            print(json.dumps(item))


def main():
    def interrupted(number, _):
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGINT, interrupted)
    for descriptor in map(int, os.listdir("/dev/fd")):
        if descriptor > 2:      # whatever we were started with is not for handlers, least of all descriptor 3
            with contextlib.suppress(OSError):
                os.set_inheritable(descriptor, False)
    try:
        command_line(sys.argv[1:])
    except Failure as failure:
        note(str(failure))
        return 1 if isinstance(failure, FailedInvocation) else 2
    finally:
        CHILDREN.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
