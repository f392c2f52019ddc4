#!/usr/bin/env python3
"""Makes one side's profile from a table of operators' times, as the authors of the CacheInf paper
published them: {"model", "robot", "server", "ops": [{"id", "op", "inputs", "shapes", "local",
"robot_ms", "server_ms"}, …]}, with PyTorch's names of operators. `_start` gives the picture, `_end`
takes the outputs; a missing shape is the first input's. Prints what the table does not say and is
assumed instead, a line each. The files are trusted.

  profile_of_table.py TABLE SIDE OUT [REFERENCE]...

The references are tables with times of both sides: they say how much faster the server is, where
TABLE lacks its times.
"""
import json
import math
import sys

# Assumed where a table says nothing. For codecs: design figures of JPEG 85 and x264, and their times
# on a core of a server of 2020; a robot takes three times as long.
FIXED_MS = 0.02  # part of every operator's time, or all of it if less
COPY_BYTES_PER_MS = 1e6
JPEG_BITS_PER_PIXEL, VIDEO_OF_JPEG = 2.3, 0.1
JPEG_NS_PER_PIXEL, VIDEO_NS_PER_PIXEL, DECIDE_NS_PER_PIXEL = 2.2, 5.0, 2.3
ROBOT_SLOWER = 3
LARGEST_SIZE = 1 << 16
SLIDING = "conv2d", "conv3d", "max_pool2d", "avg_pool2d"


def rounded(number):
    """To five digits, as the profiler rounds."""
    if number == 0:
        return 0.0
    unit = 10.0 ** math.floor(math.log10(abs(number)))
    scale = math.floor(number / unit * 1e4 + 0.5)
    return scale * unit / 1e4 if unit >= 1 else scale / (1e4 / unit)


def curve(*points):
    return {"x": [float(x) for x, _ in points], "y": [float(y) for _, y in points]}


def from_zero_to(y):
    return curve((0, 0), (1, rounded(y)))


def kapao_kernels():
    """Of Kapao's convolutions and pools, in the order in which scripts/models/kapao.py runs them."""
    c3 = lambda depth: [1] + [1, 3] * depth + [1, 1]
    return ([3, 3] + c3(3) + [3] + c3(9) + [3] + c3(9) + [3] + c3(3) + [3, 1, 3, 5, 7, 1]  # pools
            + c3(3) + ([1] + c3(3)) * 3 + ([3] + c3(3)) * 3 + [1, 1, 1, 1])


def window(kind, size_in, size_out, kernel=1, stride=1, pad=0):
    made = {"kind": kind, "in": size_in, "out": size_out, "kernel": kernel, "stride": stride,
            "pad_begin": pad, "pad_end": pad, "dilation": 1, "tile": 1}
    if kind == "resize":
        made["resize"] = {"kind": "nearest", "coordinates": "asymmetric",
                          "rounding": "floor", "scale": size_out / size_in}
    return made


