"""Exports networks as ONNX and TorchScript files. Run it through scripts/export_models."""

import argparse
import hashlib
import json
import os
import pathlib
import sys
import time
import warnings

import onnxruntime
import torch
import torchvision
from torch import nn
from torch.nn import functional

from kapao import Kapao
from mobilenet_v1 import MobileNetV1
from sconet import SCONet

TABLE = pathlib.Path(__file__).parents[2] / "tests" / "parity" / "models.json"
OPSET = 17
SEED = 20240521
# Raised when the files of the same network, seed and versions come out different.
RECIPE = 1
# Means of the norms' biases, 0 for other networks. A hundred SiLUs in a row on numbers around zero
# amplify rounding beyond any tolerance; around one, where SiLU bends less, they do not.
NORM_BIASES = {"kapao": 1.0}
MAX_ERROR = 1e-4  # of a file against the network itself, relative to the output's range


class OneOutput(nn.Module):
    """Gives one entry of a network's dictionary of outputs."""

    def __init__(self, net, entry):
        super().__init__()
        self.net, self.entry = net, entry

    def forward(self, x):
        return self.net(x)[self.entry]


def deeplab():
    return torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(
        weights=None, weights_backbone=None, aux_loss=None
    )


BUILDERS = {
    "deeplabv3_mobilenet": deeplab,
    "inception_v3": lambda: torchvision.models.inception_v3(
        weights=None, aux_logits=False, init_weights=False
    ),
    "kapao": Kapao,
    "mobilenet_v1": MobileNetV1,
    # Half the published grid, so the attentions are twice as wide, which keeps their tables' sizes.
    "agrnav": lambda: SCONet(attention=(8, 16)),
    "agrnav_local": lambda: SCONet(attention=None),
}


def build(name):
    if name in BUILDERS:
        return BUILDERS[name]()
    return torchvision.models.get_model(name, weights=None)


