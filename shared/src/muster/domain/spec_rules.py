"""Rules of a specification that need more than one field. All violations at once. Pure.

The shape of each field is checked where the specification is defined (`spec`). Asked by admission,
which decides; by the command line before it sends; by the scheduler for a job that is only tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from muster.domain.auto_queue import AutoQueueSpec
from muster.domain.demand import UNCONDITIONAL, FaultStrategy, JobType, ResourceClass
from muster.domain.rules import violation
from muster.domain.spec import JobSpec
from muster.domain.templates import well_formed
from muster.domain.violations import Violation

PLATFORM_NAMES = frozenset(
    {
        "RANK",
        "WORLD_SIZE",
        "LOCAL_RANK",
        "MASTER_ADDR",
        "MASTER_PORT",
        "CUDA_VISIBLE_DEVICES",
        "RAY_ADDRESS",
    }
)
PLATFORM_PREFIXES = ("TASK_", "MUSTER_")
RAY_MOUNT = "/tmp/ray"
MAX_ENV_BYTES = 65_536
_OWN_RULES = {"labels", "display_name"}
_NUL, _CONTROL = re.compile(r"\x00"), re.compile(r"[\x00-\x1f\x7f-\x9f]")
_FREE = re.compile(r"command\[\d+\]|environment\[\d+\]\.value|description|ray\.runtime_env")
_LABEL = re.compile(r"[\w .:=+\-@/]*")
_WORD = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_HOST = r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?"
_NODE_KEY = re.compile(rf"(?:{_HOST}/)?{_WORD}")
"""The key of a node's label or taint: a name of at most 63 characters, perhaps behind a domain."""
_NODE_VALUE = re.compile(rf"(?:{_WORD})?")
MODELS = 16
MODEL_LENGTH = 64


def violations_of(spec: JobSpec, root: str = "$.spec") -> tuple[Violation, ...]:
    """Return everything that is wrong with a well-formed specification."""
    rules = (
        _resource,
        _gpus,
        _near,
        _queue,
        _nodes,
        _faults,
        _ray,
        _debug,
        _mounts,
        _environment,
        _labels,
        _texts,
        _progress,
        _misc,
    )
    return tuple(found for rule in rules for found in rule(spec, root))


def queue_violations(queue: AutoQueueSpec, root: str) -> Iterator[Violation]:
    """Auto-queue: both limits when it is on, none when it is off."""
    if queue.enabled:
        if queue.max_queue_hours is None:
            yield violation("E_MAX_QUEUE_HOURS", f"{root}.max_queue_hours")
        if queue.max_requeues is None:
            yield violation("E_MAX_REQUEUES", f"{root}.max_requeues")
    elif queue.max_queue_hours is not None or queue.max_requeues is not None:
        yield violation("E_AUTO_QUEUE_OFF", root)


def _queue(spec: JobSpec, root: str) -> Iterator[Violation]:
    return queue_violations(spec.auto_queue, f"{root}.auto_queue")


def _resource(spec: JobSpec, root: str) -> Iterator[Violation]:
    resource, root = spec.resource, f"{root}.resource"
    if resource.type is ResourceClass.IDLE:
        if resource.priority is not None:
            yield violation("E_IDLE_PRIORITY", f"{root}.priority")
        if resource.guarantee:
            yield violation("E_IDLE_GUARANTEE", f"{root}.guarantee")
    elif resource.stability_level is not None:
        yield violation("E_STABILITY_LEVEL", f"{root}.stability_level")
    if resource.type is ResourceClass.SPOT and resource.guarantee:
        yield violation("E_SPOT_GUARANTEE", f"{root}.guarantee")


def _gpus(spec: JobSpec, root: str) -> Iterator[Violation]:
    """Whole GPUs or a share of one; a Ray head may have whole ones beside workers that share."""
    resource, root = spec.resource, f"{root}.resource"
    if resource.gpus_per_replica and resource.gpu_milli_per_replica:
        yield violation("E_GPU_SHARE_WHOLE", f"{root}.gpu_milli_per_replica")
    if resource.gpu_model is not None and not _models(resource.gpu_model):
        yield violation("E_GPU_MODEL", f"{root}.gpu_model")


