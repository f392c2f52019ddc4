"""What the robot reads from networks' outputs beside what their projects read from ONNX Runtime's.

Run it through `scripts/bench models`. For each network and clip the project's preparation, ONNX
Runtime and the project's reading, written out in references.py, answer the frames; the robot
answers the same frames, as pictures in a folder. Prints a table and exits with 1 if a network
is refused, or differs beyond what is known of it.
"""

import argparse
import dataclasses
import datetime
import json
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import time

import cv2
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from measures import MEASURES
from networks import NETWORKS, Unavailable

SHARED_CLIPS = ("bedroom.mp4", "tennis")
GENERATED_CLIPS = {
    "generated, still": "generated:seed=9000040,frames={},width=320,height=240,camera=still",
    "generated, moving": "generated:seed=9000041,frames={},width=320,height=240,camera=travel"
}


@dataclasses.dataclass
class Folders:
    repository: pathlib.Path
    downloads: pathlib.Path
    shared: pathlib.Path
    work: pathlib.Path


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench models",
                                     description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--json", type=pathlib.Path, help="also write the result to this file")
    parser.add_argument("--model", action="append", default=[], metavar="WORD",
                        help="only networks whose names hold this word; may be repeated")
    parser.add_argument("--video", action="append", default=[], metavar="FILE",
                        help="with these videos; may be repeated")
    parser.add_argument("--frames", type=int, default=16, help="so many frames of every clip")
    parser.add_argument("--cache", type=pathlib.Path, required=True)
    parser.add_argument("--shared", type=pathlib.Path, required=True)
    parser.add_argument("--commit", default="unknown")
    return parser.parse_args()


class Robot:
    def __init__(self, repository):
        self.program = repository / "build" / "release" / "bin" / "cacheinf-robot"

    def run(self, *arguments):
        """None, or the sentence with which it refuses."""
        command = [
            self.program, "run", "--mode", "dense", "--threads", "1", "--log-level", "error",
            *arguments
        ]
        ended = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if ended.returncode == 0:
            return None
        return ended.stderr.strip().splitlines()[-1] if ended.stderr.strip() else "it crashed"


# ---- Clips: a name and BGR frames ----


def video_clip(path, count):
    """Frames from all over a video or a folder of pictures."""
    path = pathlib.Path(path)
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in (".jpg", ".png"))
        wanted = np.linspace(0, len(files) - 1, min(count, len(files))).astype(int)
        return path.name, [cv2.imread(str(files[number])) for number in wanted]
    video = cv2.VideoCapture(str(path))
    total = int(video.get(cv2.CAP_PROP_FRAME_COUNT))
    if total < 1:
        sys.exit(f"scripts/bench: {path} is not a video that OpenCV reads")
    wanted = set(np.linspace(0, total - 1, min(count, total)).astype(int).tolist())
    frames = []
    for number in range(total):
        read, frame = video.read()
        if not read:
            break
        if number in wanted:
            frames.append(frame)
    return path.stem, frames


