"""Servers in containers, for machines where Docker answers; elsewhere every call returns None."""

from __future__ import annotations

import os
from contextlib import ExitStack

import docker
from docker.errors import DockerException
from testcontainers.community.nats import NatsContainer
from testcontainers.community.postgres import PostgresContainer

POSTGRES_IMAGE = os.environ.get("MUSTER_TEST_POSTGRES_IMAGE", "postgres:17-alpine")
NATS_IMAGE = os.environ.get("MUSTER_TEST_NATS_IMAGE")


def postgres_container(stack: ExitStack) -> str | None:
    """The URL of a PostgreSQL that ends with the stack."""
    if not _docker_answers():
        return None
    container = stack.enter_context(PostgresContainer(POSTGRES_IMAGE, driver=None))
    url: str = container.get_connection_url()
    return url


def nats_container(stack: ExitStack) -> str | None:
    """The URL of a NATS that ends with the stack; only if MUSTER_TEST_NATS_IMAGE names an image."""
    if NATS_IMAGE is None or not _docker_answers():
        return None
    container = stack.enter_context(NatsContainer(NATS_IMAGE, jetstream=True))
    url: str = container.nats_uri()
    return url


def _docker_answers() -> bool:
    try:
        client = docker.from_env(timeout=5)
    except DockerException:
        return False
    try:
        return bool(client.ping())
    except DockerException:
        return False
    finally:
        client.close()
