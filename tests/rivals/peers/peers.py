"""A dense engine that waits to be timed, in a process of its own; the benchmarks start and ask it.

    peers.py ENGINE --model FILE.onnx [--torchscript FILE.pt] --shape 1x3x384x640... --input FILE
             --threads N [--precision f32|bf16] --cache DIR

`--precision` is that of OpenVINO's floats; what a model holds as 8-bit numbers is computed so by
OpenVINO and ONNX Runtime.

`--input` holds the numbers of all inputs, as float32. Once it has answered for the first time it
writes {"first_answer_ms", "peak_mb"}, the clock running from the opening of the model in the
engine's own form on; what it was converted from and to lies in `--cache`. Then it answers each
line that it reads:

    time N        {"ms": [...]} of N answers, after one that is not timed
    outputs FILE  {"outputs": how many numbers of each} and writes all of them to FILE, as float32
    layer JSON    {} and times that convolution from now on (of MNN alone, which starts without
                  a model): {"in", "out", "kernel", "stride", "pad", "dilation", "groups", "height",
                  "width", "activation"}
    quit

A line {"error": "..."} says in one sentence why it cannot.
"""

import argparse
import hashlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np


class CannotRun(Exception):
    """Why an engine is left out, in one sentence."""


def first_line(text):
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    return lines[0] if lines else "no reason given"


class OnnxRuntime:
    """All graph optimisations; inputs and outputs bound once, so that nothing is copied by Python."""

    def __init__(self, model, inputs, threads):
        import onnxruntime

        self.load = lambda: self._load(onnxruntime, model, inputs, threads)

    def _load(self, onnxruntime, model, inputs, threads):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.add_session_config_entry("session.set_denormal_as_zero", "1")
        self.session = onnxruntime.InferenceSession(
            model.onnx, options, providers=["CPUExecutionProvider"]
        )
        self.binding = self.session.io_binding()
        for described, numbers in zip(self.session.get_inputs(), inputs, strict=True):
            self.binding.bind_cpu_input(described.name, numbers)
        for described in self.session.get_outputs():
            self.binding.bind_output(described.name, "cpu")

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def outputs(self):
        return self.binding.copy_outputs_to_cpu()


class OpenVino:
    """The latency hint with one stream, single precision unless told otherwise."""

    def __init__(self, model, inputs, threads):
        import openvino

        self.load = lambda: self._load(openvino, model, inputs, threads)

    def _load(self, openvino, model, inputs, threads):
        core = openvino.Core()
        network = core.read_model(model.onnx)
        network.reshape({port: list(x.shape) for port, x in zip(network.inputs, inputs, strict=True)})
        compiled = core.compile_model(
            network,
            "CPU",
            {
                "PERFORMANCE_HINT": "LATENCY",
                "INFERENCE_PRECISION_HINT": model.precision,
                "INFERENCE_NUM_THREADS": threads,
                "NUM_STREAMS": 1,
            },
        )
        self.request = compiled.create_infer_request()
        for i, numbers in enumerate(inputs):
            self.request.set_input_tensor(i, openvino.Tensor(numbers, shared_memory=True))
        self.output_count = len(compiled.outputs)

    def run(self):
        self.request.infer()

    def outputs(self):
        return [self.request.get_output_tensor(i).data for i in range(self.output_count)]


class Ncnn:
    """Converted by pnnx; no half precision anywhere, memory kept in pools."""

    def __init__(self, model, inputs, threads):
        import ncnn

        for numbers in inputs:
            if numbers.ndim > 5 or numbers.shape[0] != 1:
                raise CannotRun("ncnn takes one picture at a time")
        param, weights = convert(model, "ncnn", ".param", ".bin")
        self.load = lambda: self._load(ncnn, param, weights, inputs, threads)

    def _load(self, ncnn, param, weights, inputs, threads):
        self.net = ncnn.Net()
        options = self.net.opt
        options.num_threads = threads
        options.use_vulkan_compute = False
        options.use_fp16_packed = False
        options.use_fp16_storage = False
        options.use_fp16_arithmetic = False
        options.use_bf16_storage = False
        self.pools = (ncnn.UnlockedPoolAllocator(), ncnn.PoolAllocator())
        options.blob_allocator, options.workspace_allocator = self.pools
        if self.net.load_param(str(param)) != 0 or self.net.load_model(str(weights)) != 0:
            raise CannotRun("ncnn cannot load what pnnx made of the model")
        self.inputs = [(f"in{i}", ncnn.Mat(x[0])) for i, x in enumerate(inputs)]
        self.output_names = sorted(self.net.output_names(), key=lambda name: int(name[3:]))

    def run(self):
        extractor = self.net.create_extractor()
        for name, mat in self.inputs:
            extractor.input(name, mat)
        self.answers = []
        for name in self.output_names:
            status, mat = extractor.extract(name)
            if status != 0:
                raise CannotRun(f"ncnn cannot compute what pnnx made of the model ({status})")
            self.answers.append(mat)

    def outputs(self):
        return [np.array(mat) for mat in self.answers]


