"""The signature against independent vectors, and the wrong ways that must not match."""

from __future__ import annotations

import pytest

from muster.notifier.channels.signature import sign

RIGHT = [
    (100, "demo", "jquNHnVOwmDRfw+vqTIrY5dooJAgi5EcRtLsQE4wfXg="),
    (1599360473, "demo", "l1N0gAcBjdwBvGm1xMjOF0XSyaLRpR7tuO5dHfhAYc8="),
    (1599360473, "SEC-训练", "Xkyclo09zLkDBTyQgC6oMeGJrquAkqyWk+d1SZvQneE="),
    (1700000000, "a" * 64, "XOVkwU6tclTA7QyLYY+OxT1K7ppG1hzfYgkqFE/8Kdg="),
]
WRONG = {
    "key and message swapped": "DkEDUyVoOOJ539qBvUgMyzkzIdRWlf4e/V3Rq+ONJnQ=",
    "backslash and n instead of a newline": "RxDBg3sGRvVagjr0tuXiIiKqO9loYBnQMRplTORBU28=",
    "milliseconds": "Mv6tsKRjhEkOT80gLMqIk9MQWzCXi/ZbV4fjs3G0m14=",
    "a newline after the secret": "glemQA/SHWGdU+KvGOuc4k0LBG+/RH7zgMrOzzsP3ak=",
}


@pytest.mark.case("NTF-03")
@pytest.mark.parametrize(("timestamp", "secret", "expected"), RIGHT)
def test_right(timestamp: int, secret: str, expected: str) -> None:
    assert sign(timestamp, secret) == expected


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name: str) -> None:
    assert sign(1599360473, "demo") != WRONG[name]


@pytest.mark.parametrize("secret", ["demo\n", " demo", "demo\r\n", "\tdemo "])
def test_a_secret_pasted_or_read_from_a_file_is_stripped(secret: str) -> None:
    assert sign(1599360473, secret) == RIGHT[1][2]
