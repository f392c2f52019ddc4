#!/usr/bin/env python3
"""Quantises a network to 8 bits around ONNX Runtime's quantiser; scripts/quantize calls it.

Ranges are calibrated once, on frames as the robot prepares them. Networks that differ in which
layers stay fp32 are then made from the same ranges and measured by the robot.
"""

import argparse
import copy
import errno
import html
import json
import logging
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import version_converter
from onnxruntime.quantization import CalibrationDataReader, QuantType, create_calibrator
from onnxruntime.quantization.qdq_quantizer import QDQQuantizer
from onnxruntime.quantization.quant_utils import load_model_with_shape_infer
from onnxruntime.quantization.shape_inference import quant_pre_process

LEAST_OPSET = 13  # of scales per channel
SENSITIVITY_FRAMES = 4
LEAST_EVIDENCE = 10  # frames
LEAST_ROOM = 1 << 20  # bytes
TIMED_FRAMES = 6
# What the last layers give is rounded within this, if at all: a detector's reader takes the sigmoid,
# and beyond it all is as good as certain.
FARTHEST_LOGIT = 6.0
MOST_LOST_BY_HEADS = 0.002  # agreement, for
WORTH_ROUNDING = 0.95  # so much of the memory at most
NOISY = 0.1  # the middle half of a network's times spread by this share
# What has 8-bit forms in CacheInf.
OPERATORS = ["Conv", "Add", "Mul", "Sigmoid", "Relu", "LeakyRelu", "Clip", "HardSigmoid",
             "HardSwish", "Tanh", "Concat", "MaxPool", "AveragePool", "Resize", "Split", "Slice",
             "Gemm", "MatMul"]
PRODUCTS = {"Conv", "Gemm", "MatMul"}  # those with constant weights are layers
ELEMENTWISE = {"Add", "Mul", "Sigmoid", "Relu", "LeakyRelu", "Clip", "HardSigmoid", "HardSwish",
               "Tanh"}


class Refusal(Exception):
    """Bad input, in one sentence."""


class Failure(Exception):
    """Something else that the user must know, in one sentence."""


def one_line(error):
    """What an exception says, on one line."""
    text = " ".join(str(error).split())
    return text if len(text) <= 300 else text[:300] + "…"


