"""Asks Muster to run a job, and prints the answer. Needs nats-py and nothing of Muster.

    pip install nats-py
    MUSTER_NATS_URL=nats://... python examples/submit_request.py [REQUEST_ID]

A request is a message on `requests.<tenant>.<verb>`; its answer is one on `answers.<tenant>.<id>`.
The same id again is the same job, so this may be repeated with it whenever in doubt.
"""

import asyncio
import json
import os
import sys
import uuid

import nats
import nats.errors
import nats.js.errors

TENANT = os.environ.get("MUSTER_TENANT", "default")
SPEC = {
    "name": "hello",
    "image": "python:3.11",
    "command": ["python", "-c", "print('hello from Muster')"],
    "resource": {"type": "on_demand", "replicas": 1},
}


async def main(request: str) -> None:
    server = os.environ.get("MUSTER_NATS_URL", "nats://127.0.0.1:4222")
    async with await nats.connect(server) as connection:
        context, subject = connection.jetstream(), f"answers.{TENANT}.{request}"
        answers = await connection.subscribe(subject)
        envelope = {
            "specversion": "1.0",
            "id": request,
            "source": "examples/submit_request",
            "type": "muster.request.submit.v1",
            "data": {"user": os.environ.get("USER", "ann"), "spec": SPEC},
        }
        # The id in the header makes one message of what is sent twice.
        headers = {"Nats-Msg-Id": request}
        body = json.dumps(envelope).encode()
        await context.publish(f"requests.{TENANT}.submit", body, headers=headers)
        try:
            answer = (await answers.next_msg(timeout=5)).data
        except nats.errors.TimeoutError:  # it came to an earlier try with this id
            answer = (await context.get_last_msg("ANSWERS", subject)).data or b""
    print(json.dumps(json.loads(answer), indent=2, ensure_ascii=False))


chosen = sys.argv[1] if len(sys.argv) > 1 else uuid.uuid4().hex
try:
    asyncio.run(main(chosen))
except nats.js.errors.NotFoundError:
    sys.exit(f"no answer yet; does admission run? Ask again with the id {chosen}")
