"""A process that does pieces of work for another: ``python -m consilience.comparison.worker``.

It reads an address and a key from its standard input, connects to whoever started it, receives what it needs,
and then piece after piece. It ends when that process ends, however that happens. Nothing is imported before
the caller's path for modules is known.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from multiprocessing.connection import Client
from typing import Any


def main() -> None:
    """Connect, and work until nothing more comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for us
    parent, address, key = sys.stdin.readline().split(" ", 2)
    threading.Thread(target=_end_with, args=(int(parent),), daemon=True).start()
    with Client(_address(address), authkey=bytes.fromhex(key.strip())) as connection:
        sys.path[:] = connection.recv()
        # Only the process that started us knows the key: nobody else can send anything here.
        fitter: Any = connection.recv()
        connection.send("ready")
        while (piece := connection.recv()) is not None:
            for event in fitter.do(piece):
                connection.send(event)


def _address(text: str) -> Any:
    host, colon, port = text.rpartition(":")
    return (host, int(port)) if colon and port.isdigit() else text


def _end_with(parent: int) -> None:
    """End this process when the one that started it has gone: killed, it stops nobody."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


if __name__ == "__main__":
    main()