class Mnn:
    """A session in single precision, its tensors sized once."""

    def __init__(self, model, inputs, threads):
        import MNN

        file, names = convert(model, "mnn", ".mnn", ".json")
        self.load = lambda: self._load(MNN, file, json.loads(names.read_text()), inputs, threads)

    def _load(self, MNN, file, names, inputs, threads):
        self.interpreter = MNN.Interpreter(str(file))
        self.session = self.interpreter.createSession(MNN_OPTIONS | {"numThread": threads})

        def host_tensor(numbers):
            return MNN.Tensor(
                numbers.shape, MNN.Halide_Type_Float, numbers, MNN.Tensor_DimensionType_Caffe
            )

        self.inputs = []
        for name, numbers in zip(names["inputs"], inputs, strict=True):
            tensor = self.interpreter.getSessionInput(self.session, name)
            self.interpreter.resizeTensor(tensor, numbers.shape)
            self.inputs.append((tensor, host_tensor(numbers)))
        self.interpreter.resizeSession(self.session)
        self.results = []
        for name in names["outputs"]:
            tensor = self.interpreter.getSessionOutput(self.session, name)
            self.results.append((tensor, host_tensor(np.zeros(tensor.getShape(), np.float32))))

    def run(self):
        for tensor, host in self.inputs:
            tensor.copyFrom(host)
        self.interpreter.runSession(self.session)
        for tensor, host in self.results:
            tensor.copyToHostTensor(host)

    def outputs(self):
        return [np.array(host.getNumpyData(), np.float32) for _, host in self.results]


class MnnLayer:
    """One convolution at a time. Only the convolution runs: what comes before and after it in a
    network is in MNN's own layout too."""

    def __init__(self, cache, threads):
        import MNN

        self.library, self.threads = MNN, threads
        self.folder = cache / "mnn"
        self.folder.mkdir(parents=True, exist_ok=True)

    def take(self, layer):
        file = self.folder / f"layer-{os.getpid()}.mnn"
        onnx_file = file.with_suffix(".onnx")
        try:
            write_layer(layer, onnx_file)
            convert_to_mnn(onnx_file, file)
            self.interpreter = self.library.Interpreter(str(file))
        finally:
            onnx_file.unlink(missing_ok=True)
            file.unlink(missing_ok=True)
        self.session = self.interpreter.createSession(MNN_OPTIONS | {"numThread": self.threads})
        tensor = self.interpreter.getSessionInput(self.session)
        shape = tensor.getShape()
        numbers = np.random.default_rng(1).standard_normal(shape, dtype=np.float32)
        tensor.copyFrom(
            self.library.Tensor(
                shape, self.library.Halide_Type_Float, numbers, self.library.Tensor_DimensionType_Caffe
            )
        )
        self.run()

    def run(self):
        self.interpreter.runSession(self.session)


MNN_OPTIONS = {"backend": "CPU", "precision": "high", "memory": "normal", "power": "high"}

ENGINES = {"onnxruntime": OnnxRuntime, "openvino": OpenVino, "ncnn": Ncnn, "mnn": Mnn}


