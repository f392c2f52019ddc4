"""Compares two folders of .npy files that cacheinf-robot dumped; exits with 1 if they differ."""

import argparse
import array
import ast
import math
import pathlib
import struct
import sys


def read_npy(path):
    data = path.read_bytes()
    if data[:6] != b"\x93NUMPY":
        sys.exit(f"{path} is not a .npy file")
    length_format = "<H" if data[6] == 1 else "<I"
    start = 8 + struct.calcsize(length_format)
    end = start + struct.unpack_from(length_format, data, 8)[0]
    header = ast.literal_eval(data[start:end].decode("latin1"))
    values = array.array({"<f4": "f", "<i8": "q"}[header["descr"]])
    values.frombytes(data[end:])
    return header["shape"], values


def largest_error(expected, actual):
    """The largest error, as a share of the expected values' range."""
    low, high = min(expected), max(expected)
    error = max(abs(a - b) for a, b in zip(expected, actual))
    return error / (high - low) if high > low else float(error > 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tolerance", type=float, default=0.0, help="0: the same bits")
    parser.add_argument("--name", required=True, help="who computed EXPECTED, for the message")
    parser.add_argument("actual", type=pathlib.Path)
    parser.add_argument("expected", type=pathlib.Path)
    options = parser.parse_args()

    names = sorted(path.name for path in options.expected.glob("*.npy"))
    if not names or names != sorted(path.name for path in options.actual.glob("*.npy")):
        sys.exit(f"{options.actual} and {options.expected} do not hold the same files")

    worst = 0.0
    values = 0
    same_bits = True
    for name in names:
        shape, expected = read_npy(options.expected / name)
        actual_shape, actual = read_npy(options.actual / name)
        if shape != actual_shape or len(expected) != len(actual):
            sys.exit(f"{name} has another shape: {actual_shape}, not {shape}")
        same_bits = same_bits and expected.tobytes() == actual.tobytes()
        worst = max(worst, largest_error(expected, actual))
        values += len(expected)

    what = "the same bits" if same_bits else f"largest error {worst:.1e} of the range"
    print(f"        against {options.name}: {what} ({values} values)")
    close = math.isfinite(worst) and worst <= options.tolerance
    if not same_bits and (options.tolerance == 0.0 or not close):
        sys.exit(f"the answers differ from {options.name}'s by more than {options.tolerance}")


if __name__ == "__main__":
    main()
