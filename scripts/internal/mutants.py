#!/usr/bin/env python3
"""Says what share of planted faults the tests catch.

    mutants.py [--count N] [--seed N] [--clone DIR] [--preset NAME] [--rooms N] [--longest N]
               [--jobs N] [--seconds N] [--list]

Plants N faults (default: 200) in a clone of this repository's last commit: in decisions, masks,
splits, commits, codecs, settings and in what makes answers timely, as many in each. All are built
at once, each behind its number: `a < b` becomes `(planted_fault == 17 ? (a <= b) : (a < b))`. Then
the tests near each file run with that number in the environment, the quickest room first, until one
fails. --rooms so many of the rooms that `scripts/test --near` names. A fault that does not compile
is replaced by another. Results stand in DIR/build/mutants.jsonl; called again, it goes on. Ends
after --seconds, so that others have their turn, with exit code 3. Prints the survivors.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
AREAS = {
    "decisions": ["common/reuse/reuse.cc", "common/reuse/change_finder.cc",
                  "common/guard/sampling.cc", "common/guard/safety_levels.cc",
                  "common/reuse/reuse_timing.cc", "client/record/decision_text.cc"],
    "in time": ["common/plan/plan_chooser.cc", "common/plan/plan_evidence.cc",
                "common/pair/patience.cc", "client/frame_executor.cc", "client/frame_loop.cc",
                "common/pair/remote_robot.cc", "common/pair/remote_server.cc",
                "common/pair/session.cc", "common/answer/moved_answer.cc"],
    "masks": ["common/exec/frame_masks.cc", "sparse_ops/mask/mask.cc", "sparse_ops/mask/wire.cc",
              "sparse_ops/mask/axis_map.cc", "sparse_ops/mask/propagation.cc",
              "common/exec/scroll.cc", "common/exec/moving_maps.cc"],
    "split": ["common/plan/split.cc", "common/pair/split_walk.cc", "common/pair/split_robot.cc",
              "common/pair/split_server.cc", "common/exec/peer_rows.cc"],
    "commit": ["common/exec/model_state.cc", "common/backend/host/host_pixel_sets.cc",
               "common/exec/stages.cc", "common/exec/stem.cc", "common/exec/layout.cc"],
    "codecs": ["common/codec/block_codec.cc", "common/codec/picture_codec.cc",
               "common/codec/slice_codec.cc", "common/codec/float16.cc", "common/exec/slice.cc",
               "common/codec/yuv420.cc", "common/codec/compressed_text.cc"],
    "settings": ["common/reuse/settings.cc", "common/pair/messages.cc", "common/config/fields.cc",
                 "common/config/robot_config.cc", "common/config/cache_config.cc"],
}
# What stands in a line, and what a fault makes of it.
SWAPS = [(r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "),
         (r" != ", " == "), (r" && ", " || "), (r" \|\| ", " && "), (r" \+ 1\b", ""),
         (r" - 1\b", ""), (r" \+ ", " - "), (r" - ", " + "), (r"\btrue\b", "false"),
         (r"\bfalse\b", "true"), (r"std::min\b", "std::max"), (r"std::max\b", "std::min"),
         (r"\bbreak;", ";"), (r"\bcontinue;", ";")]
CONDITION = re.compile(r"^(\s*(?:\} else )?if \()(.*)"
                       r"(\)(?: \{| return .*;| return;| continue;| break;)?)$")
# A statement of its own, which a fault leaves out.
CALL = re.compile(r"^\s+[\w:>*(][\w.:>*()-]*(\(.*\)| [-+|&]?= .*);$")
KEYWORDS = re.compile(r"^\s*(return|const|auto|using|case|default|else|for|while|throw|static)\b")
# What begins a statement and is not part of its expression, but for what stands in parentheses.
PREFIX = re.compile(r"\s*(?:(?:else|return|throw)\b|(?:case\s[\w:]+?|default)\s*:(?!:)|"
                    r"(if(?: constexpr)?|for|while|switch)\s*(?=\())\s*")
ASSIGNMENT = re.compile(r" (?:[-+*/|&^]|<<|>>)?= ")
HEADER = "common/base/planted_fault.h"
HEADER_TEXT = """#pragma once
#include <cstdlib>
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wunused"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wlogical-op"
#pragma GCC diagnostic ignored "-Wempty-body"
#pragma GCC diagnostic ignored "-Wreturn-type"
inline const int planted_fault = std::atoi(
    std::getenv("PLANTED_FAULT") != nullptr ? std::getenv("PLANTED_FAULT") : "0");