class Model:
    """Where one network lies, and for which input shapes it is wanted."""

    def __init__(self, onnx, torchscript, shapes, cache, precision="f32"):
        self.onnx, self.torchscript, self.shapes, self.cache = onnx, torchscript, shapes, cache
        self.precision = precision

    def without_vanishing_weights(self):
        """As our own importer has it. On weights that training has shrunk to 1e-40, which add
        nothing, processors are so slow that nothing else would be measured."""
        (copy,) = convert(self, "onnx", ".onnx")
        onnx = str(copy) if copy.stat().st_size > 0 else self.onnx
        return Model(onnx, self.torchscript, self.shapes, self.cache, self.precision)

    def source(self, engine):
        """pnnx knows TorchScript best; the others read ONNX."""
        return self.torchscript if engine == "ncnn" and self.torchscript else self.onnx

    def converted(self, engine):
        """The stem of the files made of it, new ones when the source changes."""
        source = pathlib.Path(self.source(engine))
        status = source.stat()
        facts = [str(source.resolve()), status.st_size, status.st_mtime_ns, self.shapes]
        facts.append(REQUIREMENTS.read_text())
        key = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]
        return self.cache / engine / f"{source.stem}-{key}"


REQUIREMENTS = pathlib.Path(__file__).with_name("requirements.txt")