def generated_clip(robot, name, source, count, work):
    """The robot's own scenes, as a network that does nothing shows them."""
    path = work / "nothing.onnx"
    shape = [1, 3, 240, 320]
    graph = helper.make_graph([helper.make_node("Identity", ["images"], ["same"])], "nothing",
                              [helper.make_tensor_value_info("images", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("same", TensorProto.FLOAT, shape)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)
    folder = work / name.replace(", ", "-")
    refusal = robot.run("--model", path, "--source", source.format(count), "--dump-outputs", folder,
                        "--set", "preprocess.channels=bgr", "--set", "preprocess.divisor=[1]",
                        "--set", "decoder.kind=raw")
    if refusal:
        sys.exit(f"scripts/bench: no clip could be generated: {refusal}")
    frames = [
        np.load(file)[0].transpose(1, 2, 0).round().astype(np.uint8)
        for file in sorted(folder.glob("*.npy"))
    ]
    return name, frames


def clips(arguments, robot, folders):
    """(clips for networks that know the world, clips for the demo's own)."""
    generated = [
        generated_clip(robot, name, source, arguments.frames, folders.work)
        for name, source in GENERATED_CLIPS.items()
    ]
    shared = [folders.shared / "video" / name for name in SHARED_CLIPS]
    if arguments.video:
        return [video_clip(path, arguments.frames) for path in arguments.video], generated
    if all(path.exists() for path in shared):
        return [video_clip(path, arguments.frames) for path in shared], generated
    return generated, generated


def square(frame):
    side = min(frame.shape[:2])
    top, left = (frame.shape[0] - side) // 2, (frame.shape[1] - side) // 2
    return np.ascontiguousarray(frame[top:top + side, left:left + side])


# ---- Both sides ----


def network_input(network, frame):
    """What the project gives its network, and where the frame lies in it."""
    levels, placement = network.prepare(frame, network.width, network.height)
    if network.preprocess.get("channels", "rgb") == "rgb":
        levels = levels[:, :, ::-1]
    mean = np.array(network.preprocess.get("mean", [0]), np.float32)
    divisor = np.array(network.preprocess.get("divisor", [255]), np.float32)
    numbers = (levels.astype(np.float32) - mean) / divisor
    numbers = numbers if network.rows_first else numbers.transpose(2, 0, 1)
    return np.ascontiguousarray(numbers[None]), placement


def reference_answers(network, path, frames):
    """(answers, median milliseconds of ONNX Runtime)."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    answers, times = [], []
    for frame in frames:
        numbers, placement = network_input(network, frame)
        start = time.perf_counter()
        outputs = session.run(None, {name: numbers})
        times.append(1e3 * (time.perf_counter() - start))
        answers.append(network.read(outputs, placement, network.limits))
    return answers, float(np.median(times))


def pixels_of(mask):
    """COCO's run lengths, column by column."""
    height, width = mask["size"]
    flat = np.zeros(height * width, bool)
    at, is_inside = 0, False
    for length in mask["counts"]:
        flat[at:at + length] = is_inside
        at, is_inside = at + length, not is_inside
    return flat.reshape(width, height).T


def box_of(entry):
    box = {
        "label": entry["class"], "score": entry["score"],
        "box": np.array([entry[side] for side in ("left", "top", "right", "bottom")])
    }
    if "corners" in entry:
        box["corners"] = np.array(entry["corners"])
    if "keypoints" in entry:
        box["keypoints"] = np.array([[p["x"], p["y"], p["score"]] for p in entry["keypoints"]])
    if "mask" in entry:
        box["mask"] = pixels_of(entry["mask"])
    return box


def content_of(network, line):
    """The robot's answer in the form of the reference's."""
    if network.is_detector():
        return [box_of(entry) for entry in line["boxes"]]
    if network.measure in ("keypoint error, px", "F1 of points"):
        return np.array([[point["x"], point["y"]] for point in line["keypoints"]])
    if network.measure == "cosine":
        return np.array(line["embedding"])
    return [(entry["class"], entry["score"]) for entry in line["classes"]]


def class_maps(folder, count):
    """Answers have shares of classes only; the map is what the robot dumps after picking them, the
    output with one number a pixel."""
    maps = []
    for frame in range(count):
        arrays = [np.load(file) for file in folder.glob(f"{frame:06}.*.npy")]
        whole = [array for array in arrays if np.array_equal(array, np.round(array))]
        maps.append(whole[0].reshape(whole[0].shape[-2:]).astype(int))
    return maps


def robot_arguments(network, path, source, work, folders, is_told=True):
    config = network.config(folders)
    if not is_told:
        config["decoder"] = {}
    file = work / "config.json"
    file.write_text(json.dumps(config))
    arguments = ["--config", file, "--model", path, "--source", source]
    if has_open_shape(path):
        size = f"{network.height}x{network.width}"
        arguments += ["--shape", f"1x{size}x3" if network.rows_first else f"1x3x{size}"]
    return arguments


def has_open_shape(path):
    shape = onnx.load(str(path), load_external_data=False).graph.input[0].type.tensor_type.shape
    return any(not size.HasField("dim_value") or size.dim_value < 1 for size in shape.dim)


def robot_answers(network, robot, path, source, count, folders):
    """(answers, median milliseconds), or the sentence with which the robot refuses."""
    with tempfile.TemporaryDirectory(dir=folders.work) as folder:
        folder = pathlib.Path(folder)
        arguments = robot_arguments(network, path, source, folder, folders)
        arguments += ["--answers", folder / "answers.jsonl", "--summary", folder / "summary.json"]
        if network.measure == "mIoU":
            arguments += ["--dump-outputs", folder / "outputs"]
        refusal = robot.run(*arguments)
        if refusal:
            return refusal
        summary = json.loads((folder / "summary.json").read_text())
        if network.measure == "mIoU":
            answers = class_maps(folder / "outputs", count)
        else:
            lines = (folder / "answers.jsonl").read_text().splitlines()
            answers = [content_of(network, json.loads(line)) for line in lines]
        return answers, summary["latency_ms"]["p50"]


def recognised_kind(network, robot, path, source, folders):
    """What the robot takes the head for if it is told nothing."""
    with tempfile.TemporaryDirectory(dir=folders.work) as folder:
        folder = pathlib.Path(folder)
        arguments = robot_arguments(network, path, source, folder, folders, is_told=False)
        answers = folder / "answers.jsonl"
        refusal = robot.run(*arguments, "--frames", "1", "--answers", answers)
        return "refused" if refusal else json.loads(answers.read_text().splitlines()[0])["kind"]


# ---- The table ----


def compared(network, ours, theirs):
    """The row's figures and its verdict."""
    measure, bar, more_is_better = MEASURES[network.measure]
    figure, worst, evidence = measure(ours, theirs)
    if figure is None:
        return {"figure": None, "worst": None, "evidence": evidence, "verdict": "no evidence"}
    agrees = figure >= bar if more_is_better else figure <= bar
    verdict = "agrees" if agrees else "differs as noted" if network.note else "differs"
    return {"figure": figure, "worst": worst, "evidence": evidence, "verdict": verdict}


def row_of(network, clip, frames, robot, path, folders):
    row = {
        "network": network.name, "source": str(network.source), "ready": network.ready,
        "head": network.kind, "clip": clip, "frames": len(frames), "compared": network.measure,
        "figure": None, "worst": None, "evidence": "", "auto": "", "robot_ms": None,
        "onnxruntime_ms": None, "verdict": "", "reason": network.note
    }
    if path is None:
        return row
    source = folders.work / f"{clip}{'-square' if network.cut_square else ''}"
    if network.cut_square:
        frames = [square(frame) for frame in frames]
    if not source.exists():
        source.mkdir()
        for number, frame in enumerate(frames):
            cv2.imwrite(str(source / f"{number:06}.png"), frame)
    row["auto"] = recognised_kind(network, robot, path, source, folders)
    answered = robot_answers(network, robot, path, source, len(frames), folders)
    if isinstance(answered, str):
        # Without the folders of files.
        sentence = re.sub(r"/\S*/", "", answered.removeprefix("cacheinf-robot: "))
        return row | {"verdict": "refused", "reason": sentence}
    ours, row["robot_ms"] = answered
    theirs, row["onnxruntime_ms"] = reference_answers(network, path, frames)
    return row | compared(network, ours, theirs)


SHOWN = ("network", "head", "auto", "clip", "compared", "figure", "worst", "evidence", "robot_ms",
         "onnxruntime_ms", "verdict", "reason")


def text_of(cell):
    if cell is None:
        return "-"
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def print_table(rows):
    lines = [SHOWN] + [[text_of(row[key]) for key in SHOWN] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(SHOWN))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def main():
    arguments = parse_arguments()
    repository = pathlib.Path(__file__).parents[3]
    chosen = [
        network for network in NETWORKS
        if not arguments.model or any(word in network.name for word in arguments.model)
    ]
    if not chosen:
        sys.exit("scripts/bench: no network has such a name")
    if arguments.json:
        arguments.json.touch()
    robot = Robot(repository)
    rows = []
    with tempfile.TemporaryDirectory() as work:
        folders = Folders(repository, arguments.cache / "packages", arguments.shared,
                          pathlib.Path(work))
        usual, own = clips(arguments, robot, folders)
        for network in chosen:
            print(network.name, file=sys.stderr, flush=True)
            try:
                path, missing = network.source.file(folders), None
            except Unavailable as error:
                path, missing = None, str(error)
            for clip, frames in own if network.own_clips else usual:
                row = row_of(network, clip, frames, robot, path, folders)
                rows.append(row | {"verdict": "not here", "reason": missing} if missing else row)
    print_table(rows)
    if arguments.json:
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        report = {
            "bench": "models", "commit": arguments.commit, "machine": processor(), "date": now,
            "rows": rows
        }
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")
    failed = [row for row in rows if row["verdict"] in ("differs", "refused")]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
