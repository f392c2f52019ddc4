"""Trains the demo's segmentation network on generated scenes and writes it as an ONNX file.

Run it through scripts/train_demo, which makes the virtual environment and the generator.
"""

import argparse
import pathlib
import subprocess
import tempfile
import time
import warnings

import numpy as np
import onnxruntime
import torch
from torch import nn
from torch.nn import functional

CLASSES = ["background", "disk", "box", "triangle", "ring", "cross"]
HEIGHT, WIDTH = 240, 320
# The network sees (red, green, blue - MEAN) / SPREAD; configs/demo.json says the same to the robot.
MEAN, SPREAD = 127.5, 64.0

# A frame that is fuller than those of the demo teaches more, of shapes that cover each other above all.
TRAINING_SHAPES, HELD_OUT_SHAPES = 24, 16
# Kinds of clips: name, camera, noise, illumination, share of the training clips.
KINDS = [
    ("still", "still", 0.0, 0.0, 0.3),
    ("travel", "travel", 0.0, 0.0, 0.3),
    ("dim", "travel", 4.0, 0.3, 0.25),
    ("noisy", "handheld", 8.0, 0.4, 0.15),
]
FRAME_STEP = 45  # frames of one clip that are closer than this teach little
TRAINING_SEED = 1_000_000
HELD_OUT_SEED = 9_000_000
MAX_FILE_BYTES = 2 * 1024 * 1024


def conv_bn_relu(inputs, outputs, kernel=3, stride=1, groups=1):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    )


def separable(inputs, outputs, kernel=3):
    return nn.Sequential(
        conv_bn_relu(inputs, inputs, kernel, groups=inputs), conv_bn_relu(inputs, outputs, 1)
    )


