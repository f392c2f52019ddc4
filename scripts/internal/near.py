#!/usr/bin/env python3
"""Names the rooms of tests that a change in one file can break, the nearest first.

    near.py [--preset NAME] [--seconds N] FILE

Prints a line per room: its name, a tab, and why. If the rooms together take longer than --seconds on
this machine's cores, as CTest last measured them, it leaves out the farthest and says so on stderr.
"""

import argparse
import collections
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("client", "common", "profiler", "scheduler", "server", "sparse_ops", "tests")
SUFFIXES = {".cc", ".h", ".inc", ".cu"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# For rooms never measured: starting a program, and a few tests.
UNKNOWN_SECONDS = 5.0


def fail(message):
    print(f"test: {message} (see --help)", file=sys.stderr)
    sys.exit(2)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--preset", default="dev")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("file")
    return parser.parse_args()


def read_includes():
    """The files that each source file includes, as paths from the root."""
    includes = {}
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in SUFFIXES:
                includes[file.relative_to(ROOT).as_posix()] = set(INCLUDE.findall(file.read_text()))
    return includes


def readers_of(files, includes):
    """All files that include one of these, directly or not."""
    found = set(files)
    grew = True
    while grew:
        grew = False
        for file, included in includes.items():
            if file not in found and included & found:
                found.add(file)
                grew = True
    return found


def torch_files():
    """The files compiled with LibTorch, whose tests have their own room."""
    text = (ROOT / "common/CMakeLists.txt").read_text()
    files = re.search(r"set\(torch_sources\s+([^)]*)\)", text)
    return {f"common/{name}" for name in files[1].split()} if files else set()


def rooms_of_tests():
    """The folders of tests that have their own programs."""
    return {file.parent.relative_to(ROOT / "tests").as_posix()
            for file in (ROOT / "tests").rglob("*_test.cc")}


def room_of(file, rooms, torch):
    """The room whose tests are nearest to a file, or None."""
    if file in torch:
        return "torch"
    folder = pathlib.PurePosixPath(file).parent.as_posix()
    for top in ("common/", "tests/"):
        folder = folder.removeprefix(top)
    while folder not in rooms:
        if "/" not in folder:
            return None
        folder = folder.rpartition("/")[0]
    return folder


def measured_seconds(preset):
    """Seconds that each room took."""
    seconds = collections.Counter()
    try:
        lines = (ROOT / "build" / preset / "Testing/Temporary/CTestCostData.txt").read_text()
    except OSError:
        return seconds
    for line in lines.splitlines():
        words = line.split()
        if len(words) == 3 and re.search(r"\.\d+$", words[0]):
            seconds[words[0].rpartition(".")[0]] += float(words[2])
    return seconds


def near(file, includes):
    """(room, why), the nearest first."""
    rooms = rooms_of_tests()
    torch = torch_files()
    header = file.rpartition(".")[0] + ".h"
    changed = {file, header} & includes.keys()
    own = room_of(file, rooms, torch)
    if own is not None:
        yield own, f"the room of {file}"
    # Direct includers are likelier to break than indirect ones.
    direct = collections.Counter()
    for user in includes:
        if includes[user] & changed:
            direct[room_of(user, rooms, torch)] += 1
    named = ", ".join(sorted(changed))
    for room, count in direct.most_common():
        if room not in (own, None):
            yield room, f"{count} of its files include {named}"
    # What depends on it: modules whose sources include it, and whatever includes their headers.
    on_it = {user.rpartition(".")[0] + ".h" for user in includes if includes[user] & changed}
    indirect = collections.Counter(room_of(user, rooms, torch)
                                   for user in readers_of((on_it & includes.keys()) | changed, includes))
    for room, _ in indirect.most_common():
        if room not in (own, None) and room not in direct:
            yield room, f"includes what stands on {named}"


def main():
    arguments = parse_arguments()
    path = pathlib.Path(arguments.file).resolve()
    if not path.is_relative_to(ROOT):
        fail(f"--near: {arguments.file} is not in this repository")
    file = path.relative_to(ROOT).as_posix()
    includes = read_includes()
    found = list(near(file, includes)) or [("house", "no test is nearer")]
    seconds = measured_seconds(arguments.preset)
    cores = len(os.sched_getaffinity(0))
    total = 0.0
    for number, (room, why) in enumerate(found):
        name = room.replace("/", "_")
        total += seconds.get(name, UNKNOWN_SECONDS) / cores
        if number > 0 and total > arguments.seconds:
            left_out = ", ".join(room for room, _ in found[number:])
            print(f"left out, to stay near a minute: {left_out}", file=sys.stderr)
            break
        print(f"{name}\t{why}")


if __name__ == "__main__":
    main()
