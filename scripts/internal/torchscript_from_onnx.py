"""Makes TorchScript files of networks that exist only as ONNX, to measure LibTorch on them.

    torchscript_from_onnx.py --pnnx PROGRAM --out DIR FILE.onnx[=1x3x240x320]...

Give the shape of the only input if the file leaves it open. Files newer than their ONNX files are
left alone. Run it with a Python that has PyTorch and onnx.
"""

import argparse
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

import onnx
import torch


def input_shape(file):
    graph = onnx.load(file, load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    (value,) = [value for value in graph.input if value.name not in constants]
    return [dim.dim_value for dim in value.type.tensor_type.shape.dim]


def load_module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make(pnnx, file, shape, target):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "net.onnx").symlink_to(file.resolve())
        done = subprocess.run(
            [pnnx, "net.onnx", f"inputshape=[{','.join(map(str, shape))}]f32", "fp16=0"],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        written = folder / "net_pnnx.py"
        if done.returncode != 0 or not written.exists():
            raise SystemExit(f"pnnx cannot read {file}: {done.stderr.strip().splitlines()[-1:]}")
        # It finds its weights by their path.
        text = written.read_text().replace("net.pnnx.bin", str(folder / "net.pnnx.bin"))
        written.write_text(text)
        net = load_module(written).Model().float().eval()
        # Denormal weights, which slow processors down, become zero as in our own importer.
        for parameter in [*net.parameters(), *net.buffers()]:
            parameter.requires_grad_(False)
            if parameter.is_floating_point():
                parameter[parameter.abs() < 1e-20] = 0.0
        traced = torch.jit.trace(net, torch.rand(shape), check_trace=False)
        temporary = target.with_suffix(".part")
        traced.save(str(temporary))
        temporary.replace(target)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pnnx", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("networks", nargs="+")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for network in options.networks:
        path, _, shape = network.partition("=")
        file = pathlib.Path(path)
        target = options.out / f"{file.stem}.pt"
        if target.exists() and target.stat().st_mtime > file.stat().st_mtime:
            continue
        dims = [int(size) for size in shape.split("x")] if shape else input_shape(file)
        print(f"{target} from {file}", file=sys.stderr)
        make(options.pnnx, file, dims, target)


if __name__ == "__main__":
    main()