def _models(text: str) -> bool:
    models = text.split("|")
    return len(models) <= MODELS and len(set(models)) == len(models) and all(map(_model, models))


def _model(text: str) -> bool:
    return 1 <= len(text) <= MODEL_LENGTH and text == text.strip()


def _near(spec: JobSpec, root: str) -> Iterator[Violation]:
    """Names of levels and taints that a node can have at all."""
    if spec.locality and not _NODE_KEY.fullmatch(spec.locality.level):
        yield violation("E_LOCALITY_LEVEL", f"{root}.locality.level")
    for index, toleration in enumerate(spec.tolerations):
        key, value, where = toleration.key, toleration.value, f"{root}.tolerations[{index}]"
        if key is not None and not _NODE_KEY.fullmatch(key):
            yield violation("E_TOLERATION", f"{where}.key")
        if value is not None and (key is None or not _NODE_VALUE.fullmatch(value)):
            yield violation("E_TOLERATION", f"{where}.value")


def _nodes(spec: JobSpec, root: str) -> Iterator[Violation]:
    names = spec.node_policy.nodes if spec.node_policy else ()
    for index, node in enumerate(names):
        if node in names[:index]:
            yield violation("E_NODES_DUP", f"{root}.node_policy.nodes[{index}]", node=node)


def _faults(spec: JobSpec, root: str) -> Iterator[Violation]:
    fault, root = spec.fault_tolerance, f"{root}.fault_tolerance"
    retries = fault.max_retries if fault.enabled else 0
    if fault.exit_codes and not _codes_in_range(fault.exit_codes):
        yield violation("E_EXIT_CODES", f"{root}.exit_codes")
    if not retries and (fault.exit_codes or fault.log_keywords):
        yield violation("E_FAULT_NOOP", root)
    if fault.strategy is FaultStrategy.EXIT_CODES and not fault.exit_codes:
        yield violation("E_EXIT_CODES", f"{root}.exit_codes")
    if fault.strategy is FaultStrategy.LOG_KEYWORDS and not fault.log_keywords:
        yield violation("E_KEYWORD", f"{root}.log_keywords")
    if fault.strategy is FaultStrategy.ALWAYS and retries > UNCONDITIONAL:
        yield violation("E_FAULT_ALWAYS", f"{root}.max_retries")
    if fault.hang.action == "restart" and not retries:
        yield violation("E_HANG", f"{root}.hang.action")


def _codes_in_range(text: str) -> bool:
    for part in text.split(","):
        low, _, high = part.partition("-")
        if not 1 <= int(low) <= int(high or low) <= 255:
            return False
    return True


def _ray(spec: JobSpec, root: str) -> Iterator[Violation]:
    if spec.ray is None:
        return
    if spec.type is not JobType.RAY:
        if spec.ray.shared_storage:
            yield violation("E_SHARED_STORAGE_TYPE", f"{root}.ray.shared_storage")
        yield violation("E_RAY_ONLY", f"{root}.ray", field="ray")
        return
    scaling = spec.ray.autoscaling
    if scaling and not scaling.min <= spec.resource.replicas <= scaling.max:
        yield violation("E_RAY_RANGE", f"{root}.ray.autoscaling")


def _debug(spec: JobSpec, root: str) -> Iterator[Violation]:
    if spec.debug.enabled and spec.type is not JobType.RAY:
        yield violation("E_DEBUG_HOLD", f"{root}.debug")


def _mounts(spec: JobSpec, root: str) -> Iterator[Violation]:
    shared = spec.ray is not None and spec.ray.shared_storage is not None
    seen: set[str] = set()
    for index, volume in enumerate(spec.storage):
        path, where = _normal(volume.mount_path), f"{root}.storage[{index}]"
        if path in {"/", *seen} or (shared and _overlaps(path, RAY_MOUNT)):
            yield violation("E_MOUNT_CONFLICT", f"{where}.mount_path", mount=volume.mount_path)
        seen.add(path)
        if volume.public and volume.output:
            yield violation("E_PUBLIC_DATA_OUTPUT", f"{where}.output")


