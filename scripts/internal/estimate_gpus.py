#!/usr/bin/env python3
"""Writes docs/measurements/cuda.md: what a compiler made of the main kernels, how many of their warps
fit, and how long two networks take at least on three GPUs. These are estimates and need no GPU. Run
first

  scripts/internal/check_kernels --arch 75 --arch 80 --arch 86 --arch 87 --arch 89 --arch 90 --arch 90a
  cacheinf-profile inspect yolov5n_384x640.onnx --json build/yolov5n.json
"""

import argparse
import json
import pathlib
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

# Limits of a multiprocessor: threads, blocks, bytes of shared memory, and bytes of it that a block
# takes besides its own. All have 65536 registers, given to warps by 256. (CUDA C++ Programming Guide,
# "Technical Specifications per Compute Capability".)
LIMITS = {
    75: (1024, 16, 64 << 10, 0),
    80: (2048, 32, 164 << 10, 1 << 10),
    86: (1536, 16, 100 << 10, 1 << 10),
    87: (1536, 16, 164 << 10, 1 << 10),
    89: (1536, 24, 100 << 10, 1 << 10),
    90: (2048, 32, 228 << 10, 1 << 10),
}

# FP32 without matrix instructions in TFLOP/s, memory in GB/s, and the source.
GPUS = {
    "Jetson AGX Orin": (5.3, 204.8, "NVIDIA Jetson AGX Orin Series Technical Brief (64 GB)"),
    "RTX 2080 Ti": (13.4, 616.0, "NVIDIA Turing GPU Architecture whitepaper (reference clock)"),
    "H100 SXM": (66.9, 3350.0, "NVIDIA H100 Tensor Core GPU Architecture whitepaper and datasheet"),
}

ACTIVE = 0.1


