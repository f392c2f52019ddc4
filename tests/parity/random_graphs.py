"""Random small ONNX graphs over every operator that the importer understands.

A graph grows node by node. Each step picks an operator and a value that is there, makes attributes
and constants for it, and asks ONNX Runtime for the result: a step that gives no ordinary numbers, or
that the runtime refuses, is taken back. So every graph is valid, and its shapes are known.
"""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

LARGEST_VALUE = 1e3
# Numbers that hardly differ leave nothing but rounding errors once their mean is taken away.
SMALLEST_SPREAD = 0.05
LARGEST_COUNT = 1 << 15
OPSETS = range(9, 22)

STEPS = []


def step(function):
    """Registers a way to grow a graph: called with the graph and the name of a value."""
    STEPS.append(function)
    return function


class Rejected(Exception):
    """The step does not fit the value or the operator set."""


class RandomGraph:
    def __init__(self, random, open_session):
        self.random = random
        self.open_session = open_session
        self.opset = int(random.choice(OPSETS))
        self.nodes = []
        self.initializers = []
        self.values = {}
        self.operators = []
        shape = [int(random.choice([1, 1, 2])), int(random.integers(1, 9)),
                 int(random.integers(4, 14)), int(random.integers(4, 14))]
        self.values["x"] = random.uniform(-1, 1, shape).astype(np.float32)
        self.number = 0

    # ---- What steps use ----

    def shape(self, name):
        return list(self.values[name].shape)

    def require(self, condition):
        if not condition:
            raise Rejected

    def whole(self, low, high):
        """A whole number, both ends included."""
        self.require(low <= high)
        return int(self.random.integers(low, high + 1))

    def pick(self, *choices):
        return choices[self.whole(0, len(choices) - 1)]

    def fresh(self):
        self.number += 1
        return f"v{self.number}"

    def floats(self, shape, low=-0.5, high=0.5):
        name = self.fresh()
        values = self.random.uniform(low, high, shape).astype(np.float32)
        self.initializers.append(numpy_helper.from_array(values, name))
        return name

    def constant(self, values, dtype=np.int64):
        name = self.fresh()
        self.initializers.append(numpy_helper.from_array(np.array(values, dtype), name))
        return name

    def add(self, kind, inputs, outputs=1, **attributes):
        names = [self.fresh() for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, name=f"{kind}_{self.number}",
                                           **attributes))
        return names[0] if outputs == 1 else names

    # ---- Growing ----

    def model(self, outputs):
        graph = helper.make_graph(
            self.nodes, "random",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape("x"))],
            [helper.make_empty_tensor_value_info(name) for name in outputs], self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        model.ir_version = 7
        return model

    def evaluate(self, outputs):
        session = self.open_session(self.model(outputs).SerializeToString())
        return session.run(outputs, {"x": self.values["x"]})

    def try_step(self, function, name):
        nodes, initializers = len(self.nodes), len(self.initializers)
        try:
            outputs = function(self, name)
            outputs = [outputs] if isinstance(outputs, str) else outputs
            results = self.evaluate(outputs)
            for result in results:
                ordinary = (result.size > 0 and result.size <= LARGEST_COUNT and result.ndim <= 5
                            and np.isfinite(result).all()
                            and np.abs(result).max() <= LARGEST_VALUE)
                self.require(ordinary)
                largest = np.abs(result).max()
                self.require(result.size == 1 or np.ptp(result) >= SMALLEST_SPREAD * largest)
        except Rejected:
            outputs = None
        except Exception as error:  # ONNX Runtime has no narrower common class
            if type(error).__module__.split(".")[0] != "onnxruntime":
                raise
            outputs = None
        if outputs is None:
            del self.nodes[nodes:]
            del self.initializers[initializers:]
            return None
        self.operators += [node.op_type for node in self.nodes[nodes:]]
        for output, result in zip(outputs, results):
            self.values[output] = result
        return outputs


def make(random, open_session, steps=None):
    """(model, names of its operators)."""
    graph = RandomGraph(random, open_session)
    wanted = graph.whole(2, 9)
    current = "x"
    grown = 0
    for _ in range(200):
        if grown == wanted:
            break
        function = STEPS[graph.whole(0, len(STEPS) - 1)]
        outputs = graph.try_step(function, current)
        if outputs:
            grown += 1
            current = outputs[graph.whole(0, len(outputs) - 1)]
    outputs = {current}
    if graph.whole(0, 2) == 0:
        indices = graph.try_step(arg_extreme, "x")
        outputs.update(indices or [])
    outputs.discard("x")
    if not outputs:
        outputs = set(graph.try_step(lambda g, v: g.add("Relu", [v]), "x"))
    return graph.model(sorted(outputs)), graph.operators


