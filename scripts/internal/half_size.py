"""Makes ONNX files of networks for pictures half as wide and half as high, with the same weights.

    half_size.py --out DIR FILE.onnx...

For networks whose operators contain no sizes. Run it with a Python that has onnx.
"""

import argparse
import pathlib

import onnx


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("networks", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for file in options.networks:
        model = onnx.load(file)
        graph = model.graph
        constants = {tensor.name for tensor in graph.initializer}
        for value in graph.input:
            if value.name not in constants:
                for dim in value.type.tensor_type.shape.dim[2:]:
                    dim.dim_value //= 2
        # Shapes that followed from the old size.
        del graph.value_info[:]
        for value in graph.output:
            value.type.tensor_type.ClearField("shape")
        onnx.save(model, options.out / file.name)


if __name__ == "__main__":
    main()
