"""What the tests of limits run in processes of their own; light, so that these start at once."""

import time

from benchmarks.speed.limited import begin


def late(warm: float, work: float) -> str:
    time.sleep(warm)
    begin()
    time.sleep(work)
    return "done"


def hungry(megabytes: int) -> int:
    held = bytearray(b"x") * (megabytes << 20)
    time.sleep(60)
    return len(held)


def wrong() -> None:
    raise ValueError("as it should")
