"""Texts about files that are written, and about completion and versions."""

from __future__ import annotations

FILES: dict[str, tuple[str, str]] = {
    "init.wrote": ("wrote {path}", "已生成 {path}"),
    "init.next": (
        "next: muster up, and in another terminal: muster submit {path} --follow",
        "下一步：运行 muster up，再在另一个终端运行 muster submit {path} --follow",
    ),
    "provision.none": ("everything is as it should be", "一切就绪，无需修改"),
    "provision.change": ("{change}", "{change}"),
    "version.line": ("muster {version} (Python {python})", "muster {version}（Python {python}）"),
}
