"""What scenarios with a node of either ROS share."""

import os
import signal
import struct
import subprocess
import sys
import time
import zlib

PATIENCE_S = 30


def require(is_so, what):
    if not is_so:
        raise AssertionError(what)


class Program:
    """A process, of which all are killed at the end."""

    started = []

    def __init__(self, words, log="node.log"):
        self.log = log
        self.process = subprocess.Popen(words, stdout=open(log, "w"), stderr=subprocess.STDOUT)
        Program.started.append(self)

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def kill(self):
        self.process.kill()

    def output(self):
        return open(self.log).read()

    def memory_mb(self):
        with open(f"/proc/{self.process.pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def wait_until(is_over, what, patience_s=PATIENCE_S, do=lambda: time.sleep(0.02)):
    deadline = time.monotonic() + patience_s
    while not is_over():
        require(time.monotonic() < deadline, f"{what}: not within {patience_s} s")
        do()


def png(width, height, pixels):
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))

    step = 3 * width
    rows = [bytes(pixels[y * step:(y + 1) * step]) for y in range(height)]
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
            chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))) +
            chunk(b"IEND", b""))


def play(scenario, make_peer):
    """Prints what went wrong, and ends with 1, if anything does."""
    try:
        robot = scenario(make_peer())
        if robot.process.poll() is None:
            code = robot.end()
            require(code == 0, f"told to end, the node ends with {code}")
    except AssertionError as error:
        said = "".join(f"\n--- {program.log}:\n{program.output()}" for program in Program.started)
        sys.exit(f"{scenario.__name__}: {error}{said}")
    finally:
        for program in reversed(Program.started):
            program.kill()
