#!/usr/bin/env python3
"""Quantises networks for the benches of precision int8; scripts/bench calls it.

    int8.py --programs DIR --configs DIR --out DIR --clip SOURCE... MODEL[=1x3x384x640]...

Calibrates each, as scripts/quantize does, with all layers in 8 bits, and writes
OUT/NAME.int8.onnx unless a newer one is there. Says on stderr which it cannot quantise, and why.
"""

import argparse
import pathlib
import sys
import tempfile
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts/models"))

import quantize  # noqa: E402

FRAMES = 24


def config_of(model, configs):
    """As the benches choose it: the last of the files whose names the network's begins with."""
    names = [file for file in sorted(configs.glob("*.json"))
             if ".schema" not in file.name and model.stem.startswith(file.stem)]
    return str(names[-1]) if names else None


def is_fresh(out, model):
    sources = (model, pathlib.Path(quantize.__file__), pathlib.Path(__file__))
    return out.exists() and all(out.stat().st_mtime > file.stat().st_mtime for file in sources)


def quantise(model, shape, arguments, out):
    with tempfile.TemporaryDirectory(prefix="cacheinf-int8-") as folder:
        folder = pathlib.Path(folder)
        asked = types.SimpleNamespace(
            model=model, programs=arguments.programs, threads=1, shape=shape,
            config=config_of(model, arguments.configs))
        programs = quantize.Programs(asked, folder)
        original = quantize.read_model(model)
        inputs = []
        for number, clip in enumerate(arguments.clip):
            frames = folder / f"clip-{number}"
            programs.write_frames(model, clip, max(1, FRAMES // len(arguments.clip)), frames)
            inputs += sorted((frames / "inputs").iterdir())
        quantiser = quantize.make_quantiser(original, inputs, folder)
        try:
            quantize.choose_heads(quantiser, programs, asked, frames / "frames", folder)
        except quantize.Refusal:  # these frames show nothing by which to choose
            quantiser.rounds_heads = False
        part = folder / "made.onnx"
        quantiser.write(part, [])
        out.write_bytes(part.read_bytes())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*")
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--configs", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--clip", action="append", required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for text in arguments.models:
        name, _, shape = text.partition("=")
        model = pathlib.Path(name)
        out = arguments.out / f"{model.stem}.int8.onnx"
        if is_fresh(out, model):
            continue
        print(f"quantising {model.name}", file=sys.stderr)
        try:
            quantise(model, shape or None, arguments, out)
        except (quantize.Refusal, quantize.Failure, OSError) as error:
            out.unlink(missing_ok=True)
            print(f"{model.name} cannot be quantised: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
