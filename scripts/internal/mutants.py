#!/usr/bin/env python3
"""Says what share of planted faults the tests catch.

    mutants.py [--count N] [--seed N] [--clone DIR] [--preset NAME] [--with COMMAND] [--list]

Plants N faults (default: 200), one at a time, in a clone of this repository's last commit: in
decisions, masks, splits, commits, codecs and settings, as many in each. Builds and runs what
`scripts/test --near` names for the file, or with --rooms so many of these rooms. A fault that does
not compile is replaced by another. Results stand in DIR/build/mutants.jsonl; called again, it goes
on. A minute or two a fault. Put --with locked, say, before every build and run. Prints the
survivors.
"""

import argparse
import json
import pathlib
import random
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
AREAS = {
    "decisions": ["common/reuse/reuse.cc", "common/reuse/change_finder.cc",
                  "common/guard/sampling.cc", "common/guard/safety_levels.cc",
                  "common/reuse/reuse_timing.cc", "client/record/decision_text.cc",
                  "common/plan/plan_chooser.cc"],
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
CALL = re.compile(r"^\s+[\w.:>*()-]+(\(.*\)| [-+|&]?= .*);$")
KEYWORDS = re.compile(r"^\s*(return|const|auto|using|case|default|else|for|while|throw|static)\b")


def mutants_of(file):
    """(line number, line with a fault) of a file, whose macros, includes and comments stay."""
    for number, line in enumerate((ROOT / file).read_text().splitlines()):
        code = line.split("//")[0].rstrip()
        if not code.startswith(" ") or '"' in code or "static_assert" in code:
            continue
        for pattern, into in SWAPS:
            for match in re.finditer(pattern, code):
                yield number, code[: match.start()] + into + code[match.end():]
        if condition := CONDITION.match(code):
            yield number, f"{condition[1]}!({condition[2]}){condition[3]}"
        if CALL.match(code) and not KEYWORDS.match(code):
            yield number, ""


def shown(mutant):
    file, number, line = mutant
    return f"{file}:{number + 1}: {line.strip() or '(left out)'}"


def drawn(seed):
    """All mutants, (area, file, line number, line), in an order in which areas take turns."""
    queues = []
    for area, files in AREAS.items():
        own = [(area, file, *mutant) for file in files for mutant in mutants_of(file)]
        random.Random(f"{seed} {area}").shuffle(own)
        queues.append(own)
    while any(queues):
        for queue in queues:
            if queue:
                yield queue.pop()


class Trial:
    """Builds and tests a clone."""

    def __init__(self, options):
        self.clone = options.clone
        self.preset = options.preset
        self.before = shlex.split(options.before)
        self.rooms = options.rooms
        if not self.clone.exists():
            subprocess.run(["git", "clone", "-q", ROOT, self.clone], check=True)
            self.run("cmake", "--preset", self.preset)

    def run(self, *command, seconds=1800, before=True):
        """Whether it ended well in time."""
        prefix = self.before if before else []
        try:
            ended = subprocess.run([*prefix, "timeout", str(seconds), *command], cwd=self.clone,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except OSError as error:
            sys.exit(f"mutants: {error}")
        return ended.returncode == 0

    def near(self, file):
        found = subprocess.run(["scripts/internal/near.py", "--preset", self.preset, file],
                               cwd=self.clone, capture_output=True, text=True, check=True)
        return [line.split("\t")[0] for line in found.stdout.splitlines()][: self.rooms]

    def outcome(self, file, number, line):
        """killed, survived, or broken: it does not compile."""
        path = self.clone / file
        good = path.read_text()
        lines = good.splitlines()
        lines[number] = line
        rooms = self.near(file)
        try:
            path.write_text("\n".join(lines) + "\n")
            targets = [f"{room}_test" for room in rooms]
            build = ["cmake", "--build", "--preset", self.preset, "--target"]
            if not self.run(*build, *targets):
                return "broken"
            names = "|".join(rooms)
            passed = self.run("ctest", "--preset", self.preset, "--stop-on-failure",
                              "--timeout", "180", "-R", f"^({names})[.][0-9]")
            return "survived" if passed else "killed"
        finally:
            path.write_text(good)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clone", type=pathlib.Path, default=ROOT / "build/mutants")
    parser.add_argument("--preset", default="dev")
    parser.add_argument("--rooms", type=int, default=4, help="the nearest so many rooms of tests")
    parser.add_argument("--with", dest="before", default="", help="before every build and run")
    parser.add_argument("--list", action="store_true", help="only list the faults")
    return parser.parse_args()


def main():
    options = parse_arguments()
    order = drawn(options.seed)
    if options.list:
        for _ in range(options.count):
            area, *mutant = next(order)
            print(f"{area}: {shown(mutant)}")
        return
    trial = Trial(options)
    record = trial.clone / "build" / "mutants.jsonl"
    record.parent.mkdir(parents=True, exist_ok=True)
    results = {}
    if record.exists():
        results = {tuple(key): outcome for key, outcome in map(json.loads, record.open())}
    counted = []
    for area, file, number, line in order:
        if len(counted) == options.count:
            break
        key = (file, number, line)
        if key not in results:
            results[key] = trial.outcome(file, number, line)
            with record.open("a") as lines:
                lines.write(json.dumps([key, results[key]]) + "\n")
            print(f"{results[key]}: {shown(key)}", flush=True)
        if results[key] != "broken":
            counted.append((area, key))
    for name in [*AREAS, ""]:
        own = [results[key] for area, key in counted if name in ("", area)]
        if own:
            share = 100 * own.count("killed") / len(own)
            print(f"{name or 'all'}: {own.count('killed')} of {len(own)} caught, {share:.0f} %")
    for _, key in counted:
        if results[key] == "survived":
            print(f"survivor: {shown(key)}")


if __name__ == "__main__":
    main()
