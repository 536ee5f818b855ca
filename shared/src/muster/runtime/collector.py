"""Python's garbage collector, set for processes that keep much and throw away little in cycles.

By default it looks through everything that is kept after some hundred new objects; a handler makes
thousands, none in a cycle, and a fold of the log keeps millions. Called once, when all has started.
"""

from __future__ import annotations

import gc

YOUNG, MIDDLE, OLD = 200_000, 5, 50


def calm_collector() -> None:
    """Leave alone what was made until now, and look at the rest less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
