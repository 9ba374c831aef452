"""The Lambda Runtime API over HTTP, for one process.

https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html; what the requests mean is for the process they are of.
"""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer

PREFIX = "/2018-06-01/runtime/"


class RuntimeAPI(ThreadingHTTPServer):
    """Serves one process on a port of its own, so that a process that dies takes its waiting requests with it."""

    daemon_threads = True

    def __init__(self, process):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.process = process

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    def server_bind(self):
        # HTTPServer also asks the resolver for the address's name, which can take seconds.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]

    def handle_error(self, request, client_address):
        # A process may be killed in the middle of a request. Everything else is a mistake here, and shown.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # An answer goes out as header and body; without this, the second would wait for the first one's acknowledgement.
    disable_nagle_algorithm = True

    def do_GET(self):
        if self.path != PREFIX + "invocation/next":
            return self._reply(404)
        invocation = self.server.process.next()
        if invocation is None:  # the process has ended, and nobody listens
            self.close_connection = True
            return None
        return self._reply(
            200,
            invocation.payload,
            {
                "Content-Type": "application/json",
                "Lambda-Runtime-Aws-Request-Id": invocation.id,
                "Lambda-Runtime-Deadline-Ms": str(invocation.deadline_ms),
                "Lambda-Runtime-Invoked-Function-Arn": invocation.arn,
                "Lambda-Runtime-Trace-Id": invocation.trace,
            },
        )

    def do_POST(self):
        body = self._body()
        match self.path.removeprefix(PREFIX).split("/"):
            case ["init", "error"]:
                self.server.process.fail_start(body)
            case ["invocation", id, "response"]:
                self.server.process.answer(id, body, is_error=False)
            case ["invocation", id, "error"]:
                self.server.process.answer(id, body, is_error=True)
            case _:
                return self._reply(404)
        return self._reply(202, b'{"status":"OK"}', {"Content-Type": "application/json"})

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = bytearray()
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():  # trailers
            pass
        return bytes(body)

    def _reply(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        """Says nothing: the function's log is for the function."""
