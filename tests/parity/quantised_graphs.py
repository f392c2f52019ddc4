"""Random small quantised ONNX models: one operator between QuantizeLinear and DequantizeLinear."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSETS = (13, 17, 19, 21)
STEP_TYPES = {"u8": np.uint8, "s8": np.int8}


class QuantisedGraph:
    """A model from x to y; `scale` is that of y's numbers."""

    def __init__(self, random):
        self.random = random
        self.nodes = []
        self.constants = []
        self.count = 0
        self.scale = None

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def constant(self, stem, numbers):
        name = self.name(stem)
        self.constants.append(numpy_helper.from_array(np.asarray(numbers), name))
        return name

    def add(self, kind, inputs, **attributes):
        output = self.name(kind)
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def round(self, x, reach):
        """x as 8-bit numbers for about [-reach, reach] would have it."""
        kind = STEP_TYPES[str(self.random.choice(list(STEP_TYPES)))]
        low = np.iinfo(kind).min
        self.scale = np.float32(reach * self.random.uniform(0.005, 0.012))
        zero = kind(low + self.random.integers(90, 166))
        steps = [self.constant("scale", self.scale), self.constant("zero", zero)]
        return self.add("DequantizeLinear", [self.add("QuantizeLinear", [x, *steps]), *steps])

    def weights(self, shape, axis=0):
        """8-bit weights behind DequantizeLinear, of either type, with one scale or many; those are
        of the outputs, which `axis` counts."""
        kind = STEP_TYPES[str(self.random.choice(list(STEP_TYPES)))]
        limits = np.iinfo(kind)
        numbers = self.random.integers(limits.min, limits.max + 1, shape).astype(kind)
        by_channel = bool(self.random.integers(2))
        count = shape[axis] if by_channel else 1
        scales = self.random.uniform(0.5, 1.5, count) / 100 / np.sqrt(np.prod(shape) / shape[axis])
        middle = (limits.min + limits.max + 1) // 2
        zeros = middle + self.random.integers(-30, 31, count) * self.random.integers(2)
        if not by_channel:
            scales, zeros = scales[0], zeros[0]
        attributes = {"axis": axis} if by_channel else {}
        return self.add("DequantizeLinear",
                        [self.constant("w", numbers),
                         self.constant("scale", np.asarray(scales, np.float32)),
                         self.constant("zero", np.asarray(zeros, kind))], **attributes)


def conv(graph, x, channels, _):
    kernel = int(graph.random.choice([1, 3]))
    groups = int(graph.random.choice([1, channels]))
    outputs = channels * int(graph.random.integers(1, 3)) if groups > 1 else 13
    weights = graph.weights((outputs, channels // groups, kernel, kernel))
    stride = int(graph.random.integers(1, 3))
    y = graph.add("Conv", [x, weights], group=groups, pads=[kernel // 2] * 4,
                  strides=[stride, stride])
    follower = str(graph.random.choice(["", "Relu"]))
    return graph.add(follower, [y]) if follower else y


def silu(graph, x, *_):
    return graph.add("Mul", [x, graph.round(graph.add("Sigmoid", [x]), 1.0)])


def function(graph, x, *_):
    return graph.add(str(graph.random.choice(["Tanh", "Sigmoid", "Relu"])), [x])


def two_maps(graph, x, *_):
    other = graph.round(x, 2.0)
    return graph.add(str(graph.random.choice(["Add", "Mul"])), [x, other])


def pool(graph, x, *_):
    kind = str(graph.random.choice(["MaxPool", "AveragePool"]))
    return graph.add(kind, [x], kernel_shape=[3, 3], pads=[1, 1, 1, 1])


def concat(graph, x, *_):
    return graph.add("Concat", [x, graph.round(x, 1.5)], axis=1)


def resize(graph, x, *_):
    scales = graph.constant("twice", np.array([1, 1, 2, 2], np.float32))
    return graph.add("Resize", [x, "", scales], mode="nearest", nearest_mode="floor",
                     coordinate_transformation_mode="asymmetric")


def product(graph, x, channels, size):
    """As a classifier ends: of all numbers of the map, or of its rows."""
    outputs = int(graph.random.integers(1, 30))
    is_gemm = bool(graph.random.integers(2))
    inputs = channels * size[0] * size[1] if is_gemm else size[1]
    shape = graph.constant("shape", np.array([1, inputs] if is_gemm else [0, channels, -1, inputs],
                                             np.int64))
    flat = graph.round(graph.add("Reshape", [x, shape]), 1.0)
    if not is_gemm:
        return graph.add("MatMul", [flat, graph.weights((inputs, outputs), axis=1)])
    transposed = int(graph.random.integers(2))
    weights = (graph.weights((outputs, inputs)) if transposed
               else graph.weights((inputs, outputs), axis=1))
    y = graph.add("Gemm", [flat, weights], transB=transposed)
    return graph.add("Relu", [y]) if graph.random.integers(2) else y


MAKERS = (conv, conv, conv, silu, function, two_maps, pool, concat, resize, product, product)


def make(random):
    """(model, operator's name, scale of the output's steps)"""
    graph = QuantisedGraph(random)
    channels = int(random.choice([3, 4, 8, 20]))
    maker = MAKERS[random.integers(len(MAKERS))]
    size = [int(random.integers(5, 20)), int(random.integers(5, 20))]
    output = maker(graph, graph.round("x", 1.0), channels, size)
    graph.nodes.append(helper.make_node("Identity", [graph.round(output, 1.0)], ["y"]))
    shape = [1, channels, *size]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "quantised",
                          [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                          graph.constants),
        opset_imports=[helper.make_opsetid("", int(random.choice(OPSETS)))])
    model.ir_version = 8
    return model, maker.__name__, float(graph.scale)