def convert(model, engine, *endings):
    """The files of a network in an engine's own form, made by a process of its own at the first
    time, so that its memory is not counted here."""
    stem = model.converted(engine)
    files = [stem.with_name(stem.name + ending) for ending in endings]
    if not all(file.exists() for file in files):
        stem.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, __file__, f"convert-{engine}", "--model", model.onnx]
        command += ["--torchscript", model.torchscript] if model.torchscript else []
        command += [f"--shape={shape}" for shape in model.shapes]
        command += ["--cache", str(model.cache)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            raise CannotRun(lines[-1] if lines else f"the conversion for {engine} failed")
    return files


def convert_to_mnn(onnx_file, mnn_file):
    import _tools  # MNN's converter

    arguments = ["mnnconvert", "-f", "ONNX", "--modelFile", str(onnx_file)]
    if not _tools.mnnconvert([*arguments, "--MNNModel", str(mnn_file), "--bizCode", "bench"]):
        raise CannotRun("MNN cannot convert the model")


def make_onnx(model, stem):
    """A copy in which weights that vanish are zero; an empty file where none does."""
    import onnx
    from onnx import numpy_helper

    smallest = 1e-20
    network = onnx.load(model.onnx)
    found = False
    for tensor in network.graph.initializer:
        if tensor.data_type != onnx.TensorProto.FLOAT:
            continue
        numbers = numpy_helper.to_array(tensor)
        vanishing = (numbers != 0) & (np.abs(numbers) < smallest)
        if vanishing.any():
            found = True
            tensor.CopyFrom(numpy_helper.from_array(np.where(vanishing, 0, numbers), tensor.name))
    temporary = stem.with_name(stem.name + ".part")
    temporary.write_bytes(network.SerializeToString() if found else b"")
    temporary.replace(stem.with_name(stem.name + ".onnx"))


def make_mnn(model, stem):
    import onnx

    file = stem.with_name(stem.name + ".mnn")
    temporary = file.with_suffix(".part")
    convert_to_mnn(model.onnx, temporary)
    graph = onnx.load(model.onnx, load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    names = {
        "inputs": [value.name for value in graph.input if value.name not in constants],
        "outputs": [value.name for value in graph.output],
    }
    file.with_suffix(".json").write_text(json.dumps(names))
    temporary.replace(file)


def make_ncnn(model, stem):
    # Importing it would import PyTorch, which its program does not need.
    program = pathlib.Path(importlib.util.find_spec("pnnx").origin).with_name("pnnx")
    folder = stem.with_name(stem.name + ".making")
    folder.mkdir(parents=True, exist_ok=True)
    source = pathlib.Path(model.source("ncnn"))
    link = folder / source.name  # pnnx writes beside what it reads
    link.unlink(missing_ok=True)
    link.symlink_to(source.resolve())
    shapes = ",".join("[" + shape.replace("x", ",") + "]f32" for shape in model.shapes)
    done = subprocess.run(
        [program, link, f"inputshape={shapes}", "fp16=0", "ncnnparam=m.param", "ncnnbin=m.bin"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    (folder / "log.txt").write_text(done.stdout + done.stderr)
    if done.returncode != 0 or not (folder / "m.param").exists():
        raise CannotRun(f"pnnx cannot convert it; see {folder / 'log.txt'}")
    (folder / "m.bin").replace(stem.with_name(stem.name + ".bin"))
    (folder / "m.param").replace(stem.with_name(stem.name + ".param"))
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()


def write_layer(layer, path):
    """One convolution with fixed random weights, as ONNX."""
    import onnx
    from onnx import helper, numpy_helper

    kernel, pad = layer["kernel"], layer["pad"]
    generator = np.random.default_rng(2)
    shape = (layer["out"], layer["in"] // layer["groups"], kernel, kernel)
    weights = generator.uniform(-0.1, 0.1, shape).astype(np.float32)
    bias = generator.uniform(-0.1, 0.1, layer["out"]).astype(np.float32)
    nodes = [
        helper.make_node(
            "Conv",
            ["input", "weights", "bias"],
            ["sum"],
            kernel_shape=[kernel] * 2,
            strides=[layer["stride"]] * 2,
            pads=[pad] * 4,
            dilations=[layer["dilation"]] * 2,
            group=layer["groups"],
        )
    ]
    # As exported networks have them.
    activations = {
        "none": [("Identity", ["sum"], "output")],
        "relu": [("Relu", ["sum"], "output")],
        "relu6": [("Clip", ["sum", "zero", "six"], "output")],
        "silu": [("Sigmoid", ["sum"], "gate"), ("Mul", ["sum", "gate"], "output")],
        "hardswish": [("HardSwish", ["sum"], "output")],
        "gelu": [("Gelu", ["sum"], "output")],
    }
    for kind, inputs, output in activations[layer["activation"]]:
        nodes.append(helper.make_node(kind, inputs, [output]))
    constants = {"weights": weights, "bias": bias, "zero": np.float32(0), "six": np.float32(6)}
    size = [1, layer["in"], layer["height"], layer["width"]]
    graph = helper.make_graph(
        nodes,
        "layer",
        [helper.make_tensor_value_info("input", onnx.TensorProto.FLOAT, size)],
        [helper.make_tensor_value_info("output", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(x), name) for name, x in constants.items()],
    )
    opset = 20 if layer["activation"] == "gelu" else 17
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]), path)


def read_inputs(path, shapes):
    numbers = np.fromfile(path, np.float32)
    inputs = []
    for shape in shapes:
        dims = [int(size) for size in shape.split("x")]
        inputs.append(np.ascontiguousarray(numbers[: np.prod(dims)].reshape(dims)))
        numbers = numbers[np.prod(dims) :]
    return inputs


def peak_megabytes():
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def read_through(path):
    """So that every engine finds its file in the system's cache."""
    with open(path, "rb") as file:
        while file.read(1 << 20):
            pass


def milliseconds(action):
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1e3


def serve(engine, reply):
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "quit":
            return
        if word == "time":
            engine.run()
            reply({"ms": [milliseconds(engine.run) for _ in range(int(rest))]})
        elif word == "layer":
            engine.take(json.loads(rest))
            reply({})
        elif word == "outputs":
            outputs = [np.ascontiguousarray(x, np.float32).ravel() for x in engine.outputs()]
            np.concatenate(outputs).tofile(rest)
            reply({"outputs": [x.size for x in outputs]})
        else:
            raise CannotRun(f"there is no request '{word}'")


def run(options, reply):
    if options.engine == "mnn-layer":
        engine = MnnLayer(options.cache, options.threads)
        reply({})
    else:
        model = Model(options.model, options.torchscript, options.shape, options.cache,
                      options.precision)
        model = model.without_vanishing_weights()
        engine = ENGINES[options.engine](
            model, read_inputs(options.input, options.shape), options.threads
        )
        read_through(model.source(options.engine))

        def first_answer():
            engine.load()
            engine.run()

        reply({"first_answer_ms": milliseconds(first_answer), "peak_mb": peak_megabytes()})
    serve(engine, reply)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("engine")
    parser.add_argument("--model")
    parser.add_argument("--torchscript")
    parser.add_argument("--shape", action="append", default=[])
    parser.add_argument("--input")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", default="f32", choices=["f32", "bf16"])
    parser.add_argument("--cache", type=pathlib.Path, required=True)
    options = parser.parse_args()

    if options.engine.startswith("convert-"):
        model = Model(options.model, options.torchscript, options.shape, options.cache)
        engine = options.engine.removeprefix("convert-")
        try:
            {"onnx": make_onnx, "mnn": make_mnn, "ncnn": make_ncnn}[engine](model, model.converted(engine))
        except Exception as error:
            raise SystemExit(first_line(error)) from None
        return

    # The engines write to stdout what they like; the answers go where it led.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def reply(answer):
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        run(options, reply)
    except Exception as error:
        reply({"error": first_line(error)})
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