def arg_extreme(graph, name):
    axis = graph.whole(-4, 3)
    return graph.add(graph.pick("ArgMax", "ArgMax", "ArgMin"), [name], axis=axis,
                     keepdims=graph.whole(0, 1))


# ---- Windows ----


def window(graph, name, largest=3):
    """Kernel, stride, dilation and padding for a picture or a signal."""
    spatial = len(graph.shape(name)) - 2
    graph.require(spatial in (1, 2))
    kernel = [graph.whole(1, largest) for _ in range(spatial)]
    attributes = {"kernel_shape": kernel, "strides": [graph.whole(1, 2) for _ in kernel]}
    dilations = [graph.whole(1, 2) if k > 1 else 1 for k in kernel]
    if graph.whole(0, 2) == 0:
        attributes["dilations"] = dilations
    else:
        dilations = [1] * spatial
    how = graph.whole(0, 4)
    if how == 0:
        attributes["auto_pad"] = graph.pick("SAME_UPPER", "SAME_LOWER", "VALID")
    elif how < 4:
        attributes["pads"] = [graph.whole(0, (k - 1) * d) for k, d in
                              list(zip(kernel, dilations)) * 2]
    return kernel, attributes


def no_window_outside(graph, name, attributes):
    """With ceil_mode, ONNX Runtime keeps windows that start behind the picture, against ONNX."""
    kernel = attributes["kernel_shape"]
    count = len(kernel)
    pads = attributes.get("pads", [0] * 2 * count)
    dilations = attributes.get("dilations", [1] * count)
    for i, size in enumerate(graph.shape(name)[2:]):
        extent = (kernel[i] - 1) * dilations[i] + 1
        stride = attributes["strides"][i]
        windows = -(-(size + pads[i] + pads[i + count] - extent) // stride) + 1
        graph.require((windows - 1) * stride < size + pads[i])


@step
def conv(graph, name):
    kernel, attributes = window(graph, name)
    channels = graph.shape(name)[1]
    groups = graph.pick(*[g for g in range(1, channels + 1) if channels % g == 0])
    out = groups * graph.whole(1, 3)
    inputs = [name, graph.floats([out, channels // groups] + kernel)]
    if graph.whole(0, 1):
        inputs.append(graph.floats([out]))
    if graph.whole(0, 3) == 0:
        del attributes["kernel_shape"]
    return graph.add("Conv", inputs, group=groups, **attributes)


@step
def conv_norm_activation(graph, name):
    out = conv(graph, name)
    weights = [i for i in graph.initializers if i.name == graph.nodes[-1].input[1]][0]
    out = batch_norm_of(graph, out, weights.dims[0])
    return graph.add(graph.pick("Relu", "Sigmoid", "Tanh", "LeakyRelu"), [out])


@step
def conv_transpose(graph, name):
    shape = graph.shape(name)
    spatial = len(shape) - 2
    graph.require(spatial in (1, 2) and max(shape[2:]) <= 24)
    kernel = [graph.whole(1, 4) for _ in range(spatial)]
    strides = [graph.whole(1, 3) for _ in kernel]
    attributes = {"strides": strides}
    how = graph.whole(0, 4)
    if how == 0:
        # A kernel smaller than the stride would need an output that ONNX Runtime does not give.
        graph.require(all(k >= s for k, s in zip(kernel, strides)))
        attributes["auto_pad"] = graph.pick("SAME_UPPER", "SAME_LOWER", "VALID")
    elif how == 1:
        attributes["output_shape"] = [(size - 1) * s + k - graph.whole(0, min(k - 1, 2)) for
                                      size, s, k in zip(shape[2:], strides, kernel)]
    else:
        attributes["pads"] = [graph.whole(0, (k - 1) // 2) for k in kernel * 2]
        attributes["output_padding"] = [graph.whole(0, s - 1) for s in strides]
    channels = shape[1]
    groups = graph.pick(*[g for g in range(1, channels + 1) if channels % g == 0])
    inputs = [name, graph.floats([channels, graph.whole(1, 3)] + kernel)]
    if graph.whole(0, 1):
        inputs.append(graph.floats([groups * graph.initializers[-1].dims[1]]))
    return graph.add("ConvTranspose", inputs, group=groups, **attributes)


@step
def max_pool(graph, name):
    _, attributes = window(graph, name)
    if graph.opset < 10 or "auto_pad" in attributes:
        attributes.pop("dilations", None)
    if graph.opset >= 10 and "auto_pad" not in attributes:
        attributes["ceil_mode"] = graph.whole(0, 1)
        no_window_outside(graph, name, attributes)
    return graph.add("MaxPool", [name], **attributes)


@step
def average_pool(graph, name):
    _, attributes = window(graph, name)
    attributes.pop("dilations", None)
    if "pads" in attributes:
        attributes["pads"] = [min(p, k - 1) for p, k in
                              zip(attributes["pads"], attributes["kernel_shape"] * 2)]
    # With both, ONNX Runtime's own versions disagree about the last window.
    attributes["count_include_pad"] = graph.whole(0, 1)
    if graph.opset >= 10 and "auto_pad" not in attributes and not attributes["count_include_pad"]:
        attributes["ceil_mode"] = graph.whole(0, 1)
        no_window_outside(graph, name, attributes)
    return graph.add("AveragePool", [name], **attributes)


@step
def global_pool(graph, name):
    graph.require(len(graph.shape(name)) in (3, 4))
    return graph.add(graph.pick("GlobalAveragePool", "GlobalMaxPool"), [name])


@step
def resize(graph, name):
    shape = graph.shape(name)
    graph.require(len(shape) == 4)
    scales = [1.0, 1.0] + [float(graph.pick(0.5, 1.0, 1.5, 2.0, 2.7)) for _ in range(2)]
    if graph.opset < 11:
        kind = "Upsample" if graph.opset == 9 else "Resize"
        if kind == "Upsample":
            scales = [1.0, 1.0] + [float(graph.pick(1.0, 2.0, 3.0)) for _ in range(2)]
        return graph.add(kind, [name, graph.constant(scales, np.float32)],
                         mode=graph.pick("nearest", "linear"))
    attributes = {
        "mode": graph.pick("nearest", "linear", "cubic"),
        "coordinate_transformation_mode": graph.pick("half_pixel", "pytorch_half_pixel",
                                                     "align_corners", "asymmetric"),
    }
    if attributes["mode"] == "nearest":
        attributes["nearest_mode"] = graph.pick("round_prefer_floor", "round_prefer_ceil", "floor",
                                                "ceil")
    if graph.opset < 13 and attributes["mode"] == "nearest" and graph.whole(0, 3) == 0:
        attributes["coordinate_transformation_mode"] = "tf_half_pixel_for_nn"
        attributes["nearest_mode"] = graph.pick("round_prefer_floor", "floor")
    if attributes["mode"] == "cubic" and graph.whole(0, 1):
        attributes["cubic_coeff_a"] = -0.5
    roi = "" if graph.opset >= 13 else graph.constant([], np.float32)
    if graph.whole(0, 1):
        return graph.add("Resize", [name, roi, graph.constant(scales, np.float32)], **attributes)
    sizes = shape[:2] + [max(1, int(size * scale)) for size, scale in zip(shape[2:], scales[2:])]
    if graph.opset >= 18 and graph.whole(0, 1):
        attributes["axes"] = [2, 3]
        sizes = sizes[2:]
    empty = "" if graph.opset >= 13 else graph.constant([], np.float32)
    return graph.add("Resize", [name, roi, empty, graph.constant(sizes)], **attributes)


@step
def depth_to_space(graph, name):
    shape = graph.shape(name)
    block = graph.pick(2, 2, 3)
    graph.require(len(shape) == 4 and shape[1] % (block * block) == 0)
    mode = {"mode": graph.pick("DCR", "CRD")} if graph.opset >= 11 else {}
    return graph.add("DepthToSpace", [name], blocksize=block, **mode)


@step
def space_to_depth(graph, name):
    shape = graph.shape(name)
    graph.require(len(shape) == 4 and shape[2] % 2 == 0 and shape[3] % 2 == 0)
    return graph.add("SpaceToDepth", [name], blocksize=2)


# ---- Norms and matrices ----


def batch_norm_of(graph, name, channels):
    return graph.add("BatchNormalization",
                     [name] + [graph.floats([channels], 0.5, 1.5) for _ in range(4)],
                     epsilon=1e-3)


@step
def batch_norm(graph, name):
    graph.require(len(graph.shape(name)) >= 2)
    return batch_norm_of(graph, name, graph.shape(name)[1])


@step
def instance_norm(graph, name):
    shape = graph.shape(name)
    graph.require(len(shape) in (3, 4) and np.prod(shape[2:]) > 4)
    return graph.add("InstanceNormalization",
                     [name] + [graph.floats([shape[1]]) for _ in range(2)], epsilon=1e-3)


@step
def layer_norm(graph, name):
    shape = graph.shape(name)
    graph.require(graph.opset >= 17)
    axis = graph.whole(-len(shape), -1)
    graph.require(np.prod(shape[axis:]) > 4)
    inputs = [name] + [graph.floats(shape[axis:]) for _ in range(graph.whole(1, 2))]
    return graph.add("LayerNormalization", inputs, axis=axis, epsilon=1e-3)


@step
def group_norm(graph, name):
    shape = graph.shape(name)
    graph.require((graph.opset == 18 or graph.opset >= 21) and len(shape) == 4)
    groups = graph.pick(*[g for g in range(1, shape[1] + 1) if shape[1] % g == 0])
    graph.require(np.prod(shape[1:]) // groups > 4)
    return graph.add("GroupNormalization",
                     [name] + [graph.floats([groups if graph.opset == 18 else shape[1]])
                               for _ in range(2)],
                     num_groups=groups, epsilon=1e-3)


@step
def mat_mul(graph, name):
    shape = graph.shape(name)
    graph.require(len(shape) >= 2)
    if graph.whole(0, 2) == 0:  # by itself
        order = list(range(len(shape)))
        order[-2:] = order[-1], order[-2]
        return graph.add("MatMul", [name, graph.add("Transpose", [name], perm=order)])
    if graph.whole(0, 3) == 0:
        return graph.add("MatMul", [graph.floats([graph.whole(1, 5), shape[-2]]), name])
    out = [] if graph.whole(0, 4) == 0 else [graph.whole(1, 6)]
    out = graph.add("MatMul", [name, graph.floats([shape[-1]] + out)])
    return graph.add("Add", [out, graph.floats([1])]) if graph.whole(0, 1) else out


@step
def gemm(graph, name):
    if len(graph.shape(name)) != 2:
        shape = graph.shape(name)
        graph.require(shape and graph.whole(0, 2) == 0)
        name = graph.add("Flatten", [name], axis=1)
        rows, depth = shape[0], int(np.prod(shape[1:]))
    else:
        rows, depth = graph.shape(name)
    transpose_a, transpose_b, columns = graph.whole(0, 1), graph.whole(0, 1), graph.whole(1, 6)
    if transpose_a:
        rows, depth = depth, rows
    inputs = [name, graph.floats([columns, depth] if transpose_b else [depth, columns])]
    if graph.opset < 11 or graph.whole(0, 3):
        inputs.append(graph.floats(graph.pick([columns], [1, columns], [1], [rows, columns],
                                              [rows, 1])))
    return graph.add("Gemm", inputs, transA=transpose_a, transB=transpose_b,
                     alpha=graph.pick(1.0, 0.5), beta=graph.pick(1.0, 2.0))


# ---- Functions ----


@step
def plain_function(graph, name):
    kind = graph.pick("Relu", "Sigmoid", "Tanh", "Softplus", "Erf", "Exp", "Abs", "Neg", "Sin",
                      "Gelu", "Cos", "Identity", "Dropout", "Softsign", "Elu", "Selu", "HardSigmoid",
                      "LeakyRelu", "HardSwish", "Mish")
    graph.require(graph.opset >= {"HardSwish": 14, "Mish": 18, "Gelu": 20}.get(kind, 0))
    return graph.add(kind, [name])


@step
def function_with_parameters(graph, name):
    return graph.pick(
        lambda: graph.add("LeakyRelu", [name], alpha=0.3),
        lambda: graph.add("Elu", [name], alpha=0.7),
        lambda: graph.add("HardSigmoid", [name], alpha=0.3, beta=0.4),
        lambda: graph.add("Selu", [name], alpha=1.5, gamma=1.2))()


@step
def function_of_positives(graph, name):
    positive = graph.add("Add", [graph.add("Abs", [name]), graph.constant([0.3], np.float32)])
    return graph.add(graph.pick("Sqrt", "Log", "Reciprocal"), [positive])


@step
def rounding(graph, name):
    """Only of the input, whose numbers both sides share to the last bit."""
    graph.require(graph.opset >= 11)
    scaled = graph.add("Mul", ["x", graph.constant([4.0], np.float32)])
    return graph.add(graph.pick("Floor", "Ceil", "Round"), [scaled])


@step
def clip(graph, name):
    low, high = graph.pick((0.0, 6.0), (-0.5, 0.5), (0.0, None), (None, 0.4))
    if graph.opset < 11:
        attributes = {"min": low, "max": high}
        return graph.add("Clip", [name], **{k: v for k, v in attributes.items() if v is not None})
    inputs = [name, "" if low is None else graph.constant(low, np.float32)]
    if high is not None:
        inputs.append(graph.constant(high, np.float32))
    return graph.add("Clip", inputs)


@step
def parametric_relu(graph, name):
    shape = graph.shape(name)
    graph.require(len(shape) >= 2)
    slope = graph.pick([shape[1]] + [1] * (len(shape) - 2), [1], shape[1:], shape[-1:])
    return graph.add("PRelu", [name, graph.floats(slope)])


@step
def composed_activation(graph, name):
    def silu():
        return graph.add("Mul", [name, graph.add("Sigmoid", [name])])

    def gelu():
        inner = graph.add("Div", [name, graph.constant(np.sqrt(2), np.float32)])
        inner = graph.add("Add", [graph.add("Erf", [inner]), graph.constant(1, np.float32)])
        return graph.add("Mul", [graph.add("Mul", [name, inner]), graph.constant(0.5, np.float32)])

    def hard_swish():
        three = graph.constant(3, np.float32)
        inner = graph.add("Add", [name, three])
        if graph.opset < 11:
            inner = graph.add("Clip", [inner], min=0.0, max=6.0)
        else:
            inner = graph.add("Clip", [inner, graph.constant(0, np.float32),
                                       graph.constant(6, np.float32)])
        return graph.add("Div", [graph.add("Mul", [name, inner]), graph.constant(6, np.float32)])

    def mish():
        return graph.add("Mul", [name, graph.add("Tanh", [graph.add("Softplus", [name])])])

    return graph.pick(silu, gelu, hard_swish, mish)()


@step
def soft_max(graph, name):
    axis = graph.whole(-len(graph.shape(name)) if graph.opset >= 11 else 0,
                       len(graph.shape(name)) - 1)
    return graph.add(graph.pick("Softmax", "LogSoftmax"), [name], axis=axis)


@step
def local_response_norm(graph, name):
    shape = graph.shape(name)
    graph.require(len(shape) == 4)
    return graph.add("LRN", [name], size=graph.whole(1, shape[1] + 1), alpha=graph.pick(0.5, 2.0),
                     beta=graph.pick(0.75, 0.5), bias=graph.pick(1.0, 2.0))


# ---- Choices: only of the input, whose numbers both sides share to the last bit ----


def whole_numbers(graph):
    graph.require(graph.opset >= 13)
    return graph.add("Cast", [graph.add("Mul", ["x", graph.constant([7.0], np.float32)])],
                     to=TensorProto.INT64)


def as_floats(graph, name):
    return graph.add("Cast", [name], to=TensorProto.FLOAT)


@step
def integer_arithmetic(graph, name):
    numbers = whole_numbers(graph)
    other = graph.constant([graph.pick(2, 3, -3, 5)])
    kind = graph.pick("Add", "Sub", "Mul", "Div", "Mod", "Max", "Min")
    attributes = {"fmod": graph.whole(0, 1)} if kind == "Mod" else {}
    return as_floats(graph, graph.add(kind, [numbers, other], **attributes))


@step
def choice(graph, name):
    numbers = whole_numbers(graph)
    kind = graph.pick("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")
    chosen = graph.add(kind, [numbers, graph.constant([graph.whole(-2, 2)])])
    more = graph.add("Cast", [graph.add("Add", [numbers, graph.constant([1])])],
                     to=TensorProto.BOOL)
    chosen = graph.pick(chosen, graph.add("Not", [chosen]), more,
                        graph.add(graph.pick("And", "Or", "Xor"), [chosen, more]))
    if graph.shape(name) != graph.shape("x"):
        return as_floats(graph, chosen)
    return graph.add("Where", [chosen, name, graph.floats([1])])


@step
def sign(graph, name):
    return graph.add("Sign", [graph.add("Sub", ["x", graph.constant([0.1], np.float32)])])


@step
def top_numbers(graph, name):
    graph.require(graph.opset >= 11)
    shape = graph.shape("x")
    axis = graph.whole(0, len(shape) - 1)
    inputs = ["x", graph.constant([graph.whole(1, shape[axis])])]
    values, indices = graph.add("TopK", inputs, 2, axis=axis, largest=graph.whole(0, 1))
    return graph.pick(
        lambda: values,
        lambda: as_floats(graph, indices),
        lambda: graph.add("GatherElements", ["x", indices], axis=axis))()


@step
def gather_by_value(graph, name):
    shape = graph.shape("x")
    axis = graph.whole(0, len(shape) - 1)
    largest = graph.add("ArgMax", ["x"], axis=axis, keepdims=graph.whole(0, 1))
    table = graph.floats([graph.whole(2, 4), shape[axis]])
    graph.require(graph.opset >= 11)
    return graph.add("Gather", [table, largest], axis=1)


@step
def gather_nd(graph, name):
    graph.require(graph.opset >= 12)
    shape = graph.shape(name)
    graph.require(len(shape) >= 2)
    depth = graph.whole(1, len(shape))
    indices = [[graph.whole(-size, size - 1) for size in shape[:depth]]
               for _ in range(graph.whole(2, 5))]
    return graph.add("GatherND", [name, graph.constant(indices)])


@step
def cumulative_sum(graph, name):
    graph.require(graph.opset >= 11)
    rank = len(graph.shape(name))
    graph.require(rank >= 1)
    return graph.add("CumSum", [name, graph.constant(graph.whole(-rank, rank - 1))],
                     exclusive=graph.whole(0, 1), reverse=graph.whole(0, 1))


@step
def grid_sample(graph, name):
    shape = graph.shape(name)
    graph.require(graph.opset >= 16 and len(shape) == 4)
    grid = graph.floats([shape[0], graph.whole(1, 5), graph.whole(1, 5), 2], -1.2, 1.2)
    mode = "linear" if graph.opset >= 20 else "bilinear"
    return graph.add("GridSample", [name, grid], mode=mode,
                     padding_mode=graph.pick("zeros", "border"), align_corners=graph.whole(0, 1))


# ---- Arithmetic ----


def operand_shape(graph, shape):
    shape = [size if graph.whole(0, 2) else 1 for size in shape]
    return shape[graph.whole(0, len(shape) - 1):] if graph.whole(0, 2) == 0 else shape


@step
def with_constant(graph, name):
    constant = graph.floats(operand_shape(graph, graph.shape(name) or [1]), 0.3, 1.2)
    kind = graph.pick("Add", "Sub", "Mul", "Div", "Min", "Max")
    inputs = [name, constant]
    if graph.whole(0, 2) == 0:
        graph.require(kind != "Div")
        inputs.reverse()
    return graph.add(kind, inputs)


@step
def power(graph, name):
    base = graph.add("Abs", [name])
    base = graph.add("Add", [base, graph.constant([0.1], np.float32)])
    exponents = [graph.constant(graph.pick(2.0, 0.5, 3.0, 1.3), np.float32)]
    if graph.opset >= 12:
        exponents.append(graph.constant(graph.pick(2, 3, -1)))
    return graph.add("Pow", [base, graph.pick(*exponents)])


@step
def of_two_values(graph, name):
    other = graph.pick(*graph.values)
    return graph.add(graph.pick("Add", "Sub", "Mul", "Min", "Max"), [name, other])


@step
def of_many_values(graph, name):
    others = [graph.floats(graph.shape(name)) for _ in range(graph.whole(0, 2))]
    return graph.add(graph.pick("Sum", "Max", "Min", "Mean"), [name] + others)


@step
def residual(graph, name):
    return graph.add("Relu", [graph.add("Add", [graph.add("Tanh", [name]), name])])


@step
def gate(graph, name):
    """Squeeze and excitation."""
    shape = graph.shape(name)
    graph.require(len(shape) == 4)
    pooled = graph.add("GlobalAveragePool", [name])
    weights = graph.floats([shape[1], shape[1], 1, 1])
    return graph.add("Mul", [name, graph.add("Sigmoid", [graph.add("Conv", [pooled, weights])])])


# ---- Moving ----


@step
def concat(graph, name):
    shape = graph.shape(name)
    graph.require(shape)
    axis = graph.whole(-len(shape) if graph.opset >= 11 else 0, len(shape) - 1)
    parts = [name] + [graph.pick(name, graph.add("Sigmoid", [name]), graph.floats(shape))
                      for _ in range(graph.whole(1, 2))]
    graph.random.shuffle(parts)
    return graph.add("Concat", [str(part) for part in parts], axis=axis)


@step
def split(graph, name):
    shape = graph.shape(name)
    graph.require(shape)
    axis = graph.whole(0, len(shape) - 1)
    graph.require(shape[axis] >= 2)
    first = graph.whole(1, shape[axis] - 1)
    sizes = [first, shape[axis] - first]
    if graph.opset >= 18 and graph.whole(0, 1):
        return graph.add("Split", [name], 2, axis=axis, num_outputs=2)
    if graph.opset < 18 and shape[axis] % 2 == 0 and graph.whole(0, 1):
        return graph.add("Split", [name], 2, axis=axis)
    if graph.opset < 13:
        return graph.add("Split", [name], 2, axis=axis, split=sizes)
    return graph.add("Split", [name, graph.constant(sizes)], 2, axis=axis)


@step
def slice_step(graph, name):
    shape = graph.shape(name)
    graph.require(shape)
    axes = sorted(graph.random.permutation(len(shape))[:graph.whole(1, min(2, len(shape)))].tolist())
    starts, ends, steps = [], [], []
    for axis in axes:
        size = shape[axis]
        start = graph.whole(0, size - 1)
        end = graph.whole(start + 1, size + 3)
        stride = graph.pick(1, 1, 2)
        if graph.opset >= 10 and graph.whole(0, 3) == 0:
            start, end, stride = -1, -(2**31), -stride
        elif graph.whole(0, 1) and end < size:
            start, end = start - size, end - size
        starts.append(start)
        ends.append(end)
        steps.append(stride)
    if graph.opset < 10:
        return graph.add("Slice", [name], starts=starts, ends=ends, axes=axes)
    return graph.add("Slice", [name] + [graph.constant(v) for v in (starts, ends, axes, steps)])


@step
def gather(graph, name):
    shape = graph.shape(name)
    graph.require(shape)
    axis = graph.whole(0, len(shape) - 1)
    low = -shape[axis] if graph.opset >= 11 else 0
    size = graph.pick((), (1,), (3,), (2, 2))
    indices = graph.random.integers(low, shape[axis], size)
    return graph.add("Gather", [name, graph.constant(indices)], axis=axis)


@step
def pad(graph, name):
    shape = graph.shape(name)
    graph.require(shape)
    mode = graph.pick("constant", "reflect", "edge")
    if len(shape) > 2:
        amounts = [0] * 2 + [graph.whole(-1, 2) for _ in shape[2:]]
        amounts += [0] * 2 + [graph.whole(-1, 2) for _ in shape[2:]]
    else:
        amounts = [graph.whole(-1, 2) for _ in shape * 2]
    if mode != "constant":
        amounts = [max(0, amount) for amount in amounts]
    graph.require(all(size > 4 or amount == 0 for size, amount in zip(shape * 2, amounts)))
    if graph.opset < 11:
        value = {"value": 0.5} if mode == "constant" else {}
        return graph.add("Pad", [name], mode=mode, pads=amounts, **value)
    inputs = [name, graph.constant(amounts)]
    if mode == "constant" and graph.whole(0, 1):
        inputs.append(graph.constant(0.5, np.float32))
    return graph.add("Pad", inputs, mode=mode)


@step
def reshape(graph, name):
    shape = graph.shape(name)
    graph.require(len(shape) >= 2)
    wanted = graph.pick([0, -1], [-1], [0, 0, -1], [1, -1, 1], [-1] + shape[1:], [-1, 0])
    graph.require(len(wanted) <= len(shape) or 0 not in wanted)
    return graph.add("Reshape", [name, graph.constant(wanted)])


@step
def to_map(graph, name):
    """Whatever it is, back to a picture."""
    size = int(np.prod(graph.shape(name)))
    height = graph.pick(*[h for h in range(1, 13) if size % h == 0])
    width = graph.pick(*[w for w in range(1, 13) if size // height % w == 0])
    return graph.add("Reshape", [name, graph.constant([1, -1, height, width])])


@step
def computed_reshape(graph, name):
    """Flattens by a subgraph of shapes, as exporters write it."""
    shape = graph.add("Shape", [name])
    first = graph.add("Gather", [shape, graph.constant(0)], axis=0)
    if graph.opset < 13:
        first = graph.add("Unsqueeze", [first], axes=[0])
    else:
        first = graph.add("Unsqueeze", [first, graph.constant([0])])
    wanted = graph.add("Concat", [first, graph.constant([-1])], axis=0)
    graph.require(len(graph.shape(name)) >= 2)
    return graph.add("Reshape", [name, wanted])


@step
def computed_resize(graph, name):
    """Doubles a picture by sizes computed from its shape."""
    graph.require(graph.opset >= 13 and len(graph.shape(name)) == 4)
    shape = graph.add("Shape", [name])
    head = graph.add("Slice", [shape, graph.constant([0]), graph.constant([2])])
    tail = graph.add("Slice", [shape, graph.constant([2]), graph.constant([4])])
    scaled = graph.add("Cast", [tail], to=TensorProto.FLOAT)
    scaled = graph.add("Floor", [graph.add("Mul", [scaled, graph.constant([1.5], np.float32)])])
    tail = graph.add("Cast", [scaled], to=TensorProto.INT64)
    sizes = graph.add("Concat", [head, tail], axis=0)
    return graph.add("Resize", [name, "", "", sizes], mode=graph.pick("linear", "nearest"),
                     coordinate_transformation_mode="half_pixel")


@step
def flatten(graph, name):
    return graph.add("Flatten", [name], axis=graph.whole(0, len(graph.shape(name))))


@step
def transpose(graph, name):
    rank = len(graph.shape(name))
    graph.require(rank >= 1)
    if graph.whole(0, 4) == 0:
        return graph.add("Transpose", [name])
    return graph.add("Transpose", [name], perm=graph.random.permutation(rank).tolist())


@step
def squeeze(graph, name):
    shape = graph.shape(name)
    axes = [axis for axis, size in enumerate(shape) if size == 1]
    graph.require(axes and len(shape) > 1)
    axes = axes[:1]
    if graph.opset < 13:
        return graph.add("Squeeze", [name], axes=axes)
    return graph.add("Squeeze", [name, graph.constant(axes)])


@step
def unsqueeze(graph, name):
    axes = [graph.whole(0, len(graph.shape(name)))]
    if graph.opset < 13:
        return graph.add("Unsqueeze", [name], axes=axes)
    return graph.add("Unsqueeze", [name, graph.constant(axes)])


@step
def expand(graph, name):
    shape = [graph.whole(2, 3) if size == 1 else graph.pick(1, size) for size in graph.shape(name)]
    if graph.whole(0, 3) == 0:
        shape = [2] + shape
    return graph.add("Expand", [name, graph.constant(shape)])


@step
def tile(graph, name):
    graph.require(graph.shape(name))
    return graph.add("Tile", [name, graph.constant([graph.pick(1, 1, 2)
                                                    for _ in graph.shape(name)])])


@step
def pixel_shuffle_by_hand(graph, name):
    shape = graph.shape(name)
    graph.require(len(shape) == 4 and shape[1] % 2 == 0)
    batch, channels, height, width = shape
    out = graph.add("Reshape", [name, graph.constant([batch, 2, channels // 2, height, width])])
    out = graph.add("Transpose", [out], perm=[0, 2, 1, 3, 4])
    return graph.add("Reshape", [out, graph.constant([batch, channels, height, width])])


# ---- Reductions ----


@step
def reduce(graph, name):
    rank = len(graph.shape(name))
    graph.require(rank >= 1)
    kind = graph.pick("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
                      "ReduceSumSquare")
    axes = graph.random.permutation(rank)[:graph.whole(1, rank)].tolist()
    if graph.opset >= 11 and graph.whole(0, 2) == 0:
        axes = [axis - rank for axis in axes]
    keep = graph.whole(0, 1)
    if graph.opset >= 18 or (kind == "ReduceSum" and graph.opset >= 13):
        return graph.add(kind, [name, graph.constant(axes)], keepdims=keep)
    return graph.add(kind, [name], axes=axes, keepdims=keep)