def pictures(shape, generator):
    """Random inputs with structure at every scale, as pictures have: about zero mean, unit spread."""
    x = torch.zeros(shape)
    flat = (shape[0], -1, *shape[-2:])
    for scale in (1, 4, 16, 64):
        size = [max(1, side // scale) for side in shape[-2:]]
        coarse = torch.randn(*x.view(flat).shape[:2], *size, generator=generator)
        x += functional.interpolate(coarse, shape[-2:], mode="bilinear").view(shape)
    return x / x.std()


def voxels(shape, generator):
    """A grid in which about a tenth of the voxels is occupied, in clumps."""
    coarse = torch.rand(shape[0], 1, *(side // 4 for side in shape[2:]), generator=generator)
    return (functional.interpolate(coarse, shape[2:], mode="nearest") > 0.9).float()


def example(shape, generator):
    return voxels(shape, generator) if len(shape) == 5 else pictures(shape, generator)


def randomise(net, shape, norm_bias, generator):
    """Gives weights under which activations neither vanish nor explode, the same for the same seed."""
    for module in net.modules():
        if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)):
            fan_in = module.weight[0].numel()
            if isinstance(module, nn.ConvTranspose2d):
                # An output sees the inputs whose windows reach it: one in stride² of the taps.
                taps = module.weight[0, 0].numel() / (module.stride[0] * module.stride[1])
                fan_in = module.weight.shape[0] / module.groups * taps
            gain = 1.0 if isinstance(module, nn.Linear) else 2.0
            nn.init.normal_(module.weight, 0, (gain / fan_in) ** 0.5, generator=generator)
            if module.bias is not None:
                nn.init.normal_(module.bias, 0, 0.05, generator=generator)
        elif isinstance(module, (nn.BatchNorm2d, nn.LayerNorm)):
            nn.init.uniform_(module.weight, 0.7, 1.3, generator=generator)
            nn.init.normal_(module.bias, norm_bias, 0.1, generator=generator)
    for name, parameter in net.named_parameters():
        # ConvNeXt starts its blocks near nothing, and criss-cross attention at nothing.
        if name.endswith(("layer_scale", "gamma")):
            nn.init.uniform_(parameter, 0.2, 0.5, generator=generator)

    norms = [module for module in net.modules() if isinstance(module, nn.BatchNorm2d)]
    if norms:
        # The running statistics are those of a batch that goes through once.
        net.eval()
        for norm in norms:
            norm.train()
            norm.momentum = 1.0
        batch = 1 if len(shape) == 5 else 4
        with torch.no_grad():
            net(example((batch, *shape[1:]), generator))
        for norm in norms:
            norm.momentum = 0.1
    net.eval()


def load_weights(net, name, path):
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        if name == "deeplabv3_mobilenet":
            state = {k: v for k, v in state.items() if not k.startswith("aux_classifier.")}
        net.load_state_dict(state)
    except Exception as error:  # whatever torch finds wrong with the file, in one sentence
        text = str(error).strip().splitlines()
        refuse(f"{path} does not hold weights for {name}: {text[0] if text else type(error).__name__}")
    net.eval()


def digest_of_weights(net):
    digest = hashlib.sha256()
    for key, value in sorted(net.state_dict().items()):
        digest.update(key.encode())
        digest.update(value.contiguous().numpy().tobytes())
    return digest.hexdigest()


def count_parameters(name, entry, net):
    """The count of the network as published, checked against the table's."""
    count = sum(p.numel() for p in net.parameters()) + entry.get("unexported_parameters", 0)
    published = entry["parameters"]
    if abs(count - published) > entry.get("tolerance", 0) * published:
        raise SystemExit(f"{name} has {count} parameters, {published} are published")
    return count


def check_random_weights(name, outputs):
    for i, output in enumerate(outputs):
        spread = output.std().item()
        if not 1e-3 < spread < 1e3:  # nor NaN
            raise SystemExit(f"output {i} of {name} is not sound: its spread is {spread}")


def run(net, x):
    with torch.no_grad():
        outputs = net(x)
    return outputs if isinstance(outputs, tuple) else (outputs,)


def check_files(files, folder, x, expected):
    """Runs both files on an input and compares with what the network itself gave."""
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = torch.get_num_threads()
    session_options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        folder / files["onnx"], session_options, providers=["CPUExecutionProvider"]
    )
    answers = {
        "onnx": [torch.from_numpy(y) for y in session.run(None, {"input": x.numpy()})],
        "torchscript": run(torch.jit.load(folder / files["torchscript"]), x),
    }
    for kind, outputs in answers.items():
        for output, truth in zip(outputs, expected, strict=True):
            error = (output - truth).abs().max() / (truth.max() - truth.min())
            if not error < MAX_ERROR:
                raise SystemExit(f"{folder / files[kind]} is off by {error:.2e} of its range")


def write_onnx(net, shape, outputs, dynamic, path):
    axes = {"batch": 0, "height": len(shape) - 2, "width": len(shape) - 1}
    if len(shape) == 5:  # length × height × width, of which the height is the channels
        axes = {"height": 2, "width": 4}
    open_axes = {axes[side]: side for side in dynamic}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            net,
            torch.zeros(shape),
            str(path),
            dynamo=False,
            opset_version=OPSET,
            input_names=["input"],
            output_names=outputs,
            dynamic_axes={"input": open_axes} if open_axes else None,
        )


