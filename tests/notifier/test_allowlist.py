"""Which webhook addresses may be called."""

from __future__ import annotations

import pytest

from muster.notifier.allowlist import Allowlist, origin_of

HOOK = "/open-apis/bot/v2/hook/3f1c9a20-aaaa-bbbb-cccc-0123456789ab"
LOCAL = "http://127.0.0.1:8099"


@pytest.mark.parametrize("host", ["https://open.feishu.cn", "https://open.larksuite.com"])
def test_the_official_hosts(host: str) -> None:
    assert Allowlist().allows(host + HOOK)
    assert Allowlist().allows(host + ":443" + HOOK)
    assert Allowlist().allows(host.upper().replace("HTTPS", "https") + HOOK)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "open.feishu.cn" + HOOK,
        "http://open.feishu.cn" + HOOK,
        "ftp://open.feishu.cn" + HOOK,
        "https://open.feishu.cn.evil.example" + HOOK,
        "https://evil.example/https://open.feishu.cn" + HOOK,
        "https://open.feishu.cn@evil.example" + HOOK,
        "https://user:pw@open.feishu.cn" + HOOK,
        "https://open.feishu.cn:8443" + HOOK,
        "https://open.feishu.cn:0" + HOOK,
        "https://open.feishu.cn:99999" + HOOK,
        "https://open.feishu.cn\\@evil.example" + HOOK,
        "https://open。feishu。cn" + HOOK,
        "https://open.feishu.cn./" + HOOK,
        "https://open.feishu.cn" + HOOK + "?x=1",
        "https://open.feishu.cn" + HOOK + "#x",
        "https://open.feishu.cn" + HOOK + "/",
        "https://open.feishu.cn" + HOOK + "/../x",
        "https://open.feishu.cn" + HOOK + "%2e",
        "https://open.feishu.cn" + HOOK + "\n",
        "https://open.feishu.cn/open-apis/bot/hook/abc",
        "https://open.feishu.cn/open-apis/bot/v2/hook/",
        "https://[::1" + HOOK,
        LOCAL + HOOK,
        "https://127.0.0.1" + HOOK,
        "http://localhost" + HOOK,
        "http://169.254.169.254" + HOOK,
    ],
)
def test_everything_else_is_refused_by_default(url: str) -> None:
    assert not Allowlist().allows(url)


def test_a_named_origin_is_allowed_and_no_other_port() -> None:
    allowlist = Allowlist(frozenset({LOCAL}))
    assert allowlist.allows(LOCAL + HOOK)
    assert not allowlist.allows("http://127.0.0.1:8098" + HOOK)
    assert not allowlist.allows("http://127.0.0.1" + HOOK)
    assert not allowlist.allows(LOCAL + "/other")


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Chat.Example.com:443/", "https://chat.example.com"),
        ("http://[::1]:8099", "http://[::1]:8099"),
        ("https://chat.example.com/path", None),
        ("https://chat.example.com?x", None),
        ("chat.example.com", None),
    ],
)
def test_origin(url: str, origin: str | None) -> None:
    assert origin_of(url) == origin
