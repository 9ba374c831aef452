"""Changes to LocalStack itself, made before its services start."""

import functools
import logging
import os
import threading

from localstack.runtime import hooks

LOG = logging.getLogger(__name__)

# How long an event source asks a queue for messages at a time, in seconds. Short, since a mapping that is deleted ends only
# then.
LONG_POLL = 2
# How many batches of one event source are under way at most, whatever it allows: this is one machine.
BATCHES = 4


@hooks.on_infra_start()
def listen_on_loopback():
    """Of GATEWAY_LISTEN, LocalStack heeds the port alone, and listens on every interface."""
    from localstack.runtime.server import twisted

    everywhere = twisted.endpoints.TCP4ServerEndpoint
    twisted.endpoints.TCP4ServerEndpoint = functools.partial(everywhere, interface="127.0.0.1")


@hooks.on_infra_start()
def dynamodb_from_jars():
    """Runs DynamoDB Local from a folder of jars; LocalStack would download it, and a Java, from where it cannot here."""
    jars = os.environ.get("REPRISE_DYNAMODB_JARS")
    if not jars:
        return
    from localstack.services.dynamodb import packages, server

    def command(self):
        java = ["java", f"-Xmx{self.heap_size}", f"-Djava.library.path={jars}", "-cp", f"{jars}/*:{jars}", "Loopback"]
        storage = ["-inMemory"] if self.in_memory else ["-dbPath", self.db_path]
        return [*java, "-disableTelemetry", "-port", str(self.port), *storage]

    server.DynamodbServer._create_shell_command = command
    packages.DynamoDBLocalPackageInstaller.install = lambda self, *args, **kwargs: None
    packages.DynamoDBLocalPackageInstaller.get_java_env_vars = lambda self: {}


@hooks.on_infra_start()
def pollers_like_those_of_aws():
    """An event source mapping of LocalStack asks its queue once a second and waits for each batch to end. Those of AWS ask
    all the time, and run as many batches at once as the mapping's maximum concurrency allows."""
    from localstack.services.lambda_.event_source_mapping import esm_worker
    from localstack.services.lambda_.event_source_mapping.pollers.sqs_poller import SqsPoller

    backoff, init, handle = esm_worker.ExponentialBackoff, SqsPoller.__init__, SqsPoller.handle_messages

    def prompt(initial_interval, max_interval):
        return backoff(initial_interval=min(initial_interval, max_interval), max_interval=max_interval)

    def long_polling(self, *args, **kwargs):
        init(self, *args, **kwargs)
        # This is also the wait of its ReceiveMessage, which ends with the first message.
        self.maximum_batching_window = max(self.maximum_batching_window, LONG_POLL)
        self.free = threading.BoundedSemaphore(BATCHES)

    def concurrently(self, messages):
        self.free.acquire()

        def work():
            try:
                handle(self, messages)
            except Exception as error:
                LOG.warning("A batch of %s failed: %r", self.source_arn, error)
            finally:
                self.free.release()

        threading.Thread(target=work, name="event-source-batch", daemon=True).start()

    esm_worker.ExponentialBackoff = prompt
    SqsPoller.__init__ = long_polling
    SqsPoller.handle_messages = concurrently


@hooks.on_infra_start()
def recursive_loop_from_templates():
    """LocalStack keeps a function's RecursiveLoop, but its CloudFormation passes the property over."""
    from localstack.services.lambda_.resource_providers.aws_lambda_function import LambdaFunctionProvider

    def setting(handle):
        def handle_and_set(self, request):
            event = handle(self, request)
            loop = request.desired_state.get("RecursiveLoop", "Terminate")
            name = event.resource_model["FunctionName"]
            request.aws_client_factory.lambda_.put_function_recursion_config(FunctionName=name, RecursiveLoop=loop)
            return event

        return handle_and_set

    LambdaFunctionProvider.create = setting(LambdaFunctionProvider.create)
    LambdaFunctionProvider.update = setting(LambdaFunctionProvider.update)
