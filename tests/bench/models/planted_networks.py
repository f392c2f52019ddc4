"""Writes small networks whose heads hold planted objects, as ONNX files.

Each has a convolutional backbone with random weights, which computes from the clip's pixels, and a
head of one known kind. A head's numbers before decoding are those that the formula's inverse gives
for the planted objects, plus what the backbone adds: boxes move by some pixels from frame to frame,
and scores cross thresholds. Everything behind that is in the graph as the kind's exporter has it.
"""

import dataclasses

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from references import ANCHORS, LATER_ANCHORS

OPSET = 17
WIDTH = 320
HEIGHT = 256
STRIDES = (8, 16, 32)
FEATURES = 16


def logit(share):
    share = np.clip(share, 1e-4, 1 - 1e-4)
    return np.log(share / (1 - share))


@dataclasses.dataclass
class Thing:
    """A planted object: centre and size in the network's pixels."""

    x: float
    y: float
    width: float
    height: float
    label: int
    score: float  # before a sigmoid


# Wide frames, letterboxed in the middle or the corner, fill these rows of the picture.
FIRST_ROW = 42
LAST_ROW = 174


def plant(random, classes):
    """Things of all sizes; some have a rival that overlaps, of the same class or of another. Their
    centres lie where frames do."""
    things = []
    for size in (18, 26, 40, 40, 60, 60, 90, 90, 150):
        width, height = size * random.uniform(0.7, 1.3, 2)
        x = random.uniform(width / 2, WIDTH - width / 2)
        y = random.uniform(FIRST_ROW, LAST_ROW)
        label = int(random.integers(classes))
        things.append(Thing(x, y, width, height, label, random.uniform(1.0, 3.0)))
        shifted = [
            Thing(x + dx * width, y + dy * height, width * 1.05, height * 0.95,
                  int((label + other) % classes), random.uniform(-0.5, 1.0))
            for dx, dy, other in ((0.12, 0.05, 0), (-0.1, 0.15, 1), (0.45, -0.2, 0))
        ]
        things += shifted
    return [t for t in things if 0 < t.x < WIDTH and FIRST_ROW < t.y < LAST_ROW]


def stride_of(thing):
    side = max(thing.width, thing.height)
    return 8 if side < 36 else 16 if side < 80 else 32


