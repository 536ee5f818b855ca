"""Addresses at rest: sealed, opened with any known key, and told by no error."""

from __future__ import annotations

import stat
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest
from pydantic import SecretStr

from muster.notifier.vault import KEY_FILE, NoKey, Vault, open_vault

OLD, NEW = (urlsafe_b64encode(bytes([n]) * 32).decode() for n in (1, 2))
SECRET = "https://open.feishu.cn/open-apis/bot/v2/hook/训练-tok"


def test_what_is_sealed_can_be_opened_and_not_read() -> None:
    vault = Vault([OLD])
    sealed = vault.seal(SECRET)
    assert vault.open(sealed) == SECRET
    assert "hook" not in sealed
    assert vault.seal(SECRET) != sealed, "equal addresses are not seen to be equal"


def test_a_new_key_seals_and_the_old_one_still_opens() -> None:
    sealed = Vault([OLD]).seal(SECRET)
    both = Vault([NEW, OLD])
    assert both.open(sealed) == SECRET
    assert Vault([NEW]).open(both.seal(SECRET)) == SECRET


@pytest.mark.parametrize("sealed", ["", "x", "gAAAAA", "another", "训练"])
def test_what_no_key_opens_is_told_without_a_secret(sealed: str) -> None:
    if sealed == "another":
        sealed = Vault([NEW]).seal(SECRET)
    with pytest.raises(NoKey) as raised:
        Vault([OLD]).open(sealed)
    said = f"{raised.value!r} {raised.value.__cause__!r} {raised.value.__context__!r}"
    assert "MUSTER_NOTIFIER_KEY" in said
    assert not any(hidden in said for hidden in (OLD, NEW, "tok"))


@pytest.mark.parametrize("key", [OLD[:-1], OLD + "A", "hunter2", "训练" * 22])
def test_what_is_no_key_is_told_without_showing_it(key: str, tmp_path: Path) -> None:
    with pytest.raises(NoKey, match="key 2 is none") as raised:
        open_vault(SecretStr(f"{NEW},{key}"), None, tmp_path)
    assert key not in f"{raised.value!r}{raised.value.__context__!r}"


@pytest.mark.parametrize("text", ["", " , \n", "# nothing\n"])
def test_without_any_key_it_says_so(text: str, tmp_path: Path) -> None:
    with pytest.raises(NoKey, match="there is no key"):
        open_vault(SecretStr(text), None, tmp_path)


def test_keys_come_from_a_file_a_line_each(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"# newest first\n{NEW}\n\n {OLD} \n", encoding="utf-8")
    vault = open_vault(None, tmp_path / "keys", tmp_path)
    assert vault.open(Vault([OLD]).seal(SECRET)) == SECRET
    assert Vault([NEW]).open(vault.seal(SECRET)) == SECRET


def test_a_machine_makes_its_own_key_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    state = tmp_path / "state"
    sealed = open_vault(None, None, state).seal(SECRET)
    assert open_vault(None, None, state).open(sealed) == SECRET
    assert stat.S_IMODE((state / KEY_FILE).stat().st_mode) == 0o600
    assert [path.name for path in state.iterdir()] == [KEY_FILE]
