#!/usr/bin/env python3
"""Compares the robot's answers with ONNX Runtime's.

Makes random small ONNX graphs from a seed, over the whole operator set and over operator sets 9 to
21, and takes model files that are given. Runs each on one random input with both. The largest
difference of each output must not exceed 1e-4 of that output's range. With --quantised, also makes
graphs of one operator on 8-bit numbers; there no number may differ by more than a step.

Prints a table and exits with 1 if any answer differs, with 0 if all agree.
"""

import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

import quantised_graphs
import random_graphs

TOLERANCE = 1e-4


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("models", nargs="*", help="model files, each FILE or FILE:1x3x384x640")
    parser.add_argument("--graphs", type=int, default=100, help="how many random graphs")
    parser.add_argument("--quantised", type=int, default=0, help="how many quantised graphs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--robot", default="build/release/bin/robot_loop")
    parser.add_argument("--keep", help="a folder to keep the models that differ in")
    return parser.parse_args()


def open_session(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # refusals are expected
    options.intra_op_num_threads = 1
    # Without its own fusions, so that it computes what the file says.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


class Robot:
    """Robots in one process: starting one takes longer than a small graph."""

    def __init__(self, program):
        self.program = program
        self.process = None

    def run(self, model, picture, folder):
        """The answers by output name, or a sentence that says why there are none."""
        source = folder / "source"
        outputs = folder / "outputs"
        source.mkdir()
        np.save(source / "000000.npy", picture)
        # Bits do not depend on threads, and one begins at once.
        error = self._ask(["--model", str(model), "--source", str(source), "--mode", "dense",
                           "--threads", "1", "--set", "decoder.kind=raw",
                           "--shape", "x".join(map(str, picture.shape)),
                           "--dump-outputs", str(outputs)])
        if error:
            return error
        prefix = "000000."
        return {file.name[len(prefix):-len(".npy")]: np.load(file)
                for file in outputs.glob(prefix + "*.npy")}

    def _ask(self, arguments):
        if self.process is None:
            self.process = subprocess.Popen([self.program], text=True, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE)
        self.process.stdin.write(" ".join(f'"{argument}"' for argument in arguments) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if answer:
            return answer.strip()
        code = self.process.wait()
        self.process = None  # the next model finds another
        return f"the process ended with {code}"


def difference(ours, theirs):
    """The largest absolute difference over the range of the expected output."""
    if ours.shape != theirs.shape:
        return float("inf")
    theirs = theirs.astype(np.float64)
    if not np.isfinite(theirs).all():
        raise ValueError("the expected output is not finite")
    spread = theirs.max() - theirs.min()
    if spread == 0:
        spread = max(abs(theirs.max()), 1e-6)
    largest = np.abs(ours.astype(np.float64) - theirs).max() / spread
    return float("inf") if np.isnan(largest) else float(largest)


def compare(robot, model, shape, random):
    """(largest difference, remark) for one model file."""
    session = open_session(str(model))
    if len(session.get_inputs()) != 1:
        return None, "skipped: not one input"
    entry = session.get_inputs()[0]
    if shape is None:
        shape = [size if isinstance(size, int) else 1 for size in entry.shape]
    picture = random.uniform(-1, 1, shape).astype(np.float32)
    names = [output.name for output in session.get_outputs()]
    expected = session.run(names, {entry.name: picture})
    with tempfile.TemporaryDirectory() as folder:
        answers = robot.run(model, picture, pathlib.Path(folder))
    if isinstance(answers, str):
        return float("inf"), answers
    worst = 0.0
    for name, value in zip(names, expected):
        if name not in answers:
            return float("inf"), f"output {name} is missing"
        worst = max(worst, difference(answers[name], value))
    return worst, ""


def compare_quantised(robot, model, scale, random):
    """(largest difference in steps, share of numbers that differ, remark)"""
    session = open_session(str(model))
    picture = random.uniform(-1.2, 1.2, session.get_inputs()[0].shape).astype(np.float32)
    expected = session.run(["y"], {"x": picture})[0]
    with tempfile.TemporaryDirectory() as folder:
        answers = robot.run(model, picture, pathlib.Path(folder))
    if isinstance(answers, str):
        return float("inf"), 1.0, answers
    steps = np.rint(np.abs(answers["y"].astype(np.float64) - expected) / scale)
    return float(steps.max()), float(np.mean(steps > 0)), ""


def run_quantised(robot, arguments):
    """How many quantised graphs differ by more than a step."""
    failures = 0
    shares = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.quantised):
            random = np.random.default_rng([arguments.seed, number])
            model, operator, scale = quantised_graphs.make(random)
            path = pathlib.Path(folder) / f"quantised_{arguments.seed}_{number}.onnx"
            path.write_bytes(model.SerializeToString())
            worst, share, remark = compare_quantised(robot, path, scale, random)
            shares[operator].append(share)
            if worst > 1:
                failures += 1
                print(f"{path.name:<40} {worst:>12} steps  {remark} [{operator}]", flush=True)
                if arguments.keep:
                    pathlib.Path(arguments.keep).mkdir(parents=True, exist_ok=True)
                    (pathlib.Path(arguments.keep) / path.name).write_bytes(path.read_bytes())
            path.unlink()
    for operator, each in sorted(shares.items()):
        print(f"{f'{len(each)} quantised: {operator}':<40} {np.mean(each):>18.2e}  "
              "of numbers differ by a step")
    return failures


def parse_model(argument):
    path, _, shape = argument.rpartition(":")
    if path and shape and shape.replace("x", "").isdigit():
        return pathlib.Path(path), [int(size) for size in shape.split("x")]
    return pathlib.Path(argument), None


def main():
    arguments = parse_arguments()
    robot = Robot(arguments.robot)
    failures = 0
    print(f"seed {arguments.seed}")
    print(f"{'model':<40} {'difference/range':>18}  remark")

    for argument in arguments.models:
        path, shape = parse_model(argument)
        worst, remark = compare(robot, path, shape, np.random.default_rng(arguments.seed))
        failures += worst is not None and worst > TOLERANCE
        shown = "-" if worst is None else f"{worst:.2e}"
        print(f"{path.name:<40} {shown:>18}  {remark}", flush=True)

    largest = 0.0
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.graphs):
            random = np.random.default_rng([arguments.seed, number])
            model, operators = random_graphs.make(random, open_session)
            counts.update(operators)
            path = pathlib.Path(folder) / f"graph_{arguments.seed}_{number}.onnx"
            path.write_bytes(model.SerializeToString())
            worst, remark = compare(robot, path, None, random)
            largest = max(largest, worst)
            if worst > TOLERANCE:
                failures += 1
                print(f"{path.name:<40} {worst:>18.2e}  {remark} [{' '.join(operators)}]", flush=True)
                if arguments.keep:
                    pathlib.Path(arguments.keep).mkdir(parents=True, exist_ok=True)
                    (pathlib.Path(arguments.keep) / path.name).write_bytes(path.read_bytes())
            path.unlink()

    if arguments.graphs > 0:
        print(f"{str(arguments.graphs) + ' random graphs':<40} {largest:>18.2e}  "
              f"{sum(counts.values())} nodes of {len(counts)} operators")
    failures += run_quantised(robot, arguments)
    print("all agree" if failures == 0 else f"{failures} differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
