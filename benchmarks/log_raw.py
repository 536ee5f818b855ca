"""The same bytes by nats-py alone, in the same mode: what the log is compared with."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Sequence

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.client import JetStreamContext

Message = tuple[str, bytes]
Life = Sequence[Message]
_BATCHES = itertools.count()


async def single(connection: Client, lives: Sequence[Life]) -> None:
    """One after the other, each acknowledged."""
    stream = connection.jetstream()
    for life in lives:
        for subject, body in life:
            await stream.publish(subject, body)


async def pipelined(connection: Client, lives: Sequence[Life], in_flight: int) -> None:
    """Many lives at once; within a life each message waits for the one before."""
    stream, left = connection.jetstream(), iter(lives)

    async def worker() -> None:
        for life in left:
            for subject, body in life:
                await stream.publish(subject, body)

    await asyncio.gather(*(worker() for _ in range(in_flight)))


async def batches(connection: Client, lives: Sequence[Life], size: int) -> None:
    """Atomic batches, one after the other: the next message of each of so many lives."""
    for start in range(0, len(lives), size):
        for messages in zip(*lives[start : start + size], strict=True):
            await _batch(connection, messages)


async def _batch(connection: Client, messages: Sequence[Message]) -> None:
    name, last = f"raw-{next(_BATCHES)}", len(messages)
    for number, (subject, body) in enumerate(messages[:-1], start=1):
        headers = {"Nats-Batch-Id": name, "Nats-Batch-Sequence": str(number)}
        await connection.publish(subject, body, headers=headers)
    headers = {
        "Nats-Batch-Id": name,
        "Nats-Batch-Sequence": str(last),
        "Nats-Batch-Commit": "1",
    }
    subject, body = messages[-1]
    answer = await connection.request(subject, body, timeout=10, headers=headers)
    if "error" in json.loads(answer.data):
        raise SystemExit(f"a raw batch failed: {answer.data.decode()}")


async def handled(
    connection: Client, stream: str, durable: str, answers: Sequence[Message], in_flight: int
) -> None:
    """Fetch, get the job's last message, publish the next, acknowledge; nothing is decided."""
    context = connection.jetstream()
    pull = await context.pull_subscribe_bind(durable, stream)
    left = iter(answers)
    done = 0
    while done < len(answers):
        messages = await pull.fetch(min(in_flight, len(answers) - done), timeout=5)
        await asyncio.gather(*(_handle(context, each, next(left)) for each in messages))
        done += len(messages)
    await pull.unsubscribe()


async def _handle(context: JetStreamContext, message: Msg, answer: Message) -> None:
    await context.get_msg("EVENTS", subject=message.subject, direct=True)
    await context.publish(*answer)
    await message.ack()
