"""The files of the trial agree with each other and with the project."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
from pathlib import Path

import yaml

from muster.domain.edges import Owner

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = (DEPLOY / "compose.yaml").read_text()


def made_names() -> set[str]:
    return set(runpy.run_path(str(DEPLOY / "make_env.py"))["names"]())


def test_every_password_is_made_and_used() -> None:
    used = re.findall(r"\$\{(MUSTER_\w+):\?", COMPOSE)
    assert set(used) == made_names()


def test_every_password_of_a_nats_user_reaches_the_server() -> None:
    wanted = set(re.findall(r"\$(MUSTER_\w+)", (DEPLOY / "nats" / "accounts.conf").read_text()))
    assert wanted <= set(yaml.safe_load(COMPOSE)["services"]["nats"]["environment"])


def test_every_service_runs_as_its_own_user() -> None:
    services = yaml.safe_load(COMPOSE)["services"]
    for owner in Owner:
        service = services[owner]
        assert service["build"]["args"]["SERVICE"] == owner
        assert f"nats://{owner}:" in service["environment"]["MUSTER_NATS_URL"]


def test_every_database_is_made() -> None:
    script = (DEPLOY / "postgres" / "databases.sh").read_text()
    made = re.search(r"for service in ([a-z_ ]+);", script)
    assert made is not None
    assert set(made[1].split()) == set(re.findall(r"@postgres/muster_(\w+)", COMPOSE))


def test_the_image_copies_what_is_there_and_not_ignored() -> None:
    kept = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    for sources in re.findall(
        r"^COPY (?!--from)(.+) \S+$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE
    ):
        for source in sources.split():
            assert (ROOT / source).exists(), source
            assert any(source == name or source.startswith(f"{name}/") for name in kept), source


def test_the_start_runs_the_service_of_the_image(tmp_path: Path) -> None:
    for name in ("python", "muster"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@"\n')
        (tmp_path / name).chmod(0o755)

    def start(service: str, *arguments: str) -> str:
        environment = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
        environment["MUSTER_SERVICE"] = service
        command = [str(DEPLOY / "start"), *arguments]
        return subprocess.check_output(command, env=environment, text=True).strip()

    assert start("fault-tolerance") == "python -m muster.fault_tolerance.service"
    assert start("cli", "provision") == "muster provision"
