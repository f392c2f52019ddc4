"""Networks and a clip that CacheInf has never seen, as other programs write them.

The clip shows a red and a blue square that move over a still, textured ground. Each network is many
convolutions of random weights beside a few whose weights are set, so that it finds the squares:
a detector with the head and the metadata of Ultralytics' exporter, a classifier and a segmentation
as torch.onnx writes them, without metadata.
"""

import pathlib
import struct

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SQUARE = 64  # pixels along each side, in the clip
CLASSES = ("red square", "blue square")


class Squares:
    """Frames of a clip, and where the squares are."""

    def __init__(self, frames, width=320, height=320, seed=1):
        self.frames, self.width, self.height = frames, width, height
        random = np.random.default_rng(seed)
        coarse = random.integers(60, 120, (height // 16, width // 16, 1))
        fine = random.integers(-12, 13, (height, width, 1))
        ground = np.kron(coarse, np.ones((16, 16, 1))) + fine
        self.ground = np.repeat(ground, 3, axis=2).astype(np.uint8)

    def places(self, frame):
        """The left top corners of the red and of the blue square."""
        reach = self.width - SQUARE
        step = 2 * frame % (2 * reach)
        return [(min(step, 2 * reach - step), 40), (200, (20 + frame) % (self.height - SQUARE))]

    def picture(self, frame):
        picture = self.ground.copy()
        for (x, y), colour in zip(self.places(frame), ((220, 20, 20), (20, 20, 220))):
            picture[y:y + SQUARE, x:x + SQUARE] = colour
        return picture


def write_video(path, clip, rate=25):
    """An AVI file of uncompressed pictures."""
    size = clip.width * clip.height * 3

    def chunk(name, data):
        return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)

    def chunks(name, kind, parts):
        return chunk(name, kind + b"".join(parts))

    main = struct.pack("<14I", 1000000 // rate, size * rate, 0, 0x10, clip.frames, 0, 1, size,
                       clip.width, clip.height, 0, 0, 0, 0)
    stream = b"vidsDIB " + struct.pack("<10I4H", 0, 0, 0, 1, rate, 0, clip.frames, size, 0xFFFFFFFF,
                                       0, 0, 0, clip.width, clip.height)
    picture = struct.pack("<IiiHHIIiiII", 40, clip.width, clip.height, 1, 24, 0, size, 0, 0, 0, 0)
    header = chunks(b"LIST", b"hdrl", [
        chunk(b"avih", main),
        chunks(b"LIST", b"strl", [chunk(b"strh", stream), chunk(b"strf", picture)])])
    frames = [chunk(b"00db", clip.picture(i)[::-1, :, ::-1].tobytes()) for i in range(clip.frames)]
    entries = []
    at = 4
    for frame in frames:
        entries.append(b"00db" + struct.pack("<III", 0x10, at, size))
        at += len(frame)
    pathlib.Path(path).write_bytes(chunks(b"RIFF", b"AVI ", [
        header, chunks(b"LIST", b"movi", frames), chunk(b"idx1", b"".join(entries))]))


class Builder:
    """Nodes, weights and names of a graph under way."""

    def __init__(self, seed):
        self.nodes, self.weights = [], []
        self.random = np.random.default_rng(seed)

    def constant(self, value, kind=np.float32):
        name = f"onnx::Constant_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value, kind), name))
        return name

    def node(self, operator, *inputs, outputs=1, output=None, **attributes):
        names = [output] if output else [
            f"/model/{operator}_{len(self.nodes)}_output_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def convolution(self, value, weight, bias, stride=1):
        reach = weight.shape[2] // 2
        return self.node("Conv", value, self.constant(weight), self.constant(bias),
                         kernel_shape=list(weight.shape[2:]), strides=[stride, stride],
                         pads=[reach] * 4)

    def block(self, value, inputs, outputs, stride=1, first=None):
        """3×3 convolution and SiLU. Channels 0 and 1 say how red and how blue a place is: the
        means of those of `value`, or the weights `first` of the picture's channels."""
        weight = self.random.normal(0, 1.2 / np.sqrt(9 * inputs), (outputs, inputs, 3, 3))
        weight[:2] = 0
        for k in range(2):
            if first is None:
                weight[k, k] = 1 / 9
            else:
                weight[k] = np.reshape(first[k], (-1, 1, 1)) / 9
        bias = np.zeros(outputs)
        result = self.convolution(value, weight, bias, stride)
        return self.node("Mul", result, self.node("Sigmoid", result))

    def backbone(self, picture):
        """Features of 32 channels at strides 8 and 16, and of 64 at 32."""
        colours = [[9, -4.5, -4.5], [-4.5, -4.5, 9]]
        value = self.block(picture, 3, 16, 2, colours)
        value = self.block(value, 16, 32, 2)
        value = self.block(self.block(value, 32, 32), 32, 32)
        at_8 = self.block(self.block(value, 32, 32, 2), 32, 32)
        at_16 = self.block(self.block(at_8, 32, 32, 2), 32, 32)
        return at_8, at_16, self.block(self.block(at_16, 32, 64, 2), 64, 64)

    def model(self, picture_shape, output_names, metadata, opset=17):
        graph = helper.make_graph(
            self.nodes, "main_graph",
            [helper.make_tensor_value_info("images", TensorProto.FLOAT, picture_shape)],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in output_names],
            self.weights)
        model = helper.make_model(graph, producer_name="pytorch", ir_version=8,
                                  opset_imports=[helper.make_opsetid("", opset)])
        helper.set_model_props(model, metadata)
        model = onnx.shape_inference.infer_shapes(model)
        onnx.checker.check_model(model)
        return model


def red_and_blue(width, high, low):
    """1×1 weights and biases of two scores, high on a square of their colour: its feature is near
    5 there and near 0 elsewhere."""
    weight = np.zeros((2, width, 1, 1))
    weight[0, 0] = weight[1, 1] = (high - low) / 5
    return weight, np.full(2, float(low))


def detector():
    """YOLOv8's graph: at each stride a distribution of four distances and two class scores."""
    build = Builder(2)
    side = 320
    distances, scores, places, strides = [], [], [], []
    for value, stride, width in zip(build.backbone("images"), (8, 16, 32), (32, 32, 64)):
        cells = side // stride
        half = SQUARE / 2 / stride
        # Bins below and above half a square, by how near they are to it.
        lower = int(half)
        logits = np.full(16, -12.0)
        logits[lower] = np.log(max(1 - (half - lower), 1e-5))
        logits[lower + 1] = np.log(max(half - lower, 1e-5))
        weight = build.random.normal(0, 0.01, (64, width, 1, 1))
        weight[:, :2] = 0
        boxes = build.convolution(value, weight, np.tile(logits, 4))
        # A cell of stride 16 sees a whole square and little else.
        sees = (1, -9) if stride == 16 else (-9, -9)
        classes = build.convolution(value, *red_and_blue(width, *sees))
        joined = build.node("Concat", boxes, classes, axis=1)
        flat = build.node("Reshape", joined, build.constant([1, 66, cells * cells], np.int64))
        of_boxes, of_classes = build.node("Split", flat, build.constant([64, 2], np.int64),
                                          outputs=2, axis=1)
        distances.append(of_boxes)
        scores.append(of_classes)
        row, column = np.divmod(np.arange(cells * cells), cells)
        places.append(np.stack([column + 0.5, row + 0.5]))
        strides.append(np.full(cells * cells, stride))
    count = sum(map(len, strides))
    split = build.node("Reshape", build.node("Concat", *distances, axis=2),
                       build.constant([1, 4, 16, count], np.int64))
    shares = build.node("Softmax", build.node("Transpose", split, perm=[0, 2, 1, 3]), axis=1)
    sides = build.node("Reshape", build.node("Conv", shares, build.constant(
        np.arange(16).reshape(1, 16, 1, 1)), kernel_shape=[1, 1]),
        build.constant([1, 4, count], np.int64))
    before, after = build.node("Split", sides, build.constant([2, 2], np.int64), outputs=2, axis=1)
    grid = build.constant(np.concatenate(places, axis=1)[None])
    start = build.node("Sub", grid, before)
    end = build.node("Add", grid, after)
    centre = build.node("Div", build.node("Add", start, end), build.constant(2.0))
    boxes = build.node("Mul", build.node("Concat", centre, build.node("Sub", end, start), axis=1),
                       build.constant(np.concatenate(strides).reshape(1, 1, -1)))
    build.node("Concat", boxes, build.node("Sigmoid", build.node("Concat", *scores, axis=2)),
               output="output0", axis=1)
    return build.model([1, 3, side, side], ["output0"], {
        "description": "Ultralytics YOLOv8n model trained on squares.yaml",
        "author": "Ultralytics", "date": "2026-01-01T00:00:00", "version": "8.3.0",
        "license": "AGPL-3.0 License (https://ultralytics.com/license)", "docs": "https://docs.ultralytics.com",
        "stride": "32", "task": "detect", "batch": "1", "imgsz": f"[{side}, {side}]",
        "names": str(dict(enumerate(CLASSES))), "args": "{'batch': 1, 'half': False, 'nms': False}"})


def classifier():
    """Logits of four classes: how much of the picture is red, how much blue, and two that never
    win."""
    build = Builder(3)
    _, _, value = build.backbone("images")
    pooled = build.node("Flatten", build.node("GlobalAveragePool", value), axis=1)
    weight = build.random.normal(0, 0.05, (4, 64))
    weight[:2] = 0
    weight[0, 0] = weight[1, 1] = 20
    build.node("Gemm", pooled, build.constant(weight), build.constant([0, 0.5, -1, -2]), transB=1,
               output="logits")
    return build.model([1, 3, 224, 224], ["logits"], {})


def segmentation():
    """Scores of ground, red and blue at a quarter of the picture's size, enlarged."""
    build = Builder(4)
    value, _, _ = build.backbone("images")
    weight = np.zeros((3, 32, 1, 1))
    weight[1, 0] = weight[2, 1] = 2
    scores = build.convolution(value, weight, np.array([4.0, 0, 0]))
    build.node("Resize", scores, "", build.constant([1, 1, 8, 8]), mode="linear",
               coordinate_transformation_mode="pytorch_half_pixel", output="out")
    return build.model([1, 3, 256, 256], ["out"], {})


def write_all(folder):
    """Writes the three networks; returns their files by name."""
    files = {}
    for make in (detector, classifier, segmentation):
        path = pathlib.Path(folder) / f"{make.__name__}.onnx"
        onnx.save(make(), path)
        files[make.__name__] = path
    return files
