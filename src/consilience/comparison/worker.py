"""A process that does pieces of work for another: ``python -m consilience.comparison.worker``.

It reads where to connect to from its standard input, receives what it needs, and then piece after piece. It
ends when that process ends, however that happens: then its standard input ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from multiprocessing.connection import Client
from typing import Any


def main() -> None:
    """Connect, and work until nothing more comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for us
    given = json.loads(sys.stdin.readline())
    lifeline = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)  # a system that asks for input gets none, and does not wait for ever
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    with Client((given["host"], given["port"]), authkey=bytes.fromhex(given["key"])) as connection:
        sys.path[:] = connection.recv()
        # Only the process that started us knows the key: nobody else can send anything here.
        fitter: Any = connection.recv()
        connection.send("ready")
        while (piece := connection.recv()) is not None:
            for event in fitter.do(piece):
                connection.send(event)


def _end_with(lifeline: int) -> None:
    """End this process when the one that started it has gone: killed, it stops nobody."""
    while os.read(lifeline, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
