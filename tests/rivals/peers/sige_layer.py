"""One convolution as SIGE computes it, in a process of its own; `scripts/bench kernels --sige` starts
and asks it as it does peers.py.

    sige_layer.py --sige DIR --threads N

`DIR` holds SIGE's package with its CPU extension, built for the PyTorch of this Python. Requests:

    layer JSON   {} and takes that convolution (see peers.py)
    mask FILE    {} and takes what changed, a byte for each pixel of the input
    time N       {"ms": [...]} of N frames, after one that is not timed; a frame takes the mask,
                 gathers its blocks, convolves them and scatters them back
"""

import argparse
import json
import os
import sys
import time

import numpy as np
import torch
from torch.nn import functional

ACTIVATIONS = {
    "none": lambda x: x,
    "relu": functional.relu_,
    "relu6": lambda x: functional.hardtanh_(x, 0.0, 6.0),
    "silu": lambda x: functional.silu(x, inplace=True),
    "hardswish": lambda x: functional.hardswish(x, inplace=True),
    "gelu": functional.gelu,
}
# What SIGE's own models gather: outputs of 4 × 4 pixels for a 3 × 3 convolution of stride 1.
BLOCK = 4


class Layer:
    def __init__(self, described):
        from sige.nn import Gather, Scatter, SIGEConv2d, SIGEModel

        conv = SIGEConv2d(
            described["in"],
            described["out"],
            described["kernel"],
            described["stride"],
            described["pad"],
            groups=described["groups"],
        )
        block = described["kernel"] + (BLOCK - 1) * described["stride"]
        gather, activation = Gather(conv, block_size=block), ACTIVATIONS[described["activation"]]
        scatter = Scatter(gather)

        class Model(SIGEModel):
            def __init__(self):
                super().__init__()
                self.gather, self.conv, self.scatter = gather, conv, scatter

            def forward(self, x):
                return self.scatter(activation(self.conv(self.gather(x))))

        self.model = Model().eval()
        self.input = torch.rand(1, described["in"], described["height"], described["width"])
        self.model.set_mode("full")
        self.model(self.input)
        self.model.set_mode("sparse")

    def take_mask(self, file):
        size = self.input.shape[2:]
        self.mask = torch.from_numpy(np.fromfile(file, np.uint8).reshape(size) != 0)

    def run(self):
        self.model.set_masks({tuple(self.input.shape[2:]): self.mask})
        self.model(self.input)


def milliseconds(action):
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1e3


def serve(reply):
    layer = None
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "layer":
            layer = Layer(json.loads(rest))
            reply({})
        elif word == "mask":
            layer.take_mask(rest)
            reply({})
        elif word == "time":
            layer.run()
            reply({"ms": [milliseconds(layer.run) for _ in range(int(rest))]})
        else:
            return


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sige", required=True)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    sys.path.insert(0, options.sige)
    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def reply(answer):
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    reply({})
    try:
        serve(reply)
    except Exception as error:
        reply({"error": str(error).splitlines()[0] if str(error) else type(error).__name__})


if __name__ == "__main__":
    main()
