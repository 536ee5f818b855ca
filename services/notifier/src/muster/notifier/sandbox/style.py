"""The looks of a card: colours and spacing like those of a chat."""

from __future__ import annotations

from typing import Final

_COLOURS: Final = {
    "blue": ("#e1eaff", "#1c4cba"),
    "wathet": ("#d9f3fd", "#0b6b91"),
    "turquoise": ("#d5f6f2", "#04756b"),
    "green": ("#d9f5d6", "#186010"),
    "yellow": ("#faf1d1", "#7a5a00"),
    "orange": ("#feead2", "#8f4b00"),
    "red": ("#fde2e2", "#ac2f28"),
    "carmine": ("#f8def8", "#9b1a6b"),
    "violet": ("#f8def8", "#8a1a9b"),
    "purple": ("#ece2fe", "#4f21ad"),
    "indigo": ("#e0e2fa", "#2933c7"),
    "grey": ("#eff0f1", "#373c43"),
    "default": ("#ffffff", "#1f2329"),
}
_BASE: Final = """
*{box-sizing:border-box}
body{margin:0;padding:16px;background:#f2f3f5;color:#1f2329;
font:14px/1.5 "Noto Sans CJK SC","Noto Sans SC","PingFang SC","Microsoft YaHei",sans-serif}
.top,main{max-width:560px;margin:0 auto}.top h1{font-size:18px;margin:0}
.top p,.when,.empty{color:#646a73;font-size:12px;margin:4px 0}
section{margin:16px 0}
.card{width:100%;max-width:560px;background:#fff;border:1px solid #dee0e3;border-radius:8px;
overflow:hidden}
.card header{padding:10px 12px}.card h2{font-size:16px;line-height:24px;margin:0;
overflow-wrap:anywhere}
.card header p{margin:2px 0 0;font-size:13px;color:#646a73}
.tag{display:inline-block;margin-left:8px;padding:0 6px;border-radius:4px;font-size:12px;
line-height:18px;vertical-align:2px;border:1px solid}
.body{padding:12px}.body>*:first-child{margin-top:0}.body>*:last-child{margin-bottom:0}
.text,.pre{margin:8px 0;white-space:pre-wrap;overflow-wrap:anywhere}
.notation{font-size:12px}.ink-grey{color:#646a73}.heading{font-size:16px;font-weight:600}
hr{border:0;border-top:1px solid #dee0e3;margin:12px 0}
.columns{display:flex;gap:8px;margin:8px 0}.columns.flow{flex-wrap:wrap}
.column{min-width:0}.column.weighted{flex:1}.column .text{margin:0}
.button{display:inline-block;padding:4px 12px;border:1px solid #d0d3d6;border-radius:6px;
color:#1f2329;text-decoration:none;background:#fff}
.button.primary{color:#3370ff;border-color:#3370ff}.button.danger{color:#d83931}
"""
STYLE: Final = _BASE + "".join(
    f".card header.{name}{{background:{back}}}.card header.{name} h2{{color:{ink}}}"
    f".tag.{name}{{background:#fff;color:{ink}}}"
    for name, (back, ink) in _COLOURS.items()
)
