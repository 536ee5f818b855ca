"""What can be wrong with a question: a code, the field, and what to do, in English and Chinese.

Every answer that is not 2xx has the body `{"violations": [...]}` made here. Values that were sent
are not repeated.
"""

from __future__ import annotations

from collections.abc import Iterable

from fastapi.responses import JSONResponse

from muster.domain.violations import Violation

_TEXTS: dict[str, tuple[str, str]] = {
    "E_PARAMETER_UNKNOWN": (
        "unknown parameter {field}; {hint}",
        "未知参数 {field}；{hint_zh}",
    ),
    "E_PARAMETER_VALUE": (
        "parameter {field} must be {rule}; correct it or leave it out",
        "参数 {field} 须为{rule_zh}；请修正或去掉该参数",
    ),
    "E_PARAMETER_TWICE": (
        "parameter {field} may be given once only; keep one of its values",
        "参数 {field} 只能出现一次；请只保留一个值",
    ),
    "E_JOB_UNKNOWN": (
        "tenant {tenant} has no job {job}; look for it with GET /api/v1/jobs?tenant={tenant}",
        "租户 {tenant} 没有任务 {job}；可用 GET /api/v1/jobs?tenant={tenant} 查找",
    ),
    "E_PATH_UNKNOWN": (
        "nothing is served here; GET /api/v1/openapi.json lists what is",
        "该地址不存在；可用 GET /api/v1/openapi.json 查看全部接口",
    ),
    "E_METHOD": (
        "this interface only reads: use GET (POST for /api/v1/fit, which submits nothing); to"
        " change a job, publish a request on NATS (requests.<tenant>.<verb>)",
        "该接口只读，请使用 GET（/api/v1/fit 使用 POST，但不提交任务）；"
        "修改任务请在 NATS 上发布请求（requests.<tenant>.<verb>）",
    ),
    "E_CONTENT": (
        "send the question as JSON with the header Content-Type: application/json",
        "请以 JSON 发送，并携带请求头 Content-Type: application/json",
    ),
    "E_TOO_LARGE": (
        "a question has at most {limit} bytes; shorten the specification",
        "请求最多 {limit} 字节，请精简任务配置",
    ),
    "E_POOL": (
        "the pool must be 1-128 of A-Z a-z 0-9 _ -",
        "资源池名称须为 1-128 个字母、数字、_ 或 -",
    ),
    "E_NO_SCHEDULER": (
        "no scheduler of pool {pool} answers now; try again, and see with `muster doctor` whether"
        " it runs",
        "当前没有资源池 {pool} 的调度器应答；请重试，并用 `muster doctor` 检查其是否运行",
    ),
    "E_NO_ANSWER": (
        "the scheduler of pool {pool} could not answer; its log says why",
        "资源池 {pool} 的调度器无法应答；原因见其日志",
    ),
    "E_NO_FAULT_TOLERANCE": (
        "fault tolerance does not answer now; try again, and see with `muster doctor` whether it"
        " runs",
        "容错服务当前没有应答；请重试，并用 `muster doctor` 检查其是否运行",
    ),
    "E_NO_RATINGS": (
        "fault tolerance could not answer; its log says why",
        "容错服务无法应答；原因见其日志",
    ),
    "E_TOKEN": (
        "a valid bearer token is required: send the header Authorization: Bearer <token>",
        "需要有效的令牌：请在请求头中携带 Authorization: Bearer <token>",
    ),
    "E_HOST": (
        "the Host header does not name this gateway; use the address it listens on",
        "Host 请求头与本服务地址不符；请使用服务监听的地址",
    ),
    "E_STREAMS": (
        "{limit} streams are open already; close one, or try again later",
        "已打开 {limit} 个流；请关闭不用的连接，或稍后再试",
    ),
    "E_AWAY": (
        "log or archive cannot be reached now; try again in some seconds, /readyz says more",
        "日志或归档暂时不可用；请稍后重试，详情见 /readyz",
    ),
    "E_STARTING": (
        "the gateway still reads the log after its start; try again in a second",
        "网关刚启动，仍在读取日志；请稍后重试",
    ),
    "E_INTERNAL": (
        "an error of the gateway itself; its log says more, please report it",
        "网关内部错误；详情见服务日志，请反馈给管理员",
    ),
    "E_SLOW": (
        "this client read too slowly and {limit} changes were waiting: connect again, and the"
        " stream goes on after the last event id",
        "客户端读取过慢，已有 {limit} 条变更等待：请重新连接，将从最后的事件 ID 继续",
    ),
    "E_RESUME_GAP": (
        "intermediate states since the last event id are no longer kept here: each job's present"
        " state follows; its timeline has the rest",
        "自最后的事件 ID 以来的中间状态已不在缓存中：以下为各任务的当前状态，完整过程见任务时间线",
    ),
    "E_CLOSING": (
        "the gateway stops or reads its log afresh; connect again",
        "网关正在停止或重新读取日志；请重新连接",
    ),
}


class Problem(Exception):
    """Ends a question with violations. wait: seconds after which it may be asked again."""

    def __init__(self, status: int, *violations: Violation, wait: int | None = None) -> None:
        super().__init__(", ".join(violation.code for violation in violations))
        self.status, self.violations, self.wait = status, violations, wait


def violation(code: str, path: str, **values: object) -> Violation:
    """Fill in a text of the catalogue."""
    english, chinese = _TEXTS[code]
    return Violation(code=code, path=path, en=english.format(**values), zh=chinese.format(**values))


def answer(status: int, violations: Iterable[Violation], wait: int | None = None) -> JSONResponse:
    """Return the response that says what is wrong."""
    body = {"violations": [found.model_dump() for found in violations]}
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if wait is not None:
        headers["Retry-After"] = str(wait)
    return JSONResponse(body, status, headers)
