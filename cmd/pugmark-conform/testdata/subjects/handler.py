"""See rpc-handler.yaml: RPC mode, with the answers of the good sessions made by the
program that follows the agreement."""

import os
import signal
import socket
import subprocess
import time
import urllib.parse

CONDUCT = os.environ["CONDUCT"]


def receive(connection):
    """Returns the query of the request, and its body."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, body = data.split(b"\r\n\r\n", 1)
    lines = head.decode().split("\r\n")
    length = next(int(l.split(":")[1]) for l in lines if l.lower().startswith("content-length:"))
    while len(body) < length:
        body += connection.recv(65536)
    return urllib.parse.parse_qs(urllib.parse.urlsplit(lines[0].split()[1]).query), body


def misbehave(connection):
    if CONDUCT == "dies-in-the-middle":
        connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"name":"half"}\n')
        os.kill(os.getpid(), signal.SIGKILL)
    elif CONDUCT == "exits-without-answer":
        os._exit(0)
    elif CONDUCT == "hangs":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if "READY" in os.environ:
            with open(os.environ["READY"], "w") as ready:
                ready.write("\n")
        time.sleep(3600)
    elif CONDUCT == "answers-nonsense":
        connection.sendall(b"what do you want?\r\n\r\n")
    elif CONDUCT == "answers-text":
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n")


listener = socket.socket(fileno=3)
while True:
    connection, _ = listener.accept()
    with connection:
        query, body = receive(connection)
        session = query["session"][0]
        if session.startswith("bad"):
            misbehave(connection)
            continue
        environment = {"PATH": os.environ["PATH"], "PUGMARK_SESSION_ID": session}
        answer = subprocess.run(["pugmark-conform", "conform-handler"], input=body, env=environment, capture_output=True).stdout
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)