def resident_warps(arch, threads, registers, shared_bytes):
    """How many warps of a kernel fit on a multiprocessor at once, and the most that it can hold."""
    most_threads, most_blocks, most_shared, extra_shared = LIMITS[arch]
    warps = threads // 32
    warp_registers = -(-registers * 32 // 256) * 256
    blocks = min(
        most_blocks,
        most_threads // threads,
        65536 // warp_registers // warps,
        most_shared // (shared_bytes + extra_shared) if shared_bytes else most_blocks,
    )
    return blocks * warps, most_threads // 32


def read_logs(folder, arch):
    """Registers and spilled bytes by mangled name."""
    rows = {}
    for path in files_of(folder, arch):
        for line in path.read_text().splitlines():
            name, registers, spilled = line.split()
            rows[name] = (int(registers), int(spilled))
    return rows


def files_of(folder, arch):
    # Kernels of warpgroups are compiled for 90a alone.
    names = [arch] if arch < 90 else [arch, f"{arch}a"]
    return [folder / f"conv_{name}.txt" for name in names]


def kernel_table(program, logs):
    kernels = subprocess.run([program, "kernels"], check=True, capture_output=True, text=True)
    lines = ["| kernel | shared memory | " + " | ".join(f"sm_{a}" for a in LIMITS) + " |",
             "|---|---|" + "---|" * len(LIMITS)]
    found = {arch: read_logs(logs, arch) for arch in LIMITS}
    for line in kernels.stdout.splitlines():
        name, mangled, threads, shared, least_arch = line.split("\t")
        cells = []
        for arch, rows in found.items():
            if arch < int(least_arch):
                cells.append("-")  # no such matrix instructions
                continue
            matches = [facts for key, facts in rows.items() if mangled in key]
            if len(matches) != 1:
                sys.exit(f"{len(matches)} kernels of sm_{arch} match {mangled}")
            registers, spilled = matches[0]
            if spilled:
                sys.exit(f"{name} spills registers on sm_{arch}")
            warps, room = resident_warps(arch, int(threads), registers, int(shared))
            cells.append(f"{registers}: {100 * warps / room:.0f} %")
        kilobytes = f"{int(shared) / 1024:.1f} KB" if int(shared) else "none"
        lines.append(f"| {name} | {kilobytes} | " + " | ".join(cells) + " |")
    return lines


def layers_of(report):
    """Name, operations, bytes of maps, bytes of weights, from what `inspect --json` writes."""
    layers = []
    by_id = {op["id"]: op for op in report["operators"]}
    for op in report["operators"]:
        if op["kind"] == "concat":
            continue  # parts of a concatenation are computed in place
        read = sum(by_id[i]["bytes"] for i in op["reads"])
        if not op["reads"]:
            read = sum(4 * product(value["shape"]) for value in report["inputs"])
        layers.append((op["name"], op["operations"], read + op["bytes"], 4 * op["parameters"]))
    return layers


def product(numbers):
    result = 1
    for number in numbers:
        result *= number
    return result


def resnet101(height, width):
    """The layers of torchvision's resnet101, batch norms folded, sums and ReLUs in convolutions."""
    layers = []

    def conv(name, inputs, outputs, kernel, stride, rows, columns, has_residual=False):
        out_rows, out_columns = rows // stride, columns // stride
        weights = inputs * outputs * kernel * kernel
        pixels = out_rows * out_columns
        maps = rows * columns * inputs + pixels * outputs * (2 if has_residual else 1)
        layers.append((name, 2 * weights * pixels, 4 * maps, 4 * (weights + outputs)))
        return out_rows, out_columns

    rows, columns = conv("conv1", 3, 64, 7, 2, height, width)
    pooled = rows * columns // 4 * 64
    layers.append(("maxpool", 9 * pooled, 4 * (rows * columns * 64 + pooled), 0))
    rows, columns, inputs = rows // 2, columns // 2, 64
    for stage, (blocks, channels) in enumerate([(3, 64), (4, 128), (23, 256), (3, 512)], 1):
        for block in range(blocks):
            name = f"layer{stage}.{block}"
            stride = 2 if block == 0 and stage > 1 else 1
            conv(f"{name}.conv1", inputs, channels, 1, 1, rows, columns)
            if block == 0:
                conv(f"{name}.downsample", inputs, 4 * channels, 1, stride, rows, columns)
            rows, columns = conv(f"{name}.conv2", channels, channels, 3, stride, rows, columns)
            inputs = 4 * channels
            conv(f"{name}.conv3", channels, inputs, 1, 1, rows, columns, has_residual=True)
    layers.append(("avgpool", rows * columns * inputs, 4 * rows * columns * inputs, 0))
    layers.append(("fc", 2 * inputs * 1000, 4 * (inputs + 1000), 4 * 1001 * inputs))
    return layers


def least_ms(layer, gpu, active):
    """The roofline: the time of computing or of memory, whichever is longer."""
    _, operations, map_bytes, weight_bytes = layer
    tera_flops, giga_bytes, _ = GPUS[gpu]
    computing = active * operations / (tera_flops * 1e9)
    memory = (active * map_bytes + weight_bytes) / (giga_bytes * 1e6)
    return max(computing, memory), memory > computing


def network_tables(name, layers):
    gigas = sum(layer[1] for layer in layers) / 1e9
    lines = [f"### {name}", "",
             f"{len(layers)} operators, {gigas:.1f} GFLOP. Of all of them, and of one of each kind of the ten "
             f"that together take most, ms with everything active / with {100 * ACTIVE:.0f} % (m: memory "
             "takes longer than computing):", "",
             "| operator | MFLOP | " + " | ".join(GPUS) + " |", "|---|---|" + "---|" * len(GPUS)]
    totals = []
    for gpu in GPUS:
        dense, sparse = (sum(least_ms(layer, gpu, active)[0] for layer in layers)
                         for active in (1.0, ACTIVE))
        totals.append(f"**{dense:.3g} / {sparse:.3g}**")
    lines.append(f"| **all** | {1e3 * gigas:.0f} | " + " | ".join(totals) + " |")
    first = next(iter(GPUS))
    alike = {}
    for layer in layers:
        alike.setdefault(layer[1:], []).append(layer[0].strip("/"))
    rows = [(names, (names[0], *numbers)) for numbers, names in alike.items()]
    rows.sort(key=lambda row: -len(row[0]) * least_ms(row[1], first, 1.0)[0])
    for names, layer in rows[:10]:
        cells = []
        for gpu in GPUS:
            halves = []
            for active in (1.0, ACTIVE):
                ms, by_memory = least_ms(layer, gpu, active)
                halves.append(f"{ms:.2g}" + (" m" if by_memory else ""))
            cells.append(" / ".join(halves))
        others = f" and {len(names) - 1} like it" if len(names) > 1 else ""
        lines.append(f"| {names[0]}{others} | {layer[1] / 1e6:.0f} | " + " | ".join(cells) + " |")
    return lines + [""]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default="build/gpu/bin/cacheinf-gpu-check",
                        help="of a build with CACHEINF_ONLY_GPU (default: %(default)s)")
    parser.add_argument("--logs", type=pathlib.Path, default="build/kernels",
                        help="of check_kernels (default: %(default)s)")
    parser.add_argument("--yolov5n", type=pathlib.Path, default="build/yolov5n.json",
                        help="what inspect wrote (default: %(default)s)")
    parser.add_argument("--out", type=pathlib.Path,
                        default=REPOSITORY / "docs/measurements/cuda.md")
    options = parser.parse_args()
    if not all(path.exists() for arch in LIMITS for path in files_of(options.logs, arch)):
        sys.exit(f"{options.logs} has not the logs of all architectures (--help)")

    lines = ["# Kernels for GPUs", "",
             "**Estimates**: what nvcc made of the kernels, and the least time "
             "that arithmetic and memory allow. What an H100 takes is in gpu.md.", "",
             "```", "scripts/gpu-check build",
             "scripts/internal/check_kernels " + " ".join(f"--arch {arch}" for arch in [*LIMITS, "90a"]),
             "cacheinf-profile inspect yolov5n_384x640.onnx --json build/yolov5n.json",
             "scripts/internal/estimate_gpus.py", "```", "",
             "## Registers, shared memory, occupancy", "",
             "Registers of a thread, and how many of the warps for which a multiprocessor has room are "
             "there at once, by registers, shared memory, threads and blocks. Nothing is spilled. Narrow "
             "kernels are for up to 32 output channels and middle ones for up to 64, which test in their "
             "epilogue what changed; wide ones leave that to a kernel of its own. Those of warpgroups are "
             "compiled for 90a.", ""]
    lines += kernel_table(options.program, options.logs)
    lines += ["", "## Rooflines", "",
              "Of each operator the larger of two times: its operations in FP32 (the exact kernels use no "
              "matrix instructions), and its bytes, each map read and written once, weights read once "
              "however few pixels are active. Launches, halos and masks come on top: a real frame is "
              "slower, on small maps by far.", "",
              "| GPU | FP32 | memory | by |", "|---|---|---|---|"]
    lines += [f"| {gpu} | {flops} TFLOP/s | {memory:g} GB/s | {source} |"
              for gpu, (flops, memory, source) in GPUS.items()]
    lines.append("")
    lines += network_tables("yolov5n, 384x640", layers_of(json.loads(options.yolov5n.read_text())))
    lines += network_tables("resnet101, 480x640", resnet101(480, 640))
    options.out.write_text("\n".join(lines).rstrip() + "\n")
    print(options.out)


if __name__ == "__main__":
    main()