"""

class Fault:
    """What stands in a line's columns [begin, end) instead; into None: nothing, of a statement."""

    def __init__(self, area, file, number, line, begin, end, into):
        self.area, self.file, self.number = area, file, number
        self.begin, self.end, self.into = begin, end, into
        self.key = (file, number, "" if into is None else line[:begin] + into + line[end:])

    def __str__(self):
        file, number, line = self.key
        return f"{file}:{number + 1}: {line.strip() or '(left out)'}"


def faults_of(area, file, text):
    """All of a file, whose macros, includes and comments stay."""
    code = before = ""
    for number, line in enumerate(text.splitlines()):
        before = code or before
        code = line.split("//")[0].rstrip()
        if not code.startswith(" ") or '"' in code or "static_assert" in code:
            continue
        for pattern, into in SWAPS:
            for match in re.finditer(pattern, code):
                yield Fault(area, file, number, code, *match.span(), into)
        condition = CONDITION.match(code)
        if condition and not ASSIGNMENT.search(condition[2]):
            yield Fault(area, file, number, code, *condition.span(2), f"!({condition[2]})")
        is_statement = before.endswith((";", "{", "}", ")", ":", "else"))
        if is_statement and CALL.match(code) and not KEYWORDS.match(code):
            begin = len(code) - len(code.lstrip())
            yield Fault(area, file, number, code, begin, len(code), None)


def drawn(read, seed):
    """All faults in an order in which areas take turns."""
    queues = []
    for area, files in AREAS.items():
        own = [fault for file in files for fault in faults_of(area, file, read(file))]
        random.Random(f"{seed} {area}").shuffle(own)
        queues.append(own)
    while any(queues):
        for queue in queues:
            if queue:
                yield queue.pop()


def without_comments(text):
    """The text with blanks for comments and directives, and the same with quotes filled."""
    def blank(match):
        return match[0] if match[0][0] in "\"'" else re.sub(r"[^\n]", " ", match[0])

    def fill(match):
        return match[0][0] + "_" * (len(match[0]) - 2) + match[0][0]
    quotes = r'"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])*\''
    plain = re.sub(quotes + r"|//[^\n]*|^#[^\n]*", blank, text, flags=re.MULTILINE)
    return plain, re.sub(quotes, fill, plain)


def after_parenthesis(code, place):
    """The place after the closing one of the parenthesis here."""
    depth = 0
    while True:
        depth += (code[place] == "(") - (code[place] == ")")
        place += 1
        if depth == 0:
            return place


def expression_around(code, begin, end):
    """The argument, condition, or side of an assignment that these places are in."""
    first, depth = begin, 0
    while first > 0:
        char = code[first - 1]
        if depth == 0 and (char in "([{,;" or char == "}" and code[first] == "\n"):
            break
        depth += (char in ")]}") - (char in "([{")
        first -= 1
    last, depth = end, 0
    while last < len(code) and (depth > 0 or code[last] not in ")]},;"):
        depth += (code[last] in "([{") - (code[last] in ")]}")
        last += 1
    while prefix := PREFIX.match(code, first, begin):
        first = prefix.end()
        if prefix[1]:
            first = after_parenthesis(code, first)
    depth = 0
    for place in range(first, begin):
        depth += (code[place] in "([{") - (code[place] in ")]}")
        if depth == 0 and (assignment := ASSIGNMENT.match(code, place, begin)):
            first = assignment.end()
    first += len(code[first:begin]) - len(code[first:begin].lstrip())
    return first, last


