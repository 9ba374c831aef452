"""LocalStack without Docker.

LocalStack runs each function in a container and downloads DynamoDB Local by itself. Where there is no Docker engine it runs as
an ordinary process, and this plugin fills in:

- process, runtime_api, executor: a function's bootstrap as a child process that talks to a Lambda Runtime API of its own.
- loops: Lambda's recursive loop detection, which LocalStack lacks.
- hooks: DynamoDB Local from a folder of jars; event sources that hand out messages at once, and several batches at a time;
  the setting RecursiveLoop in templates.

Two variables of the environment steer it: REPRISE_LOCALSTACK_DIR, the folder of function logs (logs/) and of the running
functions' process ids (pids/), and REPRISE_DYNAMODB_JARS, the folder of jars.
"""
