"""A wrong value in the environment is a mistake of a person, and is told as one."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from muster.admission.settings import AdmissionSettings
from muster.cli import texts
from muster.cli.exits import Exit
from muster.cli.failures import report
from muster.cli.session import Session
from muster.executor.settings import ExecutorSettings
from muster.fault_tolerance.settings import FaultToleranceSettings
from muster.gateway.settings import GatewaySettings
from muster.notifier.settings import NotifierSettings
from muster.requeue.settings import RequeueSettings
from muster.runtime.settings import HostSettings
from muster.scheduler.settings import SchedulerSettings

WRONG: dict[str, Any] = {
    "MUSTER_ADMISSION_SPOT": AdmissionSettings,
    "MUSTER_EXECUTOR_LAPSE_S": ExecutorSettings,
    "MUSTER_FAULT_TOLERANCE_SWEEP_S": FaultToleranceSettings,
    "MUSTER_GATEWAY_PORT": GatewaySettings,
    "MUSTER_NOTIFIER_KEEP_DAYS": NotifierSettings,
    "MUSTER_REPLICAS": HostSettings,
    "MUSTER_REQUEUE_SWEEP_S": RequeueSettings,
    "MUSTER_SCHEDULER_SPOT_PERCENTILE": SchedulerSettings,
}


@pytest.mark.parametrize("variable", WRONG)
@pytest.mark.parametrize(("language", "words"), [("en", "cannot be"), ("zh", "取值无效")])
def test_the_variable_is_named(
    variable: str,
    language: str,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(variable, "hunter2")
    texts.use(language)
    with pytest.raises(ValidationError) as caught:
        WRONG[variable]()
    assert report(caught.value, Session()) is Exit.USAGE
    shown = capsys.readouterr().err
    assert f" {variable} " in shown
    assert words in shown
    assert "hunter2" not in shown


@pytest.mark.parametrize(("language", "words"), [("en", "contradict"), ("zh", "相互矛盾")])
def test_variables_that_contradict_each_other_are_named_as_they_are_set(
    language: str,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MUSTER_FAULT_TOLERANCE_HANG_GAP_S", "20")
    texts.use(language)
    with pytest.raises(ValidationError) as caught:
        FaultToleranceSettings()
    assert report(caught.value, Session()) is Exit.USAGE
    shown = capsys.readouterr().err
    assert words in shown
    assert "MUSTER_FAULT_TOLERANCE_HANG_GAP_S must be" in shown
    assert "MUSTER_FAULT_TOLERANCE_HANG_POLL_S" in shown
    assert "hang_" not in shown


def test_the_scale_of_a_rehearsal_is_enough_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_FAULT_TOLERANCE_HANG_SCALE", "0.01")
    assert FaultToleranceSettings().pace.scale == 0.01
