"""Lambda execution environments as processes: what LocalStack asks of an executor."""

import json
import logging
import os
import threading
import time
from pathlib import Path

from localstack.runtime import hooks
from localstack.services.lambda_.invocation.executor_endpoint import StatusErrorException
from localstack.services.lambda_.invocation.lambda_models import InvocationResult
from localstack.services.lambda_.invocation.models import lambda_stores
from localstack.services.lambda_.invocation.plugins import RuntimeExecutorPlugin
from localstack.services.lambda_.invocation.runtime_executor import RuntimeExecutor

from reprise_localstack import loops
from reprise_localstack.process import Ended, Invocation, Log, Process, StartFailed, TimedOut

LOG = logging.getLogger(__name__)


class ProcessExecutorPlugin(RuntimeExecutorPlugin):
    name = "process"

    def load(self, *args, **kwargs):
        return ProcessExecutor


class ProcessExecutor(RuntimeExecutor):
    """One execution environment: one process at a time. LocalStack gives it one invocation at a time, and makes another
    environment when all are taken."""

    # All environments, so that none outlives LocalStack.
    running: set["ProcessExecutor"] = set()

    def __init__(self, id, function_version):
        super().__init__(id=id, function_version=function_version)
        self.function = function_version.id.function_name
        self.folder = Path(os.environ["REPRISE_LOCALSTACK_DIR"]).absolute()
        self.log = Log(self.folder / "logs" / f"{self.function}-{id[:8]}.log")
        self.environment: dict[str, str] = {}
        self.process: Process | None = None
        # Guards the next two: an environment is stopped by other threads than the one that invokes.
        self.lock = threading.Lock()
        self.invoking = False
        self.stopped = False

    def start(self, env_vars):
        code = self.function_version.config.code.get_unzipped_code_location()
        self.environment = {name: str(value) for name, value in env_vars.items() if value is not None}
        self.environment |= {"LAMBDA_TASK_ROOT": str(code), "PATH": os.environ["PATH"]}
        self.running.add(self)
        try:
            self._launch()
        except (OSError, StartFailed, Ended) as error:
            raise StatusErrorException("The function did not start", payload=self._report("-", error)) from error

    def invoke(self, payload):
        with self.lock:
            self.invoking = True
        try:
            return self._invoke(payload)
        finally:
            with self.lock:
                self.invoking = False
                leave = self.stopped
            if leave:
                self._end()

    def stop(self):
        """An invocation under way is not cut off by a new version of the function, or by its removal: as on AWS, its process
        ends after it."""
        with self.lock:
            self.stopped = True
            leave = not self.invoking
        if leave:
            self._end()

    def get_logs(self):
        return self.log.since(0)

    def get_address(self):
        return "127.0.0.1"

    def get_endpoint_from_executor(self):
        return "127.0.0.1"

    def get_runtime_endpoint(self):
        return ""  # asked of LocalStack's own init program, which does not run here

    @classmethod
    def prepare_version(cls, function_version):
        function_version.config.code.prepare_for_execution()

    @classmethod
    def cleanup_version(cls, function_version):
        """Leaves the code where it is: the next version may have the same, and LocalStack deletes it with its last user."""

    def _launch(self):
        bootstrap = self.function_version.config.code.get_unzipped_code_location() / "bootstrap"
        bootstrap.chmod(0o755)
        self.process = Process(bootstrap, self.environment, self.log, self.folder / "pids", self.function)
        self.process.wait_until_ready()

    def _invoke(self, payload) -> InvocationResult:
        id, position = payload["invoke-id"], self.log.size()
        self.log.line(f"START RequestId: {id} Version: {self.function_version.id.qualifier}")
        began = time.monotonic()
        try:
            invocation = self._invocation(payload)
            answer = self._process_that_waits().invoke(invocation)
            body, is_error = answer.payload, answer.is_error
        except (OSError, StartFailed, Ended, TimedOut, loops.RecursiveInvocation) as error:
            body, is_error = self._report(id, error), True
        self.log.line(f"END RequestId: {id} Duration: {(time.monotonic() - began) * 1000:.2f} ms")
        return InvocationResult(id, body, is_error=is_error, logs=self.log.since(position))

    def _process_that_waits(self) -> Process:
        """The bootstrap reports an error and ends after it; only one that asks for more is sure to take an invocation."""
        try:
            self.process.wait_until_ready()
        except (StartFailed, Ended):
            self.process.kill()
            self._launch()
        return self.process

    def _invocation(self, payload) -> Invocation:
        deadline = time.time() + self.function_version.config.timeout
        arn, event = self.function_version.id.unqualified_arn(), payload["payload"]
        return Invocation(
            id=payload["invoke-id"],
            arn=payload["invoked-function-arn"],
            trace=loops.count(arn, self._recursive_loop(), payload["trace-id"], event),
            payload=event.encode(),
            deadline_ms=int(deadline * 1000),
        )

    def _recursive_loop(self) -> str:
        """The function's setting, which is not of a version: Allow or Terminate."""
        id = self.function_version.id
        return lambda_stores[id.account][id.region].functions[id.function_name].recursive_loop

    def _report(self, id: str, error: Exception) -> bytes:
        """What Lambda answers when the function cannot."""
        match error:
            case StartFailed():
                return error.args[0]
            case TimedOut():
                kind, message = "Sandbox.Timedout", f"Task timed out after {self.function_version.config.timeout}.00 seconds"
            case loops.RecursiveInvocation():
                kind, message = "RecursiveInvocationException", str(error)
            case Ended():
                kind, message = "Runtime.ExitError", f"Runtime exited with error: {error}"
            case _:
                kind, message = "Runtime.InvalidEntrypoint", str(error)
        message = f"RequestId: {id} Error: {message}"
        self.log.line(message)
        return json.dumps({"errorType": kind, "errorMessage": message}).encode()

    def _end(self):
        if self.process:
            self.process.kill()
        self.running.discard(self)


@hooks.on_infra_shutdown(priority=-100)
def end_all():
    """Ends what still runs once LocalStack has stopped its services, in the middle of invocations too."""
    for executor in list(ProcessExecutor.running):
        executor._end()
