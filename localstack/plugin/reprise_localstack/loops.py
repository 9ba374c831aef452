"""Lambda's recursive loop detection, as far as AWS documents it: https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html

The field Lineage of the trace header counts how often each function ran in one chain: "Lineage=a87bd80c:5|68fd508a:2". Lambda
gives the header to the function, whose SDK sends it with each request. SQS keeps it with the message (AWSTraceHeader), and the
message brings it to the next function. The invocation after the 16th is refused, unless the function's RecursiveLoop is Allow.

AWS does not say how it counts for a batch of messages of several chains. Here, the longest chain counts for the whole batch.
"""

import hashlib
import json
from urllib.parse import unquote

# How often a function may run in one chain.
MOST = 16

LINEAGE = "Lineage="


class RecursiveInvocation(Exception):
    """The function has run too often in one chain. Its argument is what Lambda says."""


def count(function_arn: str, recursive_loop: str, trace: str, event: str) -> str:
    """The trace header of this invocation, with the invocation counted. Raises RecursiveInvocation if it is one too many."""
    lineage: dict[str, int] = {}
    for header in [trace, *_of_messages(event)]:
        for function, times in _parse(header).items():
            lineage[function] = max(times, lineage.get(function, 0))
    function = hashlib.sha256(function_arn.encode()).hexdigest()[:8]
    lineage[function] = lineage.get(function, 0) + 1
    if lineage[function] > MOST and recursive_loop != "Allow":
        raise RecursiveInvocation(f"Lambda has detected {function_arn} being invoked in a recursive loop with other AWS resources.")
    fields = [field for field in trace.split(";") if field and not field.startswith(LINEAGE)]
    return ";".join([*fields, LINEAGE + "|".join(f"{name}:{times}" for name, times in lineage.items())])


def _of_messages(event: str) -> list[str]:
    """The trace headers that came with the messages of a queue."""
    read = json.loads(event)
    records = read.get("Records", []) if isinstance(read, dict) else []
    return [record.get("attributes", {}).get("AWSTraceHeader", "") for record in records]


def _parse(header: str) -> dict[str, int]:
    """The counts in a trace header. SDKs escape some of its characters."""
    counts = {}
    for field in unquote(header).split(";"):
        if field.startswith(LINEAGE):
            for entry in field.removeprefix(LINEAGE).split("|"):
                function, _, times = entry.partition(":")
                counts[function] = int(times)
    return counts
