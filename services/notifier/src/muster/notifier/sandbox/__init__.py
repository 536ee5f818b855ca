"""A Feishu bot on this machine: the other end of the line, for rehearsals, the demo and tests.

It checks what the real bot checks, refuses as it does - with HTTP 200 and a code - and shows the
cards it got on a page. For loopback only; it must never stand in for the real receiver in
production, and nothing of the notifier's own work imports it.
"""

from muster.notifier.sandbox.bots import Bot, Received
from muster.notifier.sandbox.receiver import HOOK, Receiver
from muster.notifier.sandbox.serving import new_token, serving

__all__ = ["HOOK", "Bot", "Received", "Receiver", "new_token", "serving"]