def plant(text, faults):
    """Returns the text with each fault behind its number, and the numbers of those that were left
    out, which overlap others. No line moves."""
    plain, code = without_comments(text)
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    changes = []
    left_out = []
    for number, fault in faults.items():
        begin, end = starts[fault.number] + fault.begin, starts[fault.number] + fault.end
        if fault.into in (None, ";"):
            first, last = begin, end
            into = f"{{ if (planted_fault != {number}) {{ {plain[begin:end]} }} }}"
        else:
            first, last = expression_around(code, begin, end)
            good = plain[first:last]
            bad = plain[first:begin] + fault.into + plain[end:last]
            if fault.into.startswith("!("):
                first = max(first, code.rfind("; ", begin, end) + 2)
                good = f"static_cast<bool>({plain[first:last]})"
                bad = f"!({plain[first:last]})"
            into = f"(planted_fault == {number} ? ({bad}) : ({good}))".replace("\n", " ")
            into += "\n" * text.count("\n", first, last)
        if any(first < after and before < last for before, after, _ in changes):
            left_out.append(number)
        else:
            changes.append((first, last, into))
    for first, last, into in sorted(changes, reverse=True):
        text = text[:first] + into + text[last:]
    *_, include = re.finditer(r"^#include .*\n", text, flags=re.MULTILINE)
    return text[: include.end()] + f'#include "{HEADER}"' + text[include.end():], left_out