def step(text):
    started = float(os.environ.get("CACHEINF_STARTED", time.time()))
    print(f"[{time.time() - started:4.0f}s] {text}", flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("clips", nargs="+")
    parser.add_argument("--agreement", type=float, default=0.97)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--frames", type=int, default=48)
    parser.add_argument("--most-float", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--config")
    parser.add_argument("--shape")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    if arguments.out is None:
        arguments.out = arguments.model.with_suffix(".int8.onnx")
    return arguments


class Programs:
    """CacheInf's programs, on one network's configuration."""

    def __init__(self, arguments, folder):
        self.folder = arguments.programs
        self.scratch = folder
        self.threads = arguments.threads
        self.common = []
        if arguments.config:
            self.common += ["--config", arguments.config]
        if arguments.shape:
            self.common += ["--shape", arguments.shape]

    def _run(self, program, options):
        command = [str(self.folder / program), *map(str, options), *self.common,
                   "--log-level", "error"]
        done = subprocess.run(command, text=True, capture_output=True, check=False)
        if done.returncode == 0:
            return
        if shutil.disk_usage(self.scratch).free < LEAST_ROOM:
            raise Failure(f"there is no room left in {tempfile.gettempdir()}: make some, or set "
                          "TMPDIR to a folder on another disk")
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        error = Refusal if done.returncode == 2 else Failure
        raise error(f"{program} fails: {lines[-1]}")

    def write_frames(self, model, clip, count, out):
        self._run("cacheinf-profile", ["frames", model, "--source", clip, "--frames", count,
                                       "--out", out])

    def _summary_of(self, options):
        summary = self.scratch / "summary.json"
        self._run("cacheinf-robot", ["run", "--mode", "dense", "--threads", self.threads,
                                     "--summary", summary, *options])
        return json.loads(summary.read_text())

    def agreement(self, model, original, frames, decoder=None):
        """How well dense answers to a folder of frames agree with the original's."""
        options = ["--model", model, "--against", original, "--source", frames, "--check", 1]
        if decoder:
            options += ["--set", f"decoder.kind={decoder}"]
        return self._summary_of(options)["agreement"]

    def agreement_and_memory(self, model, original, frames):
        """The same agreement as a number, and the bytes of all maps that a cache keeps."""
        summary = self._summary_of(["--model", model, "--against", original, "--source", frames,
                                    "--check", 1])
        return agreement_of(summary["agreement"]), summary["memory"]["cache_all_bytes"]

    def time(self, model, frames):
        """The median of dense frames, in ms."""
        return self._summary_of(["--model", model, "--source", frames])["latency_ms"]["p50"]


class Frames(CalibrationDataReader):
    """What the network gets of frames, one at a time."""

    def __init__(self, files, model):
        self.files = iter(files)
        self.input = model.graph.input[0]

    def get_next(self):
        file = next(self.files, None)
        if file is None:
            return None
        element = self.input.type.tensor_type.elem_type
        dtype = onnx.helper.tensor_dtype_to_np_dtype(element)
        return {self.input.name: np.load(file).astype(dtype)}


def take_frames(programs, arguments, folder):
    """Returns arrays to calibrate on, and folders of frames to judge by and to find layers by."""
    each = max(3, arguments.frames // len(arguments.clips))
    calibration = []
    held_out = folder / "held-out"
    few = folder / "few"
    for place in (held_out, few):
        place.mkdir()
    for number, clip in enumerate(arguments.clips):
        out = folder / f"clip-{number}"
        programs.write_frames(arguments.model, clip, each, out)
        pictures = sorted((out / "frames").iterdir())
        if len(pictures) < 3:
            raise Refusal(f"{clip} has {len(pictures)} frame(s), and at least 3 are needed: some "
                          "calibrate, and others judge")
        seen = min((2 * len(pictures) + 2) // 3, len(pictures) - 1)
        calibration += [out / "inputs" / (picture.stem + ".npy") for picture in pictures[:seen]]
        for picture in pictures[seen:]:
            picture.rename(held_out / f"{number:03}-{picture.name}")
        for picture in pictures[:seen:max(1, seen // SENSITIVITY_FRAMES)]:
            if len(list(few.iterdir())) < SENSITIVITY_FRAMES:
                shutil.copy(picture, few / f"{number:03}-{picture.name}")
    return calibration, held_out, few


def read_model(path):
    try:
        model = onnx.load(path)
    except Exception as error:  # protobuf's and onnx's own
        raise Refusal(f"{path} is no ONNX file: {one_line(error)}") from error
    kinds = {node.op_type for node in model.graph.node}
    if kinds & {"QuantizeLinear", "DequantizeLinear"} or any(k.startswith("QLinear") for k in kinds):
        raise Refusal(f"{path} is quantised already: give the fp32 network that it was made of")
    if not kinds & PRODUCTS:
        raise Refusal(f"{path} has no convolution and no matrix product, and only those gain by 8 "
                      "bits")
    return model


def prepare(model, folder):
    """Fuses what can be fused, and infers shapes; names every node."""
    opset = max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")),
                default=0)
    if opset < LEAST_OPSET:
        try:
            model = version_converter.convert_version(model, LEAST_OPSET)
        except Exception as error:
            raise Refusal(f"operator set {opset} cannot be made {LEAST_OPSET}, which scales per "
                          f"channel need: export the network again ({one_line(error)})") from error
    path = folder / "converted.onnx"
    onnx.save(model, path)
    prepared = folder / "prepared.onnx"
    quant_pre_process(str(path), str(prepared), skip_symbolic_shape=True)
    model = onnx.load(prepared)
    for number, node in enumerate(model.graph.node):
        node.name = node.name or f"{node.op_type}_{number}"
    onnx.save(model, prepared)
    return prepared


class Network:
    """Its layers: each a convolution or a product with a constant, and what follows it number by
    number."""

    def __init__(self, model):
        nodes = model.graph.node
        constants = {constant.name for constant in model.graph.initializer}
        producers = {output: node for node in nodes for output in node.output}
        self.nodes = list(nodes)
        products = {node.name for node in nodes
                    if node.op_type in PRODUCTS and node.input[1] in constants}
        reaches = set()  # names of nodes that lead to such a product
        readers = {}
        for node in nodes:
            for name in node.input:
                readers.setdefault(name, []).append(node)
        for node in reversed(self.nodes):
            following = [r for output in node.output for r in readers.get(output, [])]
            if any(r.name in products or r.name in reaches for r in following):
                reaches.add(node.name)
        self.heads = {node.name for node in nodes
                      if node.name in products and node.name not in reaches}
        # What nothing gains by rounding: products of what is computed, and what follows the last
        # layers.
        self.floats = [node.name for node in nodes if node.name not in products
                       and (node.op_type in PRODUCTS or node.name not in reaches)]
        self.layers = {node.name: {node.name} for node in nodes if node.name in products}
        owner = {name: name for name in self.layers}
        for node in nodes:
            if node.op_type not in ELEMENTWISE:
                continue
            before = {owner.get(producers[name].name) if name in producers else None
                      for name in node.input if name and name not in constants}
            if len(before) == 1 and None not in before:
                layer = before.pop()
                owner[node.name] = layer
                self.layers[layer].add(node.name)

    def all_but(self, layer):
        return [node.name for node in self.nodes if node.name not in self.layers[layer]]


class Quantiser:
    """Makes networks from one calibration."""

    def __init__(self, prepared, original, calibration, folder):
        self.model = load_model_with_shape_infer(prepared)
        self.original = original
        self.network = Network(self.model)
        self.folder = folder
        self.rounds_heads = False
        calibrator = create_calibrator(prepared, OPERATORS,
                                       augmented_model_path=str(folder / "augmented.onnx"))
        calibrator.collect_data(Frames(calibration, self.model))
        self.ranges = calibrator.compute_data()
        for node in self.network.nodes:
            if node.name in self.network.heads:
                head = self.ranges[node.output[0]]
                head.lowest = np.maximum(head.lowest, np.float32(-FARTHEST_LOGIT))
                head.highest = np.minimum(head.highest, np.float32(FARTHEST_LOGIT))

    def write(self, path, stay_float):
        """Writes the network with all nodes in 8 bits but those named."""
        quantiser = QDQQuantizer(
            copy.deepcopy(self.model), per_channel=True, reduce_range=False,
            weight_qType=QuantType.QInt8, activation_qType=QuantType.QUInt8,
            tensors_range=self.ranges, nodes_to_quantize=[],
            nodes_to_exclude=list(stay_float) + self.network.floats,
            op_types_to_quantize=OPERATORS, extra_options={})
        quantiser.quantize_model()
        model = quantiser.model.model
        if not self.rounds_heads:
            unround_heads(model, self.network.heads)
        used = {node.domain for node in model.graph.node}
        imports = [entry for entry in model.opset_import
                   if entry.domain in used or entry.domain in ("", "ai.onnx")]
        del model.opset_import[:]
        model.opset_import.extend(imports)
        del model.metadata_props[:]
        model.metadata_props.extend(self.original.metadata_props)
        onnx.save(model, path)


def unround_heads(model, heads):
    """Takes the rounding off what the last layers give."""
    nodes = {output: node for node in model.graph.node for output in node.output}
    renamed = {}
    gone = set()
    for read in model.graph.node:
        rounded = nodes.get(read.input[0]) if read.op_type == "DequantizeLinear" else None
        if rounded is None or rounded.op_type != "QuantizeLinear":
            continue
        made_by = nodes.get(rounded.input[0])
        if made_by is None or made_by.name not in heads:
            continue
        gone.update({read.name, rounded.name})
        renamed[read.output[0]] = (rounded.input[0], made_by)
    outputs = {output.name for output in model.graph.output}
    kept = [node for node in model.graph.node if node.name not in gone]
    for rounded, (plain, made_by) in renamed.items():
        if rounded in outputs:  # the layer gives the output itself
            made_by.output[0] = rounded
        else:
            for node in kept:
                for i, name in enumerate(node.input):
                    if name == rounded:
                        node.input[i] = plain
    del model.graph.node[:]
    model.graph.node.extend(kept)


def agreement_of(agreement):
    if "value" not in agreement:
        raise Refusal("the network finds nothing in the held-out frames, so nothing can agree: take "
                      "clips that show what it looks for")
    return agreement["value"]


class Times:
    """Of networks in ms a frame, from rounds in which each has its turn: what disturbs the machine
    for a while disturbs all of them."""

    def __init__(self, programs, files, frames, rounds):
        self.rounds = []
        for number in range(rounds):
            self.rounds.append([programs.time(file, frames) for file in files])
            if number in (0, rounds // 2):
                step(f"  round {number + 1} of {rounds}")

    def of(self, index):
        """(median, first and third quartile)"""
        each = [times[index] for times in self.rounds]
        return tuple(float(q) for q in np.percentile(each, [50, 25, 75]))

    def difference(self, index, other):
        """The median of how much longer one takes than another in the same round; None if not
        all rounds agree which does."""
        each = [times[index] - times[other] for times in self.rounds]
        agree = min(each) > 0 or max(each) < 0
        return float(np.median(each)) if agree else None

    def is_noisy(self):
        for index in range(len(self.rounds[0])):
            median, low, high = self.of(index)
            if high - low > NOISY * median:
                return True
        return False


def find_sensitivity(quantiser, programs, arguments, few, folder):
    """Layers, those that hurt most first, with the relative error that each alone causes."""
    layers = list(quantiser.network.layers)
    step(f"finding out which of {len(layers)} layers hurt")
    path = folder / "one.onnx"
    errors = {}
    for number, layer in enumerate(layers, start=1):
        quantiser.write(path, quantiser.network.all_but(layer))
        agreement = programs.agreement(path, arguments.model, few, decoder="raw")
        errors[layer] = agreement.get("relative_l2", 0.0)
        if number % 10 == 0 or number == len(layers):
            step(f"  {number} of {len(layers)}")
    return sorted(errors.items(), key=lambda item: -item[1])


def choose_heads(quantiser, programs, arguments, held_out, folder):
    """Rounds what the last layers give as well where that saves memory and next to no agreement:
    a detector's maps, which are read as bytes."""
    path = folder / "heads.onnx"
    found = []
    for quantiser.rounds_heads in (False, True):
        quantiser.write(path, set())
        found.append(programs.agreement_and_memory(path, arguments.model, held_out))
    (plain, plain_bytes), (rounded, rounded_bytes) = found
    saves = rounded_bytes < WORTH_ROUNDING * plain_bytes
    quantiser.rounds_heads = saves and rounded >= plain - MOST_LOST_BY_HEADS
    if saves:
        step(f"the last layers' maps in 8 bits as well: {rounded_bytes / 1e6:.1f} MB of maps instead "
             f"of {plain_bytes / 1e6:.1f}, agreement {rounded:.4f} instead of {plain:.4f}: "
             f"{'so they are' if quantiser.rounds_heads else 'they stay floats'}")


def search(quantiser, programs, arguments, held_out, few, folder):
    """Leaves layers in fp32 until the answers agree. Returns all that was tried."""
    tried = []

    def attempt(stay_float):
        path = folder / f"try-{len(tried)}.onnx"
        nodes = {node for layer in stay_float for node in quantiser.network.layers[layer]}
        quantiser.write(path, nodes)
        agreement = programs.agreement(path, arguments.model, held_out)
        tried.append({"float_layers": list(stay_float), "agreement": agreement_of(agreement),
                      "measure": agreement["measure"],
                      "frames_with_evidence": agreement.get("frames_with_evidence",
                                                            agreement["frames"]), "file": path})
        return tried[-1]

    best = attempt([])
    step(f"all {len(quantiser.network.layers)} layers in 8 bits: {text_of(best)}")
    if best["agreement"] >= arguments.agreement or arguments.most_float == 0:
        return tried
    ranking = find_sensitivity(quantiser, programs, arguments, few, folder)
    for layer, error in ranking[:8]:
        step(f"  {layer} alone: relative error {error:.4f}")
    chosen = []
    for layer, _ in ranking[:arguments.most_float]:
        before = tried[-1]
        chosen.append(layer)
        now = attempt(chosen)
        gain = now["agreement"] - before["agreement"]
        if gain < 0:  # nothing is won by what it costs
            step(f"{layer} stays in 8 bits, as in fp32: {text_of(now)}, {gain:+.4f}")
            chosen.pop()
            tried.pop()
            continue
        step(f"{layer} stays fp32: {text_of(now)}, {gain:+.4f}")
        if now["agreement"] >= arguments.agreement:
            break
    return tried


def text_of(figures):
    return (f"{figures['measure']} {figures['agreement']:.4f} over "
            f"{figures['frames_with_evidence']} frames that show anything")


def time_all(programs, original, tried, frames, rounds):
    """Adds to all that was tried what a frame takes, and what its last fp32 layer costs. Returns
    the original's times."""
    step(f"timing the original and {len(tried)} network(s), in {rounds} rounds")
    times = Times(programs, [original] + [point["file"] for point in tried], frames, rounds)
    for index, point in enumerate(tried, start=1):
        point["ms"], *point["ms_quartiles"] = times.of(index)
        point["last_layer_ms"] = times.difference(index, index - 1) if index > 1 else None
    if times.is_noisy():
        step(f"  the machine is busy: of some network, the middle half of the {rounds} times "
             f"spreads by more than {NOISY:.0%}")
    return times.of(0)


def say_costs(tried):
    """What each layer in fp32 brings and costs."""
    for before, point in zip(tried, tried[1:]):
        ms = point["last_layer_ms"]
        cost = "a time below what this can measure" if ms is None else f"{ms:+.2f} ms a frame"
        gain = point["agreement"] - before["agreement"]
        print(f"  {point['float_layers'][-1]} in fp32: {gain:+.4f} for {cost}")


def picture_of(points, original_ms, target):
    """An SVG: agreement against time."""
    width, height, left, bottom = 640, 400, 70, 50
    times = [point["ms"] for point in points] + [original_ms]
    levels = [point["agreement"] for point in points] + [1.0, target]
    most_ms = 1.05 * max(times)
    least = max(0.0, min(levels) - 0.1 * (1.0 - min(levels)) - 0.005)

    def place(ms, agreement):
        x = left + (width - left - 20) * ms / most_ms
        y = 20 + (height - bottom - 20) * (1.0 - agreement) / (1.0 - least)
        return x, y

    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             'font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="white"/>']

    def line(begin, end, style):
        lines.append(f'<line x1="{begin[0]:.1f}" y1="{begin[1]:.1f}" x2="{end[0]:.1f}" '
                     f'y2="{end[1]:.1f}" {style}/>')

    def text(at, what, anchor="start"):
        lines.append(f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{anchor}">'
                     f"{html.escape(what)}</text>")

    line(place(0, least), place(most_ms, least), 'stroke="black"')
    line(place(0, least), place(0, 1.0), 'stroke="black"')
    for part in range(6):
        level = least + (1.0 - least) * part / 5
        x, y = place(0, level)
        text((x - 6, y + 4), f"{level:.3f}", "end")
        ms = most_ms * part / 5
        x, y = place(ms, least)
        text((x, y + 18), f"{ms:.1f}", "middle")
    text((width / 2, height - 8), "ms of a dense frame", "middle")
    text((6, 14), points[0]["measure"])
    line(place(0, target), place(most_ms, target), 'stroke="gray" stroke-dasharray="4 4"')
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in
                    (place(point["ms"], point["agreement"]) for point in points))
    lines.append(f'<polyline points="{path}" fill="none" stroke="steelblue"/>')
    for point in points:
        x, y = place(point["ms"], point["agreement"])
        lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="steelblue"/>')
        text((x + 6, y - 6), f"{len(point['float_layers'])} fp32")
        low, high = (place(ms, point["agreement"]) for ms in point["ms_quartiles"])
        line(low, high, 'stroke="steelblue"')
    x, y = place(original_ms, 1.0)
    lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="black"/>')
    text((x - 6, y + 16), "original", "end")
    return "\n".join(lines + ["</svg>"]) + "\n"


def check_runs_elsewhere(path, sample):
    """The result must run in ONNX Runtime, too."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    session.run(None, sample)


def check_output(out):
    """Refuses early what cannot be written after minutes of work."""
    for path in (out, out.with_suffix(".svg"), out.with_suffix(".json")):
        if path.is_dir():
            raise Refusal(f"{path} is a folder: name another file with --out")
    try:
        with tempfile.NamedTemporaryFile(dir=out.parent):
            pass
    except OSError as error:
        raise Refusal(f"nothing can be written into {out.parent} ({error.strerror}): name another "
                      "file with --out") from error


def write_results(best, tried, original_times, arguments):
    """The network, the picture and the table: all or none."""
    out = arguments.out
    table = [{key: value for key, value in point.items() if key != "file"} for point in tried]
    report = {"original_ms": original_times[0], "original_ms_quartiles": original_times[1:],
              "rounds": arguments.rounds, "target": arguments.agreement, "tried": table}
    parts = {out: best["file"].read_bytes(),
             out.with_suffix(".svg"):
                 picture_of(tried, original_times[0], arguments.agreement).encode(),
             out.with_suffix(".json"): json.dumps(report, indent=2).encode()}
    written = []
    try:
        for path, contents in parts.items():
            written.append(path.with_name(path.name + ".part"))
            written[-1].write_bytes(contents)
        for path, part in zip(parts, written):
            part.replace(path)
    except OSError as error:
        for part in written:
            part.unlink(missing_ok=True)
        raise Failure(f"{out} cannot be written ({error.strerror}): make room, or name a file on "
                      "another disk with --out") from error


def make_quantiser(original, calibration, folder):
    try:
        return Quantiser(prepare(original, folder), original, calibration, folder)
    except (Refusal, OSError):
        raise
    except Exception as error:  # of ONNX Runtime's quantiser: of any kind
        raise Failure("ONNX Runtime's quantiser does not take this network "
                      f"({type(error).__name__}: {one_line(error)}); export it again, with another "
                      "operator set, or quantise it by the tools of its own project") from error


def quantise(arguments, folder):
    logging.getLogger().setLevel(logging.ERROR)
    original = read_model(arguments.model)
    check_output(arguments.out)
    programs = Programs(arguments, folder)
    step(f"taking frames of {', '.join(arguments.clips)}")
    calibration, held_out, few = take_frames(programs, arguments, folder)
    own = programs.agreement(arguments.model, arguments.model, held_out)
    agreement_of(own)
    shows = own.get("frames_with_evidence", own["frames"])
    if shows < LEAST_EVIDENCE:
        step(f"only {shows} of {own['frames']} held-out frames show anything, so that agreement says "
             "little: more frames (--frames) or other clips say more")
    step(f"calibrating on {len(calibration)} frames; {own['frames']} are held out")
    quantiser = make_quantiser(original, calibration, folder)
    choose_heads(quantiser, programs, arguments, held_out, folder)
    tried = search(quantiser, programs, arguments, held_out, few, folder)
    timed = folder / "timed"
    timed.mkdir()
    for picture in sorted(held_out.iterdir())[:TIMED_FRAMES]:
        shutil.copy(picture, timed)
    original_times = time_all(programs, arguments.model, tried, timed, arguments.rounds)
    reached = [point for point in tried if point["agreement"] >= arguments.agreement]
    best = reached[0] if reached else max(tried, key=lambda point: point["agreement"])
    check_runs_elsewhere(best["file"], Frames(calibration[:1], quantiser.model).get_next())
    write_results(best, tried, original_times, arguments)
    step(f"{arguments.out}: {text_of(best)}, {best['ms']:.2f} ms a frame where the original takes "
         f"{original_times[0]:.2f} (medians of {arguments.rounds} rounds); picture: "
         f"{arguments.out.with_suffix('.svg')}")
    say_costs(tried)
    for layer in best["float_layers"]:
        print(f"  fp32: {layer}")
    if reached:
        return 0
    left = len(quantiser.network.layers) - len(tried[-1]["float_layers"])
    print(f"quantize: an agreement of {arguments.agreement} is not reached: with "
          f"{len(best['float_layers'])} layer(s) in fp32, {best['measure']} is "
          f"{best['agreement']:.4f}, and that network is written; "
          + (f"more layers in fp32 (--most-float, {left} are left), m" if left > 0 else "m")
          + "ore frames (--frames) or other clips may help", file=sys.stderr)
    return 1


def main():
    arguments = parse_arguments()
    try:
        with tempfile.TemporaryDirectory(prefix="cacheinf-quantize-") as folder:
            return quantise(arguments, pathlib.Path(folder))
    except Refusal as error:
        print(f"quantize: {error}", file=sys.stderr)
        return 2
    except Failure as error:
        print(f"quantize: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        remedy = (": make room there, or set TMPDIR to a folder on another disk"
                  if error.errno == errno.ENOSPC else "")
        print(f"quantize: {error.filename or tempfile.gettempdir()} cannot be used "
              f"({error.strerror}){remedy}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("quantize: stopped; nothing is written", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
