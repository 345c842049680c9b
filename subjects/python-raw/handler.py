"""A handler without any SDK that follows the protocol and the conformance agreement.

Started by a runtime, it reads standard input; with PUGMARK_RPC_URL=fd://3 it serves
invocations on descriptor 3.
"""

import base64
import codecs
import decimal
import gzip
import http.client
import http.server
import io
import json
import os
import socket
import sys
import urllib.parse

import zstandard

TYPES = {"text": "text/plain", "json": "application/json", "base64": "application/octet-stream"}
PAUSE = "application/vnd.pugmark.pause+text"


def records(read):
    """Yields records as soon as they are whole; text that is no record is an error."""
    decode, parse = codecs.getincrementaldecoder("utf-8")().decode, json.JSONDecoder().raw_decode
    text, ended = "", False
    while not ended:
        chunk = read()
        ended = not chunk
        text = (text + decode(chunk, ended)).lstrip(" \t\r\n")
        while text and (ended or "}" in text):
            try:
                record, end = parse(text)
            except ValueError:
                if ended:
                    raise
                break
            yield {k: v for k, v in record.items() if v is not None}
            text = text[end:].lstrip(" \t\r\n")


def decompress(body, encoding):
    match encoding or "identity":
        case "identity":
            return body
        case "gzip":
            return gzip.decompress(body)
        case "zstd":
            return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(body), read_across_frames=True).read()
    raise ValueError(f"unknown content encoding {encoding!r}")


class Invocation:
    def __init__(self, identity, read, emit, trace):
        self.identity, self.emit, self.trace = identity, emit, {k: v for k, v in trace.items() if v}
        self.root, self.entries = "", []
        for n, record in enumerate(records(read)):
            event = record.get("event", "")
            if n == 0 and event == "protocol" and record.get("metadata", {}).get("version") != "1":
                return  # a later version of the protocol: no Outputs
            if event == "memory":
                self.root = record["url"]
            elif event in ("start", "fork", "wake"):
                break  # the signal to begin, whether or not more input follows
            elif any(record.get(k) for k in ("name", "url", "data", "content-type")):
                self.entries.append(record)
        for do in (json.loads(self.body(self.find("conform/instructions"))) if self.find("conform/instructions") else {"do": []})["do"]:
            getattr(self, do["op"].replace("-", "_"), self.unsupported)(do)

    def find(self, name):
        return next((e for e in reversed(self.entries) if e.get("name") == name), None)

    def body(self, entry):
        if entry.get("data"):
            return decompress(base64.b64decode(entry["data"] + "=="), entry.get("content-encoding"))
        return self.get(entry["url"], entry.get("content-encoding")) if entry.get("url") else b""

    def get(self, url, encoding=""):
        parts = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname, parts.port)
        try:
            connection.request("GET", parts.path, headers=self.trace)
            answer = connection.getresponse()
            if not 200 <= answer.status < 300:
                raise OSError(f"GET {url}: status {answer.status}")
            return decompress(answer.read(), answer.getheader("Content-Encoding", encoding))
        finally:
            connection.close()

    def attempt(self, read, *args):
        try:
            return {"body": base64.b64encode(read(*args)).decode()}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}

    def write(self, do):
        kind = next(k for k in TYPES if k in do)
        body = base64.b64decode(do[kind]) if kind == "base64" else (do[kind] if kind == "text" else json.dumps(do[kind])).encode()
        if kind != "base64" and do.get("content-encoding"):
            body = gzip.compress(body) if do["content-encoding"] == "gzip" else zstandard.compress(body)
        self.output({"content-type": TYPES[kind]} | {k: v for k, v in do.items() if k not in ("op", *TYPES)}, body)

    def output(self, fields, body=b""):
        self.emit(json.dumps({k: v for k, v in (fields | {"data": base64.b64encode(body).decode()}).items() if v}, separators=(",", ":")) + "\n")

    def answer(self, name, value):
        self.output({"name": f"conform/{name}", "content-type": "application/json"}, json.dumps(value).encode())

    def write_remote(self, do):
        self.output({k: v for k, v in do.items() if k != "op"})

    def observe(self, do):
        fields = ("event", "name", "size", "content-type", "schema-url", "metadata")
        entries = [{k: e[k] for k in fields if k in e} | self.attempt(self.body, e) for e in self.entries]
        self.answer("observed", self.identity | {"entries": entries})

    def pause(self, do):
        seconds = f"{decimal.Decimal(repr(do['seconds'])):f}s" if "seconds" in do else ""
        self.output({"content-type": PAUSE, "metadata": {"duration": seconds} if seconds else {}}, do.get("reason", "").encode())

    sleep = pause

    def load(self, do):
        entry = self.find(do["name"])
        answer = {"name": do["name"], "as": do["as"], "found": entry is not None}
        if entry is not None:
            read = self.attempt(self.body, entry)
            data = base64.b64decode(read.pop("body", ""))
            shown = {"bytes": lambda: {"base64": base64.b64encode(data).decode()}, "text": lambda: {"text": data.decode()}, "json": lambda: {"json": json.loads(data)}}
            answer |= read or shown[do["as"]]()
        self.answer("loaded", answer)

    def memory(self, do):
        url = self.root + "/".join(urllib.parse.quote(s, safe="") for s in do["key"].split("/"))
        self.answer("memory", {"key": do["key"]} | self.attempt(self.get, url))

    def log(self, do):
        print(do["text"], file=sys.stderr)

    def fail(self, do):
        raise RuntimeError("asked to fail")

    def unsupported(self, do):
        self.answer("unsupported", {"op": do["op"]})


class Service(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        identity = {"session": query.get("session", ""), "agent": query.get("agent", ""), "snapshot": int(query.get("snapshot", 0))}
        identity["metadata"] = json.loads(self.headers.get("X-Pugmark-Session-Metadata", "{}"))
        left, out = int(self.headers["Content-Length"]), []

        def read():
            nonlocal left
            chunk = self.rfile.read1(min(left, 65536)) if left else b""
            left -= len(chunk)
            return chunk

        try:
            Invocation(identity, read, out.append, {k: self.headers.get(k) for k in ("traceparent", "tracestate")})
            status, body = 200, "".join(out).encode()
        except Exception as error:
            status, body = 500, f"{type(error).__name__}: {error}\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if status == 200 else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def emit(line):
    sys.stdout.buffer.write(line.encode())
    sys.stdout.buffer.flush()


if os.environ.get("PUGMARK_RPC_URL") == "fd://3":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service, bind_and_activate=False)
    server.socket = socket.socket(fileno=3)
    server.serve_forever()
else:
    metadata = json.loads(os.environ.get("PUGMARK_SESSION_METADATA") or "{}")
    who = {"session": os.environ.get("PUGMARK_SESSION_ID", ""), "agent": os.environ.get("PUGMARK_AGENT_ID", ""), "metadata": metadata}
    Invocation(who, lambda: os.read(0, 65536), emit, {k: os.environ.get(k.upper()) for k in ("traceparent", "tracestate")})
