"""One run of a function's bootstrap, from its start until it ends by itself or is killed."""

import contextlib
import dataclasses
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

from reprise_localstack.runtime_api import RuntimeAPI


@dataclasses.dataclass(frozen=True)
class Invocation:
    id: str
    arn: str
    trace: str
    payload: bytes
    deadline_ms: int


@dataclasses.dataclass(frozen=True)
class Answer:
    payload: bytes
    is_error: bool


class StartFailed(Exception):
    """The bootstrap reported an error before it asked for its first invocation. Its argument is the report."""


class Ended(Exception):
    """The process is gone. Its argument says how it ended, in Lambda's words."""


class TimedOut(Exception):
    """The invocation took too long. The process has been killed."""


class Log:
    """What one execution environment prints, in a file: the bootstraps write to it themselves, so nothing is lost with them."""

    def __init__(self, path: Path):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file = path.open("ab", buffering=0)

    def line(self, text: str):
        self.file.write(text.encode() + b"\n")

    def size(self) -> int:
        return self.path.stat().st_size

    def since(self, position: int) -> str:
        with self.path.open("rb") as file:
            file.seek(position)
            return file.read().decode(errors="replace")


class Process:
    """A bootstrap and the Runtime API that it talks to. What happens in requests, in the watcher and in the caller meets under
    one condition variable."""

    def __init__(self, bootstrap: Path, environment: dict[str, str], log: Log, pids: Path, function: str):
        self._changed = threading.Condition()
        self._waits = False  # the bootstrap asks for an invocation
        self._given: Invocation | None = None  # and this is what it will get
        self._running: str | None = None  # the id of the invocation without an answer
        self._answer: Answer | None = None
        self._start_failure: bytes | None = None
        self._end: str | None = None

        self._api = RuntimeAPI(self)
        try:
            self._child = subprocess.Popen(
                [bootstrap],
                cwd=bootstrap.parent,
                env=environment | {"AWS_LAMBDA_RUNTIME_API": self._api.address},
                stdin=subprocess.DEVNULL,
                stdout=log.file,
                stderr=log.file,
                start_new_session=True,  # so that its own children can be killed with it
            )
        except OSError:
            self._api.server_close()
            raise
        self._pid_file = pids / f"{function}-{self._child.pid}"
        pids.mkdir(parents=True, exist_ok=True)
        self._pid_file.touch()
        threading.Thread(target=self._api.serve_forever, name=f"runtime-api-{function}", daemon=True).start()
        threading.Thread(target=self._watch, name=f"watch-{function}", daemon=True).start()

    # For the executor.

    def wait_until_ready(self):
        """Blocks until the bootstrap asks for an invocation. Raises StartFailed or Ended if it never will."""
        with self._changed:
            self._changed.wait_for(lambda: self._waits or self._end or self._start_failure is not None)
            if self._start_failure is not None:
                raise StartFailed(self._start_failure)
            if self._end:
                raise Ended(self._end)

    def invoke(self, invocation: Invocation) -> Answer:
        """Blocks until there is an answer. Raises Ended, or TimedOut at the invocation's deadline."""
        with self._changed:
            self._given, self._running, self._answer = invocation, invocation.id, None
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._answer or self._end, invocation.deadline_ms / 1000 - time.time())
            self._running = None
            if self._answer:
                return self._answer
            if self._end:
                raise Ended(self._end)
        self.kill()
        raise TimedOut

    def kill(self):
        """Kills the process and its children, and returns once it is gone."""
        with self._changed:
            if not self._end:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._child.pid, signal.SIGKILL)
            self._changed.wait_for(lambda: self._end)

    # For the Runtime API.

    def next(self) -> Invocation | None:
        """Blocks until there is an invocation; None once the process has ended."""
        with self._changed:
            self._waits = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._given or self._end)
            self._waits = False
            given, self._given = self._given, None
            return None if self._end else given

    def answer(self, id: str, payload: bytes, *, is_error: bool):
        with self._changed:
            if id == self._running:  # else it comes after its deadline
                self._answer = Answer(payload, is_error)
                self._changed.notify_all()

    def fail_start(self, report: bytes):
        with self._changed:
            self._start_failure = report
            self._changed.notify_all()

    def _watch(self):
        code = self._child.wait()
        self._pid_file.unlink(missing_ok=True)
        with self._changed:
            self._end = f"exit status {code}" if code >= 0 else f"signal: {signal.strsignal(-code).lower()}"
            self._changed.notify_all()
        self._api.shutdown()
        self._api.server_close()