def sliding(size_in, size_out, kernel):
    stride = max(1, (size_in + size_out // 2) // size_out)
    kernel = kernel or max(3, stride)
    return window("sliding", size_in, size_out, kernel, stride,
                  (kernel - 1) // 2 if kernel > stride else 0)


def window_in(op, size_in, size_out, kernel):
    if op in SLIDING:
        return sliding(size_in, size_out, kernel)
    if op == "conv_transpose2d" and size_out > size_in:
        return window("transposed", size_in, size_out, 3, size_out // size_in, 1)
    if op == "interpolate" and size_in != size_out:
        return window("resize", size_in, size_out)
    if size_in == size_out:
        return window("sliding", size_in, size_out)
    if size_in == 1:
        return window("broadcast", size_in, size_out)
    if op == "__getitem__" and size_in % size_out == 0:  # every nth row
        return sliding(size_in, size_out, size_in // size_out)
    return window("whole", size_in, size_out)


def follow_rows(op, shape, shape_in, axis, rows):
    """Where the rows of an input lie in a result of this shape; axis -1: nowhere."""
    at = lambda i: shape[i] if 0 <= i < len(shape) else 0
    if axis < 0:
        return -1, 1
    if op == "permute":  # channels come last, or first again; any axis of that size will do
        axis = next((i for i in (3 - axis, axis, 2, 1, 3) if i > 0 and at(i) == rows), -1)
    elif len(shape) != len(shape_in):  # counted from the end
        axis += len(shape) - len(shape_in)
        axis = axis if at(axis) == rows else -1
    elif op in SLIDING and len(shape) == 4:
        axis = 2
    return (axis, at(axis)) if axis > 0 and 1 <= at(axis) <= LARGEST_SIZE else (-1, 1)


def main():
    table_path, side, out, *references = sys.argv[1:]
    with open(table_path) as file:
        table = json.load(file)
    ops = table["ops"]
    for op in ops:
        op["shape"] = op["shapes"][0] if op["shapes"] else next(
            other["shape"] for other in ops if other["id"] == op["inputs"][0])
    times = 1 if side == "server" else ROBOT_SLOWER
    speedup = 0
    if side == "server" and any(op["server_ms"] is None for op in ops[1:-1]):
        both = [op for path in references for op in json.load(open(path))["ops"]
                if op.get("server_ms") is not None]
        speedup = sum(op["robot_ms"] for op in both) / sum(op["server_ms"] for op in both)

    slides = sum(op["op"] in SLIDING for op in ops)
    kernels = kapao_kernels()
    kernels = kernels if table["model"] == "kapao" and slides == len(kernels) else []
    next_kernel = iter(kernels)
    picture = ops[0]["shape"]
    is_picture = len(picture) == 4 and picture[1] in (1, 3)
    # By id: number of the operator (-1: the picture), shape, axis and number of rows, bytes a number.
    known = {ops[0]["id"]: (-1, picture, 2, min(picture[2], LARGEST_SIZE), 4)}
    operators = []
    without_rows = 0
    for op in ops[1:-1]:
        shape, inputs = op["shape"], [known[i] for i in op["inputs"]]
        axis, rows = -1, 1
        for _, shape_in, in_axis, in_rows, _ in inputs:
            if axis < 0:
                axis, rows = follow_rows(op["op"], shape, shape_in, in_axis, in_rows)
        is_local = op["local"] and axis >= 0 and all(of[2] >= 0 for of in inputs)
        without_rows += op["local"] and not is_local
        kernel = next(next_kernel) if op["op"] in SLIDING and kernels else 0
        kind, reads = op["op"], []
        for number, _, _, in_rows, _ in inputs:
            seen = (window_in(op["op"], in_rows, rows, kernel) if is_local
                    else window("whole", in_rows, rows))
            is_local = is_local and seen["kind"] != "whole"
            if op["op"] in SLIDING and is_local:
                kind = f"{op['op']} {seen['kernel']}/{seen['stride']}"
            reads.append({"from": number, "rows": seen})
        # Numbers of classes fit into bytes.
        is_classes = bool(inputs) and (
            op["op"] == "argmax" and math.prod(inputs[0][1]) <= 256 * math.prod(shape)
            or op["op"] == "type" and inputs[0][4] == 1)
        known[op["id"]] = (len(operators), shape, axis, rows, 1 if is_classes else 4)
        size = (1 if is_classes else 4) * math.prod(shape)
        time = op["robot_ms"] if side == "robot" else op["server_ms"]
        dense_ms = rounded(op["robot_ms"] / speedup if time is None else time)
        copy_ms = size / COPY_BYTES_PER_MS
        operators.append({
            "name": f"{op['op']}_{op['id']}", "kind": kind, "inputs": reads, "rows": rows,
            "row_bytes": size // rows, "is_local": is_local, "is_kept": True, "is_output": False,
            "is_view": False, "ms": curve((0, min(FIXED_MS, dense_ms)), (1, dense_ms)),
            "dense_ms": dense_ms, "refresh_ms": from_zero_to(dense_ms),
            "active": from_zero_to(1) if is_local else curve((0, 0), (1e-3, 1)),
            "slice_bytes": from_zero_to(size), "encode_ms": from_zero_to(copy_ms),
            "decode_ms": from_zero_to(copy_ms), "whole_bytes": size,
            "whole_encode_ms": rounded(copy_ms), "whole_decode_ms": rounded(copy_ms)})
    answer_bytes = 0
    for output in ops[-1]["inputs"]:
        number, shape, _, _, bytes_each = known[output]
        if number >= 0:
            operators[number]["is_output"] = True
            answer_bytes += bytes_each * math.prod(shape)

    pixels = picture[-1] * picture[-2]
    picture_bytes = math.prod(picture) * (1 if is_picture else 4)
    codecs = [("raw", picture_bytes, 0)]
    assumptions = []
    if is_picture:
        jpeg_bytes = JPEG_BITS_PER_PIXEL * pixels / 8
        codecs += [("jpeg:85", jpeg_bytes, JPEG_NS_PER_PIXEL),
                   ("video", VIDEO_OF_JPEG * jpeg_bytes, VIDEO_NS_PER_PIXEL)]
        assumptions.append(
            f"JPEG 85 has {JPEG_BITS_PER_PIXEL} bits a pixel, video a tenth of its bytes; coding "
            f"takes {JPEG_NS_PER_PIXEL} and {VIDEO_NS_PER_PIXEL:g} ns a pixel on the server, "
            f"{ROBOT_SLOWER} times as long on the robot, as does deciding at {DECIDE_NS_PER_PIXEL} "
            "ns a pixel")
    has_classes = any(of[4] == 1 for of in known.values())
    assumptions += [
        "an operator takes time proportional to the pixels that it computes, but for a fixed part "
        f"of {FIXED_MS} ms",
        "the same share of the picture changes and of every map is computed; what is not local is "
        "computed whole if anything changes; a refresh takes what computing takes",
        f"slices cross as 32-bit floats{', classes as bytes' if has_classes else ''}, coded and "
        f"decoded at {COPY_BYTES_PER_MS / 1e6:g} GB/s; what crosses of the input as "
        + ("bytes, since it is a picture" if is_picture else "floats"),
        "kernels of convolutions and pools are those of scripts/models/kapao.py, in their order, "
        "strides the ratio of the shapes" if kernels else
        "convolutions and pools are 3×3, or as large as their stride if that is larger, their "
        "stride is the ratio of the shapes, and maps keep their size but for that",
        "transposed convolutions are 3×3, interpolation is to the nearest pixel"]
    if without_rows:
        assumptions.append(f"{without_rows} operators that the table calls local have no rows of "
                           "the picture, and run whole on one side")
    if speedup:
        assumptions.append(f"the server, of which there are no times, is {speedup:.1f} times as "
                           "fast as the robot, as it is on the tables that have both")
    coded_ms = lambda ns: rounded(times * ns * pixels / 1e6)
    profile = {
        "format": "cacheinf profile", "version": 4, "side": side, "model": table["model"],
        "model_checksum": "0" * 16, "settings": "imported", "sampled": "",
        "machine": table.get(side) or "a server", "machine_fingerprint": "imported", "build": "",
        "backend": "imported", "threads": 1, "slice_codec": "raw", "winograd_layers": [],
        "winograd_difference": 0.0, "assumptions": assumptions,
        "picture_slice_bytes": from_zero_to(picture_bytes),
        "picture_encode_ms": from_zero_to(picture_bytes / COPY_BYTES_PER_MS),
        "picture_decode_ms": from_zero_to(picture_bytes / COPY_BYTES_PER_MS), "fit_ms": 0.0,
        "decide_ms": curve((0, coded_ms(DECIDE_NS_PER_PIXEL))) if is_picture else curve(),
        "read_ms": 0.0,
        "codecs": [{"codec": name, "bytes": curve((0, rounded(size))), "encode_ms": coded_ms(ns),
                    "decode_ms": coded_ms(ns), "seen": curve()} for name, size, ns in codecs],
        "answer_bytes": answer_bytes,
        "answer_encode_ms": rounded(answer_bytes / COPY_BYTES_PER_MS),
        "answer_decode_ms": rounded(answer_bytes / COPY_BYTES_PER_MS)}
    for key in ("computing_watts", "sending_watts", "waiting_watts", "median_error", "p95_error",
                "active_median_error", "active_p95_error"):
        profile[key] = 0.0
    profile["operators"] = operators
    with open(out, "w") as file:
        json.dump(profile, file)
    for assumption in assumptions:
        print("assumed:", assumption)


main()