class Network:
    """A graph under construction."""
    def __init__(self, seed, width=WIDTH, height=HEIGHT):
        self.random = np.random.default_rng(seed)
        self.width, self.height = width, height
        self.nodes, self.constants, self.count = [], [], 0
        self.maps = self._backbone()

    def add(self, kind, *inputs, **attributes):
        """Appends an operator; inputs are names or arrays. Gives its output's name."""
        self.count += 1
        name = f"{kind.lower()}_{self.count}"
        names = [entry if isinstance(entry, str) else self.constant(entry) for entry in inputs]
        self.nodes.append(helper.make_node(kind, names, [name], name, **attributes))
        return name

    def split(self, value, sizes, axis):
        self.count += 1
        names = [f"split_{self.count}_{i}" for i in range(len(sizes))]
        self.nodes.append(
            helper.make_node("Split", [value, self.constant(np.array(sizes, np.int64))], names,
                             names[0], axis=axis))
        return names

    def top_k(self, value, count, axis):
        self.count += 1
        names = [f"top_{self.count}", f"top_{self.count}_at"]
        self.nodes.append(
            helper.make_node("TopK", [value, self.constant(np.array([count], np.int64))], names,
                             names[0], axis=axis))
        return names

    def constant(self, array):
        array = np.asarray(array)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def conv(self, value, channels_in, channels, kernel, stride):
        fan_in = channels_in * kernel * kernel
        weights = self.random.normal(0, np.sqrt(2 / fan_in),
                                     (channels, channels_in, kernel, kernel))
        return self.add("Conv", value, weights, np.zeros(channels), kernel_shape=[kernel, kernel],
                        strides=[stride, stride], pads=[kernel // 2] * 4)

    def _backbone(self):
        """Feature maps by stride."""
        maps, value, channels = {}, "images", 3
        for stride in (2, 4, 8, 16, 32):
            value = self.add("Relu", self.conv(value, channels, FEATURES, 3, 2))
            channels = FEATURES
            maps[stride] = value
        return maps

    def jittered(self, value, base, gain, channels_in=FEATURES):
        """base + gain tanh(a 1x1 convolution of the map): planted numbers that pixels move."""
        channels = base.shape[1]
        moved = self.add("Tanh", self.conv(value, channels_in, channels, 1, 1))
        gains = np.broadcast_to(
            np.asarray(gain, np.float64).reshape(1, -1, 1, 1), (1, channels, 1, 1))
        planted = self.add("Add", self.add("Mul", moved, gains), base)
        # Heads end in a convolution, and it matters to who judges them by their last operators.
        same = np.eye(channels).reshape(channels, channels, 1, 1)
        return self.add("Conv", planted, same, np.zeros(channels), kernel_shape=[1, 1])

    def pooled(self, base, gain):
        """The same for a list of numbers, from the mean of the coarsest map."""
        flat = base.reshape(1, -1)
        mean = self.add("Flatten", self.add("GlobalAveragePool", self.maps[32]))
        weights = self.random.normal(0, 3 / np.sqrt(FEATURES), (FEATURES, flat.shape[1]))
        moved = self.add("Tanh", self.add("Gemm", mean, weights, np.zeros(flat.shape[1])))
        gains = np.broadcast_to(np.asarray(gain, np.float64), base.shape).reshape(1, -1)
        moved = self.add("Add", self.add("Mul", moved, gains), flat)
        return self.add("Reshape", moved, np.array(base.shape, np.int64))

    def reshape(self, value, *shape):
        return self.add("Reshape", value, np.array(shape, np.int64))

    def save(self, path, outputs, metadata=None):
        """`outputs`: the names that the file gives to values, with their shapes and types."""
        for name, (value, _, _) in outputs.items():
            self.nodes.append(helper.make_node("Identity", [value], [name], name))
        graph = helper.make_graph(self.nodes, path.stem, [
            helper.make_tensor_value_info("images", TensorProto.FLOAT,
                                          [1, 3, self.height, self.width])
        ], [
            helper.make_tensor_value_info(name, kind, shape)
            for name, (_, shape, kind) in outputs.items()
        ], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = 8
        for key, text in (metadata or {}).items():
            entry = model.metadata_props.add()
            entry.key, entry.value = key, text
        onnx.checker.check_model(model)
        onnx.save(model, path)


def floats(value, *shape):
    return value, list(shape), TensorProto.FLOAT


def ultralytics(task, classes, **more):
    """What Ultralytics' exporter writes into the file."""
    names = {i: f"thing {i}" for i in range(classes)}
    return {
        "description": "planted objects", "task": task, "stride": "32", "batch": "1",
        "imgsz": f"[{HEIGHT}, {WIDTH}]", "names": str(names)
    } | more


def cells(stride):
    return HEIGHT // stride, WIDTH // stride


def empty_and_planted(things, strides, channels, empty, numbers):
    """By stride, 1 x channels x h x w: `empty`, and where a thing's centre lies what
    `numbers(thing, stride, column, row)` gives."""
    maps = {}
    for stride in strides:
        rows, columns = cells(stride)
        base = np.broadcast_to(
            np.asarray(empty, np.float64).reshape(-1, 1, 1), (channels, rows, columns)).copy()
        for thing in things:
            if len(strides) == 1 or stride_of(thing) == stride:
                column, row = int(thing.x / stride), int(thing.y / stride)
                base[:, row, column] = numbers(thing, stride, column, row)
        maps[stride] = base[None]
    return maps


def cell_columns(offset=0.0, anchors=1):
    """x and y of every cell, and its stride, in the order in which heads list them."""
    xs, ys, strides = [], [], []
    for stride in STRIDES:
        rows, columns = cells(stride)
        y, x = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
        for _ in range(anchors):
            xs.append(x.ravel() + offset)
            ys.append(y.ravel() + offset)
            strides.append(np.full(rows * columns, stride))
    return np.concatenate(xs), np.concatenate(ys), np.concatenate(strides)


# ---- Heads with three anchors a cell ----


def anchor_base(things, classes, stride, inverse, anchors):
    """1 x 3 x (5 + C) x h x w: numbers before decoding."""
    rows, columns = cells(stride)
    base = np.full((3, 5 + classes, rows, columns), -2.0)  # no class is taught where nothing is
    base[:, :4] = 0
    base[:, 4] = -7
    for thing in things:
        if stride_of(thing) != stride:
            continue
        column, row = int(thing.x / stride), int(thing.y / stride)
        sizes = np.array(anchors[stride], np.float64)
        fit = np.abs(np.log(np.array([thing.width, thing.height]) / sizes)).sum(1)
        anchor = int(fit.argmin())
        base[anchor, :4, row, column] = inverse(thing, stride, column, row, sizes[anchor])
        base[anchor, 4, row, column] = thing.score
        base[anchor, 5 + thing.label, row, column] = 2.5
    return base.reshape(1, -1, rows, columns)


def darknet_inverse(thing, stride, column, row, anchor):
    return [
        logit(thing.x / stride - column),
        logit(thing.y / stride - row),
        np.log(thing.width / anchor[0]),
        np.log(thing.height / anchor[1])
    ]


def yolov4_inverse(thing, stride, column, row, anchor):
    stretch = {8: 1.2, 16: 1.1, 32: 1.05}[stride]
    in_cell = np.array([thing.x / stride - column, thing.y / stride - row])
    return [
        *logit((in_cell + (stretch - 1) / 2) / stretch),
        np.log(thing.width / anchor[0]),
        np.log(thing.height / anchor[1])
    ]


def yolov5_inverse(thing, stride, column, row, anchor):
    return [
        logit((thing.x / stride - column + 0.5) / 2),
        logit((thing.y / stride - row + 0.5) / 2),
        logit(np.sqrt(thing.width / anchor[0]) / 2),
        logit(np.sqrt(thing.height / anchor[1]) / 2)
    ]


def anchor_heads(network, classes, inverse, anchors):
    things = plant(network.random, classes)
    gains = np.tile([0.4, 0.4, 0.2, 0.2, 0.8] + [0.3] * classes, 3)
    return {
        stride: network.jittered(network.maps[stride],
                                 anchor_base(things, classes, stride, inverse, anchors), gains)
        for stride in STRIDES
    }


def raw_heads(path, seed, inverse, anchors, strides=STRIDES, classes=80):
    network = Network(seed)
    heads = anchor_heads(network, classes, inverse, anchors)
    network.save(
        path, {
            f"yolo_{stride}": floats(heads[stride], 1, 3 * (5 + classes), *cells(stride))
            for stride in strides
        })


def yolov3(path):
    # As Darknet has them: the coarsest first.
    raw_heads(path, 3, darknet_inverse, ANCHORS, STRIDES[::-1])


def yolov4(path):
    raw_heads(path, 4, yolov4_inverse, LATER_ANCHORS)


def yolov7(path):
    raw_heads(path, 7, yolov5_inverse, LATER_ANCHORS)


def yolov5(path, classes=12):
    network = Network(5)
    heads = anchor_heads(network, classes, yolov5_inverse, ANCHORS)
    parts = []
    for stride, head in heads.items():
        rows, columns = cells(stride)
        head = network.reshape(head, 1, 3, 5 + classes, rows, columns)
        head = network.add("Sigmoid", network.add("Transpose", head, perm=[0, 1, 3, 4, 2]))
        y, x = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
        grid = np.broadcast_to(np.stack([x, y], -1) - 0.5, (1, 3, rows, columns, 2))
        sizes = np.broadcast_to(
            np.array(ANCHORS[stride]).reshape(1, 3, 1, 1, 2), (1, 3, rows, columns, 2))
        xy, wh, scores = network.split(head, [2, 2, 1 + classes], 4)
        xy = network.add("Mul", network.add("Add", network.add("Mul", xy, np.array(2.0)), grid),
                         np.array(float(stride)))
        wh = network.add("Mul",
                         network.add("Pow", network.add("Mul", wh, np.array(2.0)), np.array(2.0)),
                         sizes.astype(np.float64))
        boxes = network.add("Concat", xy, wh, scores, axis=4)
        parts.append(network.reshape(boxes, 1, -1, 5 + classes))
    count = 3 * sum(np.prod(cells(stride)) for stride in STRIDES)
    network.save(
        path,
        {"output0": floats(network.add("Concat", *parts, axis=1), 1, int(count), 5 + classes)},
        ultralytics("detect", classes))


# ---- Heads without anchors ----

BINS = 16  # of a distance's distribution


def distance_logits(distances):
    """Logits of a distribution over BINS whose mean is the distance, nearly."""
    return -2 * (np.arange(BINS)[:, None] - np.asarray(distances)[None])**2


def turned_sides(thing, stride, column, row, angle):
    """The four distances from which dist2rbox makes the box."""
    dx, dy = thing.x / stride - column - 0.5, thing.y / stride - row - 0.5
    along = dx * np.cos(angle) + dy * np.sin(angle)
    across = -dx * np.sin(angle) + dy * np.cos(angle)
    half_width, half_height = thing.width / stride / 2, thing.height / stride / 2
    return [half_width - along, half_height - across, half_width + along, half_height + across]


def yolov8_boxes(network, things, classes, angles=None):
    """(1x4xN centres and sizes in pixels, 1xCxN scores), as YOLOv8's head computes them; turned if
    there are angles, by stride."""
    sides, scores = [], []
    for stride in STRIDES:
        rows, columns = cells(stride)
        base = np.zeros((4, BINS, rows, columns))
        base[:, 1] = 3
        logits = np.full((classes, rows, columns), -7.0)
        for i, thing in enumerate(things):
            if stride_of(thing) != stride:
                continue
            column, row = int(thing.x / stride), int(thing.y / stride)
            angle = 0 if angles is None else angles[1][i]
            distances = turned_sides(thing, stride, column, row, angle)
            base[:, :, row, column] = distance_logits(np.clip(distances, 0, BINS - 1)).T
            logits[thing.label, row, column] = thing.score
        feature = network.maps[stride]
        sides.append(
            network.reshape(network.jittered(feature, base.reshape(1, -1, rows, columns), 1.0), 1,
                            4 * BINS, -1))
        scores.append(network.reshape(network.jittered(feature, logits[None], 0.8), 1, classes, -1))
    x, y, strides = cell_columns(0.5)
    count = len(x)
    sides = network.reshape(network.add("Concat", *sides, axis=2), 1, 4, BINS, count)
    shares = network.add("Softmax", network.add("Transpose", sides, perm=[0, 2, 1, 3]), axis=1)
    mean = network.add("Conv", shares, np.arange(float(BINS)).reshape(1, BINS, 1, 1))
    before, after = network.split(network.reshape(mean, 1, 4, count), [2, 2], 1)
    cell = np.stack([x, y])[None]
    if angles is None:
        first = network.add("Sub", cell, before)
        second = network.add("Add", cell, after)
        centre = network.add("Div", network.add("Add", first, second), np.array(2.0))
        size = network.add("Sub", second, first)
    else:
        offset = network.add("Div", network.add("Sub", after, before), np.array(2.0))
        along, across = network.split(offset, [1, 1], 1)
        cos, sin = network.add("Cos", angles[0]), network.add("Sin", angles[0])
        dx = network.add("Sub", network.add("Mul", along, cos), network.add("Mul", across, sin))
        dy = network.add("Add", network.add("Mul", along, sin), network.add("Mul", across, cos))
        centre = network.add("Add", network.add("Concat", dx, dy, axis=1), cell)
        size = network.add("Add", before, after)
    boxes = network.add("Mul", network.add("Concat", centre, size, axis=1),
                        strides.astype(np.float64))
    return boxes, network.add("Sigmoid", network.add("Concat", *scores, axis=2)), count


def yolov8(path, classes=12, transposed=False):
    network = Network(8)
    boxes, scores, count = yolov8_boxes(network, plant(network.random, classes), classes)
    rows = network.add("Concat", boxes, scores, axis=1)
    shape = [1, 4 + classes, count]
    if transposed:
        rows, shape = network.add("Transpose", rows, perm=[0, 2, 1]), [1, count, 4 + classes]
    network.save(path, {"output0": floats(rows, *shape)},
                 None if transposed else ultralytics("detect", classes))


def scores_of(thing, classes, otherwise=-7.0):
    scores = np.full(classes, otherwise)
    scores[thing.label] = thing.score
    return scores


def yolov8_raw(path, classes=12):
    """As boards' converters cut it: distances and scores of each stride, before the decoder."""
    network = Network(24)

    def numbers(thing, stride, column, row):
        distances = turned_sides(thing, stride, column, row, 0)
        sides = distance_logits(np.clip(distances, 0, BINS - 1)).T.ravel()
        return np.concatenate([sides, scores_of(thing, classes)])

    empty = np.concatenate([np.tile([0, 3] + [0] * (BINS - 2), 4), np.full(classes, -7.0)])
    base = empty_and_planted(plant(network.random, classes), STRIDES, len(empty), empty, numbers)
    heads = {
        stride: network.jittered(network.maps[stride], base[stride], 0.8)
        for stride in STRIDES
    }
    network.save(path, {
        f"head_{stride}": floats(heads[stride], 1, len(empty), *cells(stride))
        for stride in STRIDES
    })


def nanodet(path, classes=12, bins=8):
    """NanoDet-Plus: scores and distributions in one output, cells counted from their corners."""
    network = Network(25)
    strides = (8, 16, 32, 64)

    def numbers(thing, stride, column, row):
        x, y = thing.x / stride - column, thing.y / stride - row
        half_width, half_height = thing.width / stride / 2, thing.height / stride / 2
        distances = [half_width - x, half_height - y, half_width + x, half_height + y]
        sides = -2 * (np.arange(bins)[None] - np.clip(distances, 0, bins - 1)[:, None])**2
        return np.concatenate([scores_of(thing, classes), sides.ravel()])

    empty = np.concatenate([np.full(classes, -7.0), np.tile([0, 3] + [0] * (bins - 2), 4)])
    base = empty_and_planted(plant(network.random, classes), strides, len(empty), empty, numbers)
    network.maps[64] = network.add("Relu", network.conv(network.maps[32], FEATURES, FEATURES, 3, 2))
    parts = []
    for stride in strides:
        head = network.jittered(network.maps[stride], base[stride], 0.8)
        scores, sides = network.split(head, [classes, 4 * bins], 1)
        head = network.add("Concat", network.add("Sigmoid", scores), sides, axis=1)
        parts.append(network.reshape(head, 1, len(empty), -1))
    rows = network.add("Transpose", network.add("Concat", *parts, axis=2), perm=[0, 2, 1])
    count = sum(int(np.prod(cells(stride))) for stride in strides)
    network.save(path, {"output": floats(rows, 1, count, len(empty))})


def centernet(path, classes=12):
    network = Network(26)
    things = plant(network.random, classes)
    maps = {}
    for name, channels, empty, numbers, gains in (("hm", classes, -7.0,
                                                   lambda t, s, c, r: scores_of(t, classes), 0.8),
                                                  ("wh", 2, 1.0,
                                                   lambda t, s, c, r: [t.width / s, t.height / s],
                                                   0.5),
                                                  ("reg", 2, 0.5,
                                                   lambda t, s, c, r: [t.x / s - c, t.y / s - r],
                                                   0.1)):
        base = empty_and_planted(things, (4, ), channels, empty, numbers)[4]
        maps[name] = floats(network.jittered(network.maps[4], base, gains), 1, channels, *cells(4))
    network.save(path, maps)


def centerface(path):
    network = Network(27)
    things = [
        t for t in plant(network.random, 1) if t.width / 2 + 8 < t.x < WIDTH - t.width / 2 -
        8 and t.height / 2 + 8 < t.y < HEIGHT - t.height / 2 - 8
    ]
    maps = {}
    for name, channels, empty, numbers, gains in (
        ("heatmap", 1, -7.0, lambda t, s, c, r: [t.score],
         0.8), ("scale", 2, 1.0,
                lambda t, s, c, r: [np.log(t.height / s), np.log(t.width / s)], 0.1),
        ("offset", 2, 0.0, lambda t, s, c, r: [t.y / s - r - 0.5, t.x / s - c - 0.5],
         0.1), ("landmark", 10, 0.5, lambda t, s, c, r: network.random.uniform(0.1, 0.9, 10), 0.1)):
        base = empty_and_planted(things, (4, ), channels, empty, numbers)[4]
        value = network.jittered(network.maps[4], base, gains)
        value = network.add("Sigmoid", value) if name == "heatmap" else value
        maps[name] = floats(value, 1, channels, *cells(4))
    network.save(path, maps)


def point_places(network):
    """Logits of 64 pixels a cell of stride 8, and of none, the last; 200 cells have a point."""
    rows, columns = cells(8)
    base = np.zeros((1, 65, rows, columns))
    base[:, 64] = 8
    for cell in network.random.permutation(rows * columns)[:200]:
        base[0, network.random.integers(64), cell // columns, cell % columns] = 9
    return base


def superpoint(path):
    network = Network(28)
    base = point_places(network)
    rows, columns = base.shape[2:]
    descriptors = network.conv(network.maps[8], FEATURES, 256, 1, 1)
    network.save(
        path, {
            "semi": floats(network.jittered(network.maps[8], base, 1.5), 1, 65, rows, columns),
            "desc": floats(descriptors, 1, 256, rows, columns)
        })


def xfeat(path):
    network = Network(29)
    base = point_places(network)
    rows, columns = base.shape[2:]
    reliability = network.jittered(network.maps[8], np.ones((1, 1, rows, columns)), 1.0)
    network.save(
        path, {
            "feats": floats(network.conv(network.maps[8], FEATURES, 64, 1, 1), 1, 64, rows,
                            columns), "keypoints": floats(
                                network.jittered(network.maps[8], base, 1.5), 1, 65, rows, columns),
            "heatmap": floats(network.add("Sigmoid", reliability), 1, 1, rows, columns)
        })


def yolov8_transposed(path):
    yolov8(path, transposed=True)


def yolov8_pose(path, points=17):
    network = Network(9)
    things = plant(network.random, 1)
    boxes, scores, count = yolov8_boxes(network, things, 1)
    extras = []
    for stride in STRIDES:
        rows, columns = cells(stride)
        base = np.zeros((3 * points, rows, columns))
        for thing in things:
            if stride_of(thing) == stride:
                column, row = int(thing.x / stride), int(thing.y / stride)
                places = network.random.uniform(-0.45, 0.45, (points, 2))
                x = (thing.x + places[:, 0] * thing.width) / stride
                y = (thing.y + places[:, 1] * thing.height) / stride
                numbers = np.stack([(x - column) / 2, (y - row) / 2,
                                    network.random.uniform(-2, 3, points)], 1)
                base[:, row, column] = numbers.ravel()
        moved = network.jittered(network.maps[stride], base[None], 0.1)
        extras.append(network.reshape(moved, 1, 3 * points, -1))
    raw = network.reshape(network.add("Concat", *extras, axis=2), 1, points, 3, count)
    xy, seen = network.split(raw, [2, 1], 2)
    x, y, strides = cell_columns()
    placed = network.add("Add", network.add("Mul", xy, np.array(2.0)), np.stack([x, y])[None, None])
    placed = network.add("Mul", placed, strides.astype(np.float64))
    points_out = network.add("Concat", placed, network.add("Sigmoid", seen), axis=2)
    rows = network.add("Concat", boxes, scores, network.reshape(points_out, 1, 3 * points, count),
                       axis=1)
    network.save(path, {"output0": floats(rows, 1, 5 + 3 * points, count)},
                 ultralytics("pose", 1, kpt_shape=f"[{points}, 3]"))


def yolov8_segment(path, classes=12, coefficients=32):
    network = Network(10)
    things = plant(network.random, classes)
    boxes, scores, count = yolov8_boxes(network, things, classes)
    extras = []
    for stride in STRIDES:
        rows, columns = cells(stride)
        base = np.zeros((coefficients, rows, columns))
        for thing in things:
            if stride_of(thing) == stride:
                base[:, int(thing.y / stride),
                     int(thing.x / stride)] = network.random.normal(0, 1, coefficients)
        moved = network.jittered(network.maps[stride], base[None], 0.3)
        extras.append(network.reshape(moved, 1, coefficients, -1))
    rows = network.add("Concat", boxes, scores, network.add("Concat", *extras, axis=2), axis=1)
    # Waves of several lengths, so that masks have shapes whatever the clip shows.
    height, width = cells(4)
    y, x = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    waves = network.random.normal(0, 0.1, (coefficients, 2))
    base = np.sin(waves[:, 0, None, None] * x + waves[:, 1, None, None] * y)
    prototypes = network.jittered(network.maps[4], base[None], 0.5)
    network.save(
        path, {
            "output0": floats(rows, 1, 4 + classes + coefficients, count), "output1": floats(
                prototypes, 1, coefficients, height, width)
        }, ultralytics("segment", classes))


def yolov8_obb(path, classes=12):
    network = Network(11)
    things = plant(network.random, classes)
    turns = network.random.uniform(-np.pi / 4 + 0.1, 3 * np.pi / 4 - 0.1, len(things))
    raw = []
    for stride in STRIDES:
        rows, columns = cells(stride)
        base = np.zeros((1, rows, columns))
        for thing, turn in zip(things, turns):
            if stride_of(thing) == stride:
                base[0, int(thing.y / stride), int(thing.x / stride)] = logit(turn / np.pi + 0.25)
        moved = network.jittered(network.maps[stride], base[None], 0.1)
        raw.append(network.reshape(moved, 1, 1, -1))
    share = network.add("Sigmoid", network.add("Concat", *raw, axis=2))
    angle = network.add("Mul", network.add("Sub", share, np.array(0.25)), np.array(np.pi))
    boxes, scores, count = yolov8_boxes(network, things, classes, (angle, turns))
    rows = network.add("Concat", boxes, scores, angle, axis=1)
    network.save(path, {"output0": floats(rows, 1, 5 + classes, count)},
                 ultralytics("obb", classes))


def yolov10(path, classes=12, most=100):
    """Ultralytics' end-to-end head: the best boxes picked by TopK, without suppression."""
    network = Network(12)
    boxes, scores, count = yolov8_boxes(network, plant(network.random, classes), classes)
    centre, size = network.split(boxes, [2, 2], 1)
    half = network.add("Div", size, np.array(2.0))
    corners = network.add("Concat", network.add("Sub", centre, half),
                          network.add("Add", centre, half), axis=1)
    corners = network.add("Transpose", corners, perm=[0, 2, 1])
    scores = network.add("Transpose", scores, perm=[0, 2, 1])
    best = network.add("ReduceMax", scores, axes=[2], keepdims=0)
    _, at = network.top_k(best, most, 1)
    at = network.add("Unsqueeze", at, np.array([2], np.int64))
    tile = lambda value, numbers: network.add(  # noqa: E731
        "Expand", value, np.array([1, most, numbers], np.int64))
    corners = network.add("GatherElements", corners, tile(at, 4), axis=1)
    scores = network.add("GatherElements", scores, tile(at, classes), axis=1)
    values, flat = network.top_k(network.reshape(scores, 1, -1), most, 1)
    classes_of = network.add("Mod", flat, np.array([classes], np.int64))
    rows_of = network.add("Div", flat, np.array([classes], np.int64))
    rows_of = network.add("Unsqueeze", rows_of, np.array([2], np.int64))
    corners = network.add("GatherElements", corners, tile(rows_of, 4), axis=1)
    labels = network.add("Cast", classes_of, to=TensorProto.FLOAT)
    picked = network.add("Concat", corners, network.add("Unsqueeze", values, np.array([2],
                                                                                      np.int64)),
                         network.add("Unsqueeze", labels, np.array([2], np.int64)), axis=2)
    network.save(path, {"output0": floats(picked, 1, most, 6)}, ultralytics("detect", classes))


def yolox(path, classes=80, placed=False):
    network = Network(13)
    things = plant(network.random, classes)
    parts = []
    for stride in STRIDES:
        rows, columns = cells(stride)
        base = np.zeros((5 + classes, rows, columns))
        base[:5] = np.reshape([0.5, 0.5, 1, 1, -7], (5, 1, 1))
        base[5:] = -2  # no class is taught where nothing is
        for thing in things:
            if stride_of(thing) == stride:
                column, row = int(thing.x / stride), int(thing.y / stride)
                base[:5, row, column] = [
                    thing.x / stride - column, thing.y / stride - row,
                    np.log(thing.width / stride),
                    np.log(thing.height / stride), thing.score
                ]
                base[5 + thing.label, row, column] = 2.5
        gains = [0.2, 0.2, 0.2, 0.2, 0.8] + [0.3] * classes
        head = network.jittered(network.maps[stride], base[None], gains)
        box, scores = network.split(head, [4, 1 + classes], 1)
        head = network.add("Concat", box, network.add("Sigmoid", scores), axis=1)
        parts.append(network.reshape(head, 1, 5 + classes, -1))
    rows = network.add("Transpose", network.add("Concat", *parts, axis=2), perm=[0, 2, 1])
    x, y, strides = cell_columns()
    if placed:
        grid, stride = np.stack([x, y], 1)[None], strides.astype(np.float64)[None, :, None]
        xy, wh, scores = network.split(rows, [2, 2, 1 + classes], 2)
        xy = network.add("Mul", network.add("Add", xy, grid), stride)
        wh = network.add("Mul", network.add("Exp", wh), stride)
        rows = network.add("Concat", xy, wh, scores, axis=2)
    network.save(path, {"output": floats(rows, 1, len(x), 5 + classes)})


def yolox_placed(path):
    yolox(path, placed=True)


# ---- Heads with few boxes ----


def queries(network, things, count, classes, none, second_class=False):
    """(Q x C logits, Q x 4 boxes as shares): planted, and the rest empty."""
    logits = np.full((count, classes), -6.0)
    boxes = network.random.uniform(0.2, 0.8, (count, 4))
    if none is not None:
        logits[:, none] = 3
    for i, thing in enumerate(things):
        logits[i, thing.label] = thing.score if none is None else thing.score + 4
        if second_class and i % 4 == 0:
            logits[i, (thing.label + 1) % (classes if none is None else none)] = 0.3
        boxes[i] = [thing.x / WIDTH, thing.y / HEIGHT, thing.width / WIDTH, thing.height / HEIGHT]
    order = network.random.permutation(count)
    return logits[order], boxes[order]


def detr(path, classes=91, count=100):
    network = Network(14)
    logits, boxes = queries(network, plant(network.random, classes), count, classes + 1, classes)
    network.save(
        path, {
            "logits": floats(network.pooled(logits[None], 0.8), 1, count, classes + 1),
            "pred_boxes": floats(network.pooled(boxes[None], 0.02), 1, count, 4)
        })


def rt_detr(path, classes=80, count=100):
    network = Network(15)
    logits, boxes = queries(network, plant(network.random, classes), count, classes, None, True)
    network.save(
        path, {
            "logits": floats(network.pooled(logits[None], 0.8), 1, count, classes),
            "pred_boxes": floats(network.pooled(boxes[None], 0.02), 1, count, 4)
        })


def rt_detr_rows(path, classes=80, count=100):
    """As Ultralytics exports it: one output, with scores."""
    network = Network(16)
    logits, boxes = queries(network, plant(network.random, classes), count, classes, None)
    scores = network.add("Sigmoid", network.pooled(logits[None], 0.8))
    rows = network.add("Concat", network.pooled(boxes[None], 0.02), scores, axis=2)
    network.save(path, {"output0": floats(rows, 1, count, 4 + classes)},
                 ultralytics("detect", classes))


def picked(network, classes, count=50):
    """Scores, labels and corners (as shares), best first, as suppression leaves them."""
    things = [t for t in plant(network.random, classes) if t.score > 0]
    things.sort(key=lambda thing: -thing.score)
    corners = np.zeros((count, 4))
    scores, labels = np.zeros(count), np.zeros(count)
    gains = np.zeros(count)
    for i, t in enumerate(things[:count]):
        corners[i] = [(t.x - t.width / 2) / WIDTH, (t.y - t.height / 2) / HEIGHT,
                      (t.x + t.width / 2) / WIDTH, (t.y + t.height / 2) / HEIGHT]
        scores[i], labels[i], gains[i] = 1 / (1 + np.exp(-t.score)) - 0.25, t.label, 1
    return corners, scores, labels, gains


def nms_outputs(path, classes=12):
    """EfficientNMS: num_dets, boxes in pixels, scores, classes."""
    network = Network(17)
    corners, scores, labels, gains = picked(network, classes)
    count = len(scores)
    pixels = corners * [WIDTH, HEIGHT, WIDTH, HEIGHT]
    found = network.pooled(np.array([[float(np.count_nonzero(scores))]]), 0)
    named = network.pooled(labels[None], 0)
    network.save(
        path, {
            "num_dets": (network.add("Cast", found, to=TensorProto.INT32), [1, 1
                                                                            ], TensorProto.INT32),
            "det_boxes": floats(network.pooled(pixels[None], 4 * gains[:, None]), 1, count, 4),
            "det_scores": floats(network.pooled(
                scores[None], 0.2 * gains), 1, count), "det_classes": (network.add(
                    "Cast", named, to=TensorProto.INT32), [1, count], TensorProto.INT32)
        })


def tf_detection(path, classes=90):
    """TensorFlow's: shares; top, left, bottom, right; classes from 1."""
    network = Network(18)
    corners, scores, labels, gains = picked(network, classes)
    count = len(scores)
    rows = corners[:, [1, 0, 3, 2]]
    found = network.pooled(np.array([float(np.count_nonzero(scores))]), 0)
    network.save(
        path, {
            "detection_boxes": floats(network.pooled(
                rows[None], 0.02 * gains[:, None]), 1, count, 4), "detection_classes": floats(
                    network.pooled(labels[None] + 1, 0), 1, count), "detection_scores": floats(
                        network.pooled(scores[None], 0.2 * gains), 1, count),
            "num_detections": floats(found, 1)
        })


def yolov7_end_to_end(path, classes=12):
    """N x 7, as YOLOv7's exporter gives: picture, corners in pixels, class, score."""
    network = Network(19)
    corners, scores, labels, gains = picked(network, classes)
    count = len(scores)
    rows = np.concatenate([
        np.zeros(
            (count, 1)), corners * [WIDTH, HEIGHT, WIDTH, HEIGHT], labels[:, None], scores[:, None]
    ], 1)
    steps = gains[:, None] * [0, 4, 4, 4, 4, 0, 0.2]
    network.save(path, {"output": floats(network.pooled(rows, steps), count, 7)})


# ---- Heads without boxes ----


def heat_maps(path, points=17):
    network = Network(20)
    height, width = cells(4)
    y, x = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    places = network.random.uniform(0.1, 0.9, (points, 2)) * [width, height]
    base = np.exp(-((x - places[:, 0, None, None])**2 + (y - places[:, 1, None, None])**2) / 8)
    network.save(
        path, {
            "heatmaps": floats(network.jittered(network.maps[4], base[None], 0.4), 1, points,
                               height, width)
        })


def classifier(path, classes=1000):
    network = Network(21, 224, 224)
    logits = network.pooled(network.random.normal(0, 1, (1, classes)), 2.0)
    network.save(path, {"logits": floats(logits, 1, classes)})


def embedder(path, numbers=128):
    network = Network(22)
    row = network.pooled(np.zeros((1, numbers)), 1.0)
    length = network.add("ReduceL2", row, axes=[1], keepdims=1)
    length = network.add("Expand", network.add("Clip", length, np.array(1e-12)),
                         np.array([1, numbers], np.int64))
    network.save(path, {"embedding": floats(network.add("Div", row, length), 1, numbers)})


def segmenter(path, classes=19):
    """Scores at an eighth of the picture's size."""
    network = Network(23)
    height, width = cells(8)
    y, x = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    waves = network.random.normal(0, 0.2, (classes, 2))
    base = np.sin(waves[:, 0, None, None] * x + waves[:, 1, None, None] * y)
    network.save(path, {
        "scores": floats(network.jittered(network.maps[8], base[None], 1.5), 1, classes, height,
                         width)
    })