def write_torchscript(net, shape, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(net, torch.zeros(shape), check_trace=False)
    traced.save(str(path))


def replacing(path, write):
    """Lets `write` make a file beside the path, then puts it there in one step."""
    temporary = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        write(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def export(name, entry, options):
    """Writes the two files of a network; gives what the manifest says of them."""
    shape, test_shape = entry["input_shape"], entry["test_shape"]
    generator = torch.Generator().manual_seed(SEED)
    torch.manual_seed(SEED)  # the constructors draw by chance; what they draw is replaced below
    net = build(name)
    parameters = count_parameters(name, entry, net)
    if options.weights:
        load_weights(net, name, options.weights)
    else:
        randomise(net, test_shape, NORM_BIASES.get(name, 0.0), generator)
    weights_digest = digest_of_weights(net)
    if name == "deeplabv3_mobilenet":
        net = OneOutput(net, "out").eval()
    for parameter in net.parameters():
        parameter.requires_grad_(False)
    trial = example(shape if options.fixed else test_shape, generator)
    outputs = run(net, trial)
    if not options.weights:
        check_random_weights(name, outputs)
    output_names = ["output"] if len(outputs) == 1 else [f"output{i}" for i in range(len(outputs))]

    dynamic = [] if options.fixed else entry["dynamic"]
    files = {"onnx": f"{name}.onnx", "torchscript": f"{name}.pt"}
    replacing(
        options.out / files["onnx"],
        lambda path: write_onnx(net, shape, output_names, dynamic, path),
    )
    replacing(options.out / files["torchscript"], lambda path: write_torchscript(net, shape, path))
    check_files(files, options.out, trial, outputs)
    return {
        **files,
        "parameters": parameters,
        "input_shape": shape,
        "test_shape": shape if options.fixed else test_shape,
        "dynamic": dynamic,
        "outputs": output_names,
        "output_spread": [round(output.std().item(), 4) for output in outputs],
        "weights": origin_of_weights(options),
        "weights_sha256": weights_digest,
        "made_by": maker(name),
        "bytes": {kind: (options.out / file).stat().st_size for kind, file in files.items()},
    }


def origin_of_weights(options):
    if not options.weights:
        return f"random, seed {SEED}"
    if not options.weights.is_file():
        refuse(f"there is no file {options.weights}")
    with options.weights.open("rb") as file:
        return f"{options.weights.name}, sha256 {hashlib.file_digest(file, 'sha256').hexdigest()}"


def maker(name):
    norm_bias = f", norms around {NORM_BIASES[name]}" if name in NORM_BIASES else ""
    return (
        f"recipe {RECIPE}{norm_bias}, opset {OPSET}, torch {torch.__version__.split('+')[0]}, "
        f"torchvision {torchvision.__version__.split('+')[0]}"
    )


def is_exported(name, entry, manifest, options):
    """Whether the files are there, whole, and of the kind asked for."""
    made = manifest.get(name)
    if made is None or made["made_by"] != maker(name):
        return False
    if made["dynamic"] != ([] if options.fixed else entry["dynamic"]):
        return False
    if made["weights"] != origin_of_weights(options):
        return False
    sizes = made["bytes"].items()
    paths = {kind: options.out / made[kind] for kind, _ in sizes}
    return all(paths[kind].is_file() and paths[kind].stat().st_size == size for kind, size in sizes)


def read_manifest(path):
    if not path.is_file():
        return {}
    try:
        return json.loads(path.read_text())
    except ValueError:
        refuse(f"{path} is not valid JSON; delete it to export again")


def write_manifest(path, manifest):
    replacing(path, lambda file: file.write_text(json.dumps(manifest, indent=2) + "\n"))


def print_list(table, manifest, options):
    print(f"{'network':21}{'parameters':>12}  {'input':18}exported to {options.out}")
    for name, entry in table.items():
        made = manifest.get(name)
        count = made["parameters"] if made else entry["parameters"]
        about = "~" if "tolerance" in entry and not made else ""
        shape = "x".join(map(str, entry["input_shape"]))
        files = f"{made['onnx']}, {made['torchscript']}" if made else "-"
        print(f"{name:21}{about + str(count):>12}  {shape:18}{files}")


def refuse(sentence):
    print(f"export_models: {sentence}", file=sys.stderr)
    raise SystemExit(2)


def main():
    parser = argparse.ArgumentParser(prog="scripts/export_models", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--default-out", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("--weights", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.out = options.out or options.default_out
    torch.set_num_threads(options.threads)

    table = json.loads(TABLE.read_text())
    unknown = [name for name in options.names if name not in table]
    if unknown:
        refuse(f"there is no network {unknown[0]}; there are {', '.join(table)}")
    if options.weights and len(options.names) != 1:
        refuse("--weights goes with exactly one NAME")
    manifest_path = options.out / "models.json"
    manifest = read_manifest(manifest_path)
    if options.list:
        print_list(table, manifest, options)
        return
    options.out.mkdir(parents=True, exist_ok=True)

    names = options.names or list(table)
    for i, name in enumerate(names, 1):
        progress = f"[{i}/{len(names)}] {name}"
        if not options.force and is_exported(name, table[name], manifest, options):
            print(f"{progress}: there already", flush=True)
            continue
        start = time.monotonic()
        made = export(name, table[name], options)
        manifest = {**read_manifest(manifest_path), name: made}
        write_manifest(manifest_path, manifest)
        megabytes = sum(made["bytes"].values()) / 1e6
        print(
            f"{progress}: {made['parameters']} parameters, {megabytes:.0f} MB in two files, "
            f"{time.monotonic() - start:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
