"""Prints the phase of every job, and then each change. Needs nats-py and nothing of Muster.

    pip install nats-py
    MUSTER_NATS_URL=nats://... python examples/tail_status.py

The stream STATUS keeps the last message of each `status.<tenant>.<job>`; it is read, then followed.
"""

import asyncio
import json
import os

import nats


async def main() -> None:
    connection = await nats.connect(os.environ.get("MUSTER_NATS_URL", "nats://127.0.0.1:4222"))
    context = connection.jetstream()
    status = await context.subscribe("status.>", stream="STATUS", ordered_consumer=True)
    async for message in status.messages:
        job = json.loads(message.data)["data"]["job"]
        print(job["tenant"], job["job"], job["name"], job["phase"], flush=True)


asyncio.run(main())
