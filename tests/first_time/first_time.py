#!/usr/bin/env python3
"""Takes the steps that README.md tells a new user, in a new folder, with networks that CacheInf has
never seen, and checks what each step promises: exit codes, files, sentences, the number of answers,
and agreement that rests on something.

Prints a line for each step and exits with 1 if a promise was broken.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import foreign_models

FRAMES = 60
AGREEMENT = 0.9  # what calibrate is asked for
WRITES_WITHOUT_WARNINGS = True  # whether calibrate promises that run takes its file without one


@dataclasses.dataclass
class Network:
    name: str
    options: list         # what a user adds once `check` has said what is missing
    kind: str             # what `check` then says
    recognised: str       # why; "" where the options name the kind
    could_be: str         # of which kinds `check` speaks before, where nothing is certain
    wrong_kind: str       # is refused
    evidence: str         # the summary's key of agreement


NETWORKS = [
    Network("detector", [], "yolov8", "the task that the model's file names", "", "yolox", "f1"),
    Network("classifier", ["--config", "classifier.json"],
            "classification", "", "classification", "segmentation", "top_1"),
    Network("segmentation", ["--config", "segmentation.json"], "segmentation",
            "the outputs' names and shapes", "segmentation", "yolov8", "miou"),
]


class Broken(Exception):
    """A promise that was not kept."""


def promise(is_kept, text):
    if not is_kept:
        raise Broken(text)


class User:
    """Runs programs as a user would, in a folder of their own."""

    def __init__(self, programs, mpirun, folder):
        self.programs, self.mpirun, self.folder = programs, mpirun, folder
        self.environment = dict(os.environ, CACHEINF_CACHE=str(folder / "cache"),
                                OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self.environment.pop("CACHEINF_NAME_SERVER", None)

    def run(self, arguments, code=0, seconds=60):
        """What a program wrote, both streams together."""
        try:
            done = subprocess.run(arguments, cwd=self.folder, env=self.environment, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=seconds, check=False)
        except subprocess.TimeoutExpired as late:
            raise Broken(f"not done after {seconds} s: {' '.join(arguments)}\n{late.output}") from late
        promise(done.returncode == code,
                f"exit code {done.returncode} instead of {code}: {' '.join(arguments)}\n{done.stdout}")
        return done.stdout

    def program(self, name, *arguments):
        return [str(self.programs / f"cacheinf-{name}"), *map(str, arguments)]

    def robot(self, *arguments):
        return self.program("robot", "run", *arguments, "--answers", "answers.jsonl", "--summary",
                            "summary.json")

    def with_server(self, robot, *server):
        """A robot's command line beside a server's, in one mpirun."""
        return [self.mpirun, "--bind-to", "none", "--oversubscribe", "-n", "1", *robot, "--server",
                "mpi", ":", "-n", "1",
                *self.program("server", "--once", "--wait", "20", "--threads", "1", *server)]

    def results(self):
        """The answers and the summary of the last run; no later step can mistake them for its own."""
        answers = self.folder / "answers.jsonl"
        summary = self.folder / "summary.json"
        promise(answers.exists() and summary.exists(), "no answers or no summary was written")
        read = ([json.loads(line) for line in answers.read_text().splitlines()],
                json.loads(summary.read_text()))
        answers.unlink()
        summary.unlink()
        promise(len(read[0]) == FRAMES == read[1]["frames"],
                f"{len(read[0])} answers, and the summary counts {read[1]['frames']}, of {FRAMES}")
        return read


def warnings(output):
    return [line for line in output.splitlines() if re.search(r"^\S+ (warning|error) ", line)]


def check_agreement(summary, network, least):
    agreement = summary.get("agreement", {})
    promise(agreement.get("frames_with_evidence", 0) > 0,
            f"no frame had anything to compare: {agreement}")
    value = agreement.get(network.evidence, -1)
    promise(value >= least, f"agreement is below {least}: {agreement}")
    return f"{network.evidence} {value:.4f} over {agreement['frames_with_evidence']} frames"


def check_truth(answers, network, clip):
    """The squares are where the clip shows them."""
    if network.name != "detector":
        return
    frame = 10
    best = {}
    for box in answers[frame]["boxes"]:  # the best come first
        best.setdefault(box["name"], box)
    for name, (x, y) in zip(foreign_models.CLASSES, clip.places(frame)):
        box = best.get(name)
        promise(box is not None, f"no {name} in {answers[frame]}")
        promise(abs(box["left"] - x) < 16 and abs(box["top"] - y) < 16,
                f"the {name} is at {x}, {y}: {box}")


def steps(user, network, clip):
    """Yields the name of each step and a function that takes it and returns what it found."""
    model = ["--model", f"{network.name}.onnx"]
    source = ["--source", "clip.avi"]
    start = [*model, *source, *network.options, "--threads", "1"]

    def check_before():
        output = user.run(user.program("profile", "check", f"{network.name}.onnx", *source))
        promise("kind raw" in output, f"a network that nothing describes is not raw:\n{output}")
        promise(f"the outputs could be {network.could_be}" in output,
                f"{network.could_be} is not named:\n{output}")
        promise(any("set decoder.kind" in line for line in warnings(output)),
                f"no warning names the remedy:\n{output}")
        return f"raw; could be {network.could_be}"

    def check():
        output = user.run(user.program("profile", "check", f"{network.name}.onnx", *source,
                                       *network.options))
        promise(f"kind {network.kind}" in output, f"not {network.kind}:\n{output}")
        promise(network.recognised in output, f"no reason is given:\n{output}")
        promise("the answer to the first frame of clip.avi" in output, f"no answer:\n{output}")
        promise(not warnings(output), f"a warning:\n{output}")
        return network.kind

    def refuse():
        for program in (user.program("profile", "check"), user.program("robot", "run")):
            output = user.run([*program, *model, *source, *network.options, "--set",
                               f"decoder.kind={network.wrong_kind}"], code=2)
            sentence = output.strip().splitlines()[-1]
            promise(network.wrong_kind in sentence and "could be" in sentence and
                    network.kind in sentence, f"no remedy is named: {sentence}")
        return f"{network.wrong_kind} is refused"

    def dense():
        user.run(user.robot(*start, "--mode", "dense"))
        answers, _ = user.results()
        check_truth(answers, network, clip)
        return f"{len(answers)} answers"

    def cache():
        output = user.run(user.robot(*start, "--mode", "cache", "--check", "5"))
        _, summary = user.results()
        promise("checked" in output, f"the summary does not speak of the check:\n{output}")
        return check_agreement(summary, network, 0.8)

    def calibrate():
        config = user.folder / f"{network.name}.calibrated.json"
        output = user.run(user.program("robot", "calibrate", *start, "--agreement", AGREEMENT, "--by",
                                       "time", "--budget", "12"))
        promise(config.exists() and f"written to {config.name}" in output,
                f"no configuration is written:\n{output}")
        return "written"

    def calibrated():
        output = user.run(user.robot("--config", f"{network.name}.calibrated.json", *source,
                                     "--check", "5"))
        promise(not (WRITES_WITHOUT_WARNINGS and warnings(output)),
                f"run warns of what calibrate wrote:\n{output}")
        _, summary = user.results()
        return check_agreement(summary, network, AGREEMENT - 0.1)

    def remote():
        user.run(user.with_server(user.robot(
            *start, "--mode", "remote", "--codec", "png", "--server-mode", "dense", "--server-wait",
            "20", "--check", "5")))
        _, summary = user.results()
        served = summary.get("server", {}).get("frames", 0)
        promise(served >= 0.9 * FRAMES, f"the server answered {served} of {FRAMES} frames")
        found = check_agreement(summary, network, 1)
        return f"the server answered {served}; {found}"

    def cacheinf():
        output = user.run(user.with_server(user.robot(
            "--config", f"{network.name}.calibrated.json", *source, "--mode", "cacheinf",
            "--server-wait", "60")), seconds=100)
        _, summary = user.results()
        served = summary.get("server", {}).get("frames", 0)
        promise(served > 0 or summary.get("why_plan"),
                f"neither was the server used nor is there a reason:\n{output}")
        promise(summary.get("plans"), f"no plan was followed:\n{output}")
        return f"the server answered {served}; {summary.get('why_plan', '')}"

    if network.could_be:
        yield "check, before", check_before
    yield "check", check
    yield "refuse another kind", refuse
    yield "run, dense", dense
    yield "run, cache", cache
    yield "calibrate", calibrate
    yield "run what calibrate wrote", calibrated
    if user.mpirun:
        yield "remote", remote
        yield "cacheinf", cacheinf


def mpirun_of(build):
    found = re.search(r"^MPIEXEC_EXECUTABLE:\w+=(.+)$", (build / "CMakeCache.txt").read_text(), re.M)
    return found[1] if found and os.access(found[1], os.X_OK) else None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", type=pathlib.Path)
    parser.add_argument("--only", choices=[network.name for network in NETWORKS])
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    mpirun = mpirun_of(build)
    if mpirun is None:
        print("no step needs a server: this build has no MPI")
    broken = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        foreign_models.write_all(folder)
        clip = foreign_models.Squares(FRAMES)
        foreign_models.write_video(folder / "clip.avi", clip)
        decoders = {
            "classifier": {"kind": "classification",
                           "class_names": [*foreign_models.CLASSES, "both", "none"]},
            "segmentation": {"class_names": ["ground", *foreign_models.CLASSES]},
        }
        for network, decoder in decoders.items():
            (folder / f"{network}.json").write_text(json.dumps({"decoder": decoder}))
        user = User(build / "bin", mpirun, folder)
        for network in NETWORKS:
            if arguments.only not in (None, network.name):
                continue
            for step, take in steps(user, network, clip):
                begin = time.monotonic()
                try:
                    found = take()
                except Broken as error:
                    broken += 1
                    found = f"BROKEN: {error}"
                print(f"{network.name:<13} {step:<25} {time.monotonic() - begin:5.1f} s  {found}",
                      flush=True)
    print("every promise is kept" if broken == 0 else f"{broken} promises are broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