def _normal(path: str) -> str:
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in {"", "."}:
            parts.append(part)
    return "/" + "/".join(parts)


def _overlaps(path: str, other: str) -> bool:
    return f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/")


def _environment(spec: JobSpec, root: str) -> Iterator[Violation]:
    seen: set[str] = set()
    size = 0
    for index, variable in enumerate(spec.environment):
        name, where = variable.name, f"{root}.environment[{index}]"
        if name.upper().startswith("KUBERNETES_"):
            yield violation("E_ENV_RESERVED", f"{where}.name", name=name)
        if name in PLATFORM_NAMES or name.startswith(PLATFORM_PREFIXES):
            yield violation("E_ENV_PLATFORM", f"{where}.name", name=name)
        if name in seen:
            yield violation("E_ENV_DUP", f"{where}.name", name=name)
        if (variable.value is None) == (variable.secret_ref is None):
            yield violation("E_ENV_VALUE", where, name=name)
        seen.add(name)
        value = len((variable.value or "").encode())
        size += len(name) + value
        if value > 4096:
            yield violation("E_ENV_LIMIT", f"{where}.value")
    if size > MAX_ENV_BYTES:
        yield violation("E_ENV_LIMIT", f"{root}.environment")


def label_violations(labels: dict[str, str], root: str) -> Iterator[Violation]:
    """Shape of labels; which ones are maintained is the tenant's catalogue's to say."""
    if len(labels) > 20:
        yield violation("E_LABEL_FORMAT", root, key="(more than 20)")
    for key, value in labels.items():
        if not (1 <= len(key) <= 128 and _well_formed(key)) or key.startswith("_sys_"):
            yield violation("E_LABEL_FORMAT", root, key=key[:128])
        elif len(value) > 255 or not _well_formed(value):
            yield violation("E_LABEL_FORMAT", f"{root}.{key}", key=key)


def _well_formed(text: str) -> bool:
    return text == text.strip() and _LABEL.fullmatch(text) is not None


def _labels(spec: JobSpec, root: str) -> Iterator[Violation]:
    return label_violations(dict(spec.labels), f"{root}.labels")


def _texts(spec: JobSpec, root: str) -> Iterator[Violation]:
    """No NUL anywhere, which no process and no archive can take; nothing that steers a terminal."""
    for field, text in _strings(spec.model_dump(mode="json", exclude=_OWN_RULES), ""):
        if (_NUL if _FREE.fullmatch(field) else _CONTROL).search(text):
            yield violation("E_TEXT", f"{root}.{field}", field=field)


def _strings(value: object, path: str) -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield path, value
        case dict():
            for key, inner in value.items():
                shown = _CONTROL.sub("?", key)
                if shown != key:
                    yield path, key
                yield from _strings(inner, f"{path}.{shown}".lstrip("."))
        case list():
            for index, inner in enumerate(value):
                yield from _strings(inner, f"{path}[{index}]")


def _progress(spec: JobSpec, root: str) -> Iterator[Violation]:
    """A saved checkpoint and a step are nothing without their number."""
    for field, lines in spec.progress:
        for index, line in enumerate(lines):
            if not well_formed(line, step=field in {"checkpoint_saved", "step"}):
                yield violation("E_PROGRESS_LINE", f"{root}.progress.{field}[{index}]")


def _misc(spec: JobSpec, root: str) -> Iterator[Violation]:
    if spec.metrics and (".." in spec.metrics.path or spec.metrics.path.startswith("//")):
        yield violation("E_METRICS", f"{root}.metrics.path")
    if spec.display_name is not None and not spec.display_name.isprintable():
        yield violation("E_DISPLAY_NAME", f"{root}.display_name")
    if not spec.image.strip():
        yield violation("E_IMAGE", f"{root}.image")
    if not spec.command[0].strip():
        yield violation("E_COMMAND", f"{root}.command[0]")