class Trial:
    """Builds and tests a clone."""

    def __init__(self, options):
        self.clone = options.clone
        self.preset = options.preset
        self.rooms = options.rooms
        self.longest = options.longest
        if not self.clone.exists():
            subprocess.run(["git", "clone", "-q", ROOT, self.clone], check=True)
            self.run("cmake", "--preset", self.preset)
        self.near_of = {}
        self.record = self.clone / "build" / "mutants.jsonl"
        self.record.parent.mkdir(parents=True, exist_ok=True)
        # By fault killed, survived or broken; by room how many seconds it takes without a fault.
        self.results = {}
        if self.record.exists():
            self.results = {tuple(key): result
                            for key, result in map(json.loads, self.record.open())}

    def note(self, key, result):
        self.results[key] = result
        with self.record.open("a") as lines:
            lines.write(json.dumps([key, result]) + "\n")

    def committed(self, file):
        shown = subprocess.run(["git", "show", f"HEAD:{file}"], cwd=self.clone, check=True,
                               capture_output=True, text=True)
        return shown.stdout

    def write(self, file, text):
        """Leaves alone what is there already, so that little is built again."""
        path = self.clone / file
        if not path.exists() or path.read_text() != text:
            path.write_text(text)

    def run(self, *command, seconds=3600, fault=0):
        """Returns how it ended, and what it said."""
        environment = {**os.environ, "PLANTED_FAULT": str(fault)}
        try:
            return subprocess.run(["timeout", "-k", "5", str(seconds), *command],
                                  cwd=self.clone, env=environment, text=True, errors="replace",
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except OSError as error:
            sys.exit(f"mutants: {error}")

    def near(self, file):
        if file not in self.near_of:
            found = subprocess.run(["scripts/internal/near.py", "--preset", self.preset, file],
                                   cwd=self.clone, capture_output=True, text=True, check=True)
            rooms = [line.split("\t")[0] for line in found.stdout.splitlines()]
            self.near_of[file] = rooms[: self.rooms]
        return self.near_of[file]

    def build(self, faults):
        """Builds as many of the faults as compile and go together, and returns those."""
        targets = {f"{room}_test" for fault in faults.values() for room in self.near(fault.file)}
        while True:
            self.write(HEADER, HEADER_TEXT)
            built = {}
            for file in sorted({file for files in AREAS.values() for file in files}):
                own = {number: fault for number, fault in faults.items() if fault.file == file
                       and self.results.get(fault.key) != "broken"}
                text, left_out = plant(self.committed(file), own)
                self.write(file, text)
                built |= {number: own[number] for number in own if number not in left_out}
            ended = self.run("cmake", "--build", "--preset", self.preset, "--target",
                             *sorted(targets), "--", "-k", "0")
            if ended.returncode == 0:
                return built
            errors = {}  # the first of each file, as others may follow from it
            messages = re.findall(r"([\w/.-]+):(\d+):\d+: (?:fatal )?error", ended.stdout)
            for file, line in messages:
                errors.setdefault(file, int(line) - 1)
            found = set()
            for lines in (0, 1, 5):  # an expression of many lines now stands in its first
                found = found or {number for number, fault in built.items()
                                  for file, line in errors.items()
                                  if file.endswith(fault.file)
                                  and abs(line - fault.number) <= lines}
            if not found:
                sys.exit(f"mutants: the clone does not build\n{ended.stdout[-4000:]}")
            for number in found:
                self.note(built[number].key, "broken")
                print(f"broken: {built[number]}", flush=True)

    def outcome(self, number, fault):
        """Whether a test near the file fails."""
        seconds = {room: self.seconds(room) for room in self.near(fault.file)}
        quick = [room for room in seconds if seconds[room] and seconds[room] <= self.longest]
        for room in sorted(quick, key=seconds.get):
            if self.test(room, 20 + 3 * seconds[room], number) != 0:
                return "killed"
        return "survived"

    def seconds(self, room):
        """Returns what the room takes without a fault; None: it fails, and does not count."""
        if (room,) not in self.results:
            begin = time.monotonic()
            ended = self.test(room, 300)
            if ended != 0:
                print(f"without a fault {room}_test fails, too: it does not count", flush=True)
            self.note((room,), time.monotonic() - begin if ended == 0 else None)
        return self.results[(room,)]

    def test(self, room, seconds, fault=0):
        return self.run(f"build/{self.preset}/bin/{room}_test", "--gtest_filter=-Slow*",
                        "--gtest_fail_fast", "--gtest_brief=1", seconds=seconds,
                        fault=fault).returncode


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clone", type=pathlib.Path, default=ROOT / "build/mutants")
    parser.add_argument("--preset", default="dev")
    parser.add_argument("--rooms", type=int, default=4, help="the nearest so many rooms of tests")
    parser.add_argument("--longest", type=float, default=float("inf"),
                        help="leaves out rooms that take more seconds")
    parser.add_argument("--jobs", type=int, default=1, help="faults that are tried at a time")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--list", action="store_true", help="only list the faults")
    return parser.parse_args()


def main():
    options = parse_arguments()
    if options.list:
        order = drawn(lambda file: (ROOT / file).read_text(), options.seed)
        for _, fault in zip(range(options.count), order):
            print(f"{fault.area}: {fault}")
        return
    end = time.monotonic() + options.seconds

    def in_time():
        return time.monotonic() < end
    trial = Trial(options)
    results = trial.results
    order = dict(enumerate(drawn(trial.committed, options.seed), 1))
    while True:
        valid = [number for number, fault in order.items() if results.get(fault.key) != "broken"]
        chosen = {number: order[number] for number in valid[: options.count]}
        waiting = {number: fault for number, fault in chosen.items() if fault.key not in results}
        if not waiting:
            break
        built = trial.build(chosen)
        if not built.keys() & waiting.keys():
            built = trial.build(waiting)
        tried = sorted(built.keys() & waiting.keys())
        for room in sorted({room for number in tried for room in trial.near(order[number].file)}):
            trial.seconds(room)  # alone
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as jobs:
            attempts = {jobs.submit(lambda number: in_time() and trial.outcome(number, order[number]),
                                    number): order[number] for number in tried}
            for attempt in concurrent.futures.as_completed(attempts):
                if attempt.result():
                    trial.note(attempts[attempt].key, attempt.result())
                    print(f"{attempt.result()}: {attempts[attempt]}", flush=True)
        if not in_time():
            sys.exit(3)
    counted = chosen.values()
    for name in [*AREAS, ""]:
        own = [results[fault.key] for fault in counted if name in ("", fault.area)]
        if own:
            share = 100 * own.count("killed") / len(own)
            print(f"{name or 'all'}: {own.count('killed')} of {len(own)} caught, {share:.0f} %")
    for fault in counted:
        if results[fault.key] == "survived":
            print(f"survivor: {fault}")


if __name__ == "__main__":
    main()
