"""Makes a picture of every card for the documentation: Chinese on the left, English on the right.

    usage: card_pictures.py [NAME...]

Needs Chromium (Debian: chromium, fonts-noto-cjk). Reads tests/notifier/golden, which the tests hold
to the code, and writes docs/pictures/cards.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from muster.notifier.sandbox.page import card_html, document

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "notifier" / "golden"
PICTURES = ROOT / "docs" / "pictures" / "cards"
WIDTH = 960
_PLAIN = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
_HEIGHT = re.compile(r'data-height="(\d+)"')
_SIDES = "display:grid;grid-template-columns:1fr 1fr;gap:16px;align-items:start;padding:12px"
_MEASURE = (
    "<script>onload=()=>document.body.dataset.height="
    "document.getElementById('sides').offsetHeight</script>"
)


def main(arguments: list[str]) -> int:
    """Make the pictures that are asked for, or all."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        print("card_pictures.py needs Chromium (Debian: apt-get install chromium)", file=sys.stderr)
        return 1
    PICTURES.mkdir(parents=True, exist_ok=True)
    names = arguments or sorted({path.name.split(".")[0] for path in GOLDEN.glob("*.json")})
    for name in names:
        _picture(browser, name, PICTURES / f"{name}.png")
    return 0


def _picture(browser: str, name: str, target: Path) -> None:
    """Measure the page first: a screenshot is as high as its window, not as what it shows."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(_page(name), encoding="utf-8")
        told = _run(browser, folder, f"--window-size={WIDTH},600", "--dump-dom", page.as_uri())
        found = _HEIGHT.search(told)
        assert found is not None, "the page says how high it is"
        size = f"--window-size={WIDTH},{int(found[1]) + 8}"
        _run(browser, folder, size, f"--screenshot={target}", page.as_uri())
    with Image.open(target) as shot:
        few = shot.convert("RGB").quantize(48)  # a card has few colours: a third of the bytes
    few.save(target, optimize=True)


def _run(browser: str, folder: str, *arguments: str) -> str:
    command = [browser, *_PLAIN, f"--user-data-dir={folder}/profile", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    return done.stdout


def _page(name: str) -> str:
    cards = [_card(f"{name}.{language}") for language in ("zh", "en")]
    sides = "".join(f"<div>{card_html(card)}</div>" for card in cards)
    return document(f'<div id="sides" style="{_SIDES}">{sides}</div>{_MEASURE}', title=name)


def _card(file: str) -> dict[str, object]:
    card: dict[str, object] = json.loads((GOLDEN / f"{file}.json").read_text("utf-8"))["card"]
    return card


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