class Residual(nn.Module):
    def __init__(self, channels, kernel):
        super().__init__()
        self.spread = conv_bn_relu(channels, channels, 3)
        self.mix = nn.Sequential(
            conv_bn_relu(channels, channels, kernel, groups=channels),
            nn.Conv2d(channels, channels, 1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x):
        return functional.relu(x + self.mix(self.spread(x)))


class DemoNet(nn.Module):
    """An encoder down to 1/16 of the picture and a decoder that joins its maps on the way up.

    Every operator is local, so it takes any picture whose sides are multiples of 16.
    """

    def __init__(self):
        super().__init__()
        self.level_2 = conv_bn_relu(3, 16, 3, 2)
        self.level_4 = nn.Sequential(conv_bn_relu(16, 32, 3, 2), separable(32, 32))
        self.level_8 = nn.Sequential(conv_bn_relu(32, 64, 3, 2), Residual(64, 5))
        self.level_16 = nn.Sequential(
            conv_bn_relu(64, 96, 3, 2), Residual(96, 5), Residual(96, 5)
        )
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.join_8 = nn.Sequential(conv_bn_relu(96 + 64, 64, 1), separable(64, 64, 5))
        self.join_4 = nn.Sequential(conv_bn_relu(64 + 32, 32, 1), separable(32, 32, 5))
        self.join_2 = nn.Sequential(conv_bn_relu(32 + 16, 24, 1), separable(24, 24))
        self.head = nn.ConvTranspose2d(24, len(CLASSES), 4, 2, 1)

    def forward(self, x):
        half = self.level_2(x)
        quarter = self.level_4(half)
        eighth = self.level_8(quarter)
        x = self.level_16(eighth)
        x = self.join_8(torch.cat([self.up(x), eighth], 1))
        x = self.join_4(torch.cat([self.up(x), quarter], 1))
        x = self.join_2(torch.cat([self.up(x), half], 1))
        return self.head(x)


class Clips:
    """Frames and labels from the generator, memory-mapped."""

    def __init__(self, generator, folder, kind, seed, clips, frames, shapes):
        name, camera, noise, illumination, _ = kind
        out = folder / f"{name}-{seed}"
        options = {
            "seed": seed, "clips": clips, "frames": frames, "frame-step": FRAME_STEP,
            "width": WIDTH, "height": HEIGHT, "camera": camera, "noise": noise,
            "illumination": illumination, "shapes": shapes, "out": out,
        }  # fmt: skip
        words = [str(word) for key, value in options.items() for word in (f"--{key}", value)]
        subprocess.run([generator, "scenes", *words], check=True, stdout=subprocess.DEVNULL)
        self.pictures = np.load(out / "pictures.npy", mmap_mode="r")
        self.labels = np.load(out / "labels.npy", mmap_mode="r")

    def __len__(self):
        return len(self.labels)


def normalise(pictures):
    """Bytes, frames × height × width × 3, to the network's input."""
    numbers = torch.from_numpy(np.array(pictures)).permute(0, 3, 1, 2).float()
    return (numbers - MEAN) / SPREAD


class Batches:
    """Endless random batches, each frame mirrored and its colours swapped at random."""

    def __init__(self, sets, size, seed):
        self.sets, self.size = sets, size
        self.frames = [(clips, i) for clips in sets for i in range(len(clips))]
        self.random = np.random.default_rng(seed)
        self.order = []

    def next(self):
        pictures, labels = [], []
        for _ in range(self.size):
            if not self.order:
                self.order = list(self.random.permutation(len(self.frames)))
            clips, i = self.frames[self.order.pop()]
            picture, label = clips.pictures[i], clips.labels[i]
            if self.random.random() < 0.5:
                picture, label = picture[:, ::-1], label[:, ::-1]
            if self.random.random() < 0.5:
                picture, label = picture[::-1], label[::-1]
            pictures.append(picture[:, :, self.random.permutation(3)])
            labels.append(label)
        return normalise(np.stack(pictures)), torch.from_numpy(np.stack(labels)).long()


def loss_of(logits, labels):
    """Cross entropy, in which the large background counts less, plus the soft Dice loss."""
    probabilities = logits.softmax(1)
    truth = functional.one_hot(labels, len(CLASSES)).permute(0, 3, 1, 2).float()
    overlap = (probabilities * truth).sum((0, 2, 3))
    total = probabilities.sum((0, 2, 3)) + truth.sum((0, 2, 3))
    dice = 1 - ((2 * overlap + 1) / (total + 1)).mean()
    weight = torch.tensor([0.3] + [1.0] * (len(CLASSES) - 1))
    return functional.cross_entropy(logits, labels, weight) + dice


def train(sets, minutes, batch_size, learning_rate, seed):
    torch.manual_seed(seed)
    net = DemoNet().to(memory_format=torch.channels_last)
    optimiser = torch.optim.AdamW(net.parameters(), lr=learning_rate, weight_decay=1e-4)
    batches = Batches(sets, batch_size, seed)
    start = shown = time.monotonic()
    steps, running = 0, None
    while (spent := (time.monotonic() - start) / (60 * minutes)) < 1:
        # A short warm-up, then a half cosine down to zero over the time there is.
        rate = min(1.0, steps / 50) * (1 + np.cos(np.pi * spent)) / 2
        for group in optimiser.param_groups:
            group["lr"] = learning_rate * rate
        pictures, labels = batches.next()
        loss = loss_of(net(pictures.contiguous(memory_format=torch.channels_last)), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        steps += 1
        running = loss.item() if running is None else 0.95 * running + 0.05 * loss.item()
        if time.monotonic() - shown > 10:
            shown = time.monotonic()
            print(f"  {100 * spent:3.0f} %  step {steps}  loss {running:.4f}", flush=True)
    print(f"  {steps} steps of {batch_size} frames, loss {running:.4f}")
    return net.eval()


def score(predict, clips):
    """Intersection over union of each class over all frames. `predict` gives logits."""
    confusion = np.zeros((len(CLASSES), len(CLASSES)), np.int64)
    for i in range(len(clips)):
        answer = predict(normalise(clips.pictures[i : i + 1]).numpy()).argmax(1)[0]
        pairs = clips.labels[i].astype(np.int64) * len(CLASSES) + answer
        confusion += np.bincount(pairs.ravel(), minlength=confusion.size).reshape(confusion.shape)
    hits = np.diag(confusion)
    return hits / (confusion.sum(0) + confusion.sum(1) - hits)


def export(net, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    dynamic = {0: "batch", 2: "height", 3: "width"}
    warnings.simplefilter("ignore", DeprecationWarning)  # of the exporter that dynamo=False asks for
    torch.onnx.export(
        net.to(memory_format=torch.contiguous_format),
        torch.zeros(1, 3, HEIGHT, WIDTH),
        str(path),
        dynamo=False,
        opset_version=17,
        input_names=["picture"],
        output_names=["scores"],
        dynamic_axes={"picture": dynamic, "scores": dynamic},
    )
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise SystemExit(f"{path} has {size} bytes, more than {MAX_FILE_BYTES}")
    print(f"Wrote {path}: {size / 1024:.0f} KiB")


def evaluate(path, generator, folder):
    """Prints the scores of an ONNX file on clips with seeds it was not trained on; gives the mIoU."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def predict(pictures):
        return session.run(None, {"picture": pictures})[0]

    means = []
    print("Held-out scenes, intersection over union:")
    for kind in KINDS:
        ious = score(predict, Clips(generator, folder, kind, HELD_OUT_SEED, 40, 3, HELD_OUT_SHAPES))
        means.append(ious.mean())
        per_class = "  ".join(f"{name} {iou:.3f}" for name, iou in zip(CLASSES, ious))
        print(f"  {kind[0]:7} mIoU {ious.mean():.4f}   {per_class}", flush=True)
    print(f"  mean over the kinds: mIoU {np.mean(means):.4f}")
    return float(np.mean(means))


def main():
    parser = argparse.ArgumentParser(prog="scripts/train_demo", description=__doc__)
    parser.add_argument("--generator", required=True, type=pathlib.Path, help="cacheinf-profile")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="the ONNX file")
    parser.add_argument("--minutes", type=float, default=18, help="of training (18)")
    parser.add_argument("--clips", type=int, default=3000, help="to learn from (3000)")
    parser.add_argument("--threads", type=int, default=1, help="(1)")
    parser.add_argument("--batch", type=int, default=8, help="frames a step (8)")
    parser.add_argument("--learning-rate", type=float, default=4e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--evaluate-only", action="store_true", help="score --out as it is")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    with tempfile.TemporaryDirectory(prefix="cacheinf-scenes-") as temporary:
        folder = pathlib.Path(temporary)
        if not options.evaluate_only:
            print(f"Generating {options.clips} clips", flush=True)
            sets = [
                Clips(options.generator, folder, kind, TRAINING_SEED * (i + 1),
                      round(options.clips * kind[-1]), 3, TRAINING_SHAPES)
                for i, kind in enumerate(KINDS)
            ]  # fmt: skip
            print(f"Training for {options.minutes:g} minutes", flush=True)
            net = train(sets, options.minutes, options.batch, options.learning_rate, options.seed)
            parameters = sum(p.numel() for p in net.parameters())
            print(f"Parameters: {parameters}")
            export(net, options.out)
        if evaluate(options.out, options.generator, folder) < 0.9:
            raise SystemExit("the mIoU is below 0.9")


if __name__ == "__main__":
    main()
