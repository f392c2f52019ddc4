"""The server of the rival `plain-video`: what one would write today without CacheInf.

    plain_video.py SETTINGS

Waits for connections, one after the other, on a port of this machine, which it prints. ffmpeg
decodes the video that arrives there, LibTorch runs the whole network on every picture, and the answer goes back on
the same connection: its length (4 bytes, little-endian), then boxes or classes as float32 (left, top,
right, bottom in the network's picture, score, class; or class, score), or a map's width and height
(16 bits each) and its pixels' classes by zlib. SETTINGS are JSON: model (TorchScript), width, height,
channels, mean, divisor and decoder, which is as in a robot's configuration.
"""

import json
import socket
import struct
import subprocess
import sys
import time
import zlib

import torch
import torchvision


def load(file, example):
    """As LibTorch runs it fastest on this machine."""
    models = [
        torch.jit.freeze(torch.jit.load(file).eval()),
        torch.jit.optimize_for_inference(torch.jit.load(file).eval()),
    ]
    # In turns, since the machine may be slow for a while. The first runs compile.
    best = [float("inf")] * len(models)
    end = time.perf_counter() + 4
    rounds = 0
    while rounds < 4 or (rounds < 24 and time.perf_counter() < end):
        for i, model in enumerate(models):
            begin = time.perf_counter()
            model(example)
            best[i] = min(best[i], time.perf_counter() - begin)
        rounds += 1
    return models[best.index(min(best))]


def boxes(heads, decoder):
    """YOLOv5's raw heads, best boxes first."""
    anchors = torch.tensor(decoder["anchors"]).view(len(heads), -1, 2)
    found = []
    for head, stride, sizes in zip(heads, decoder["strides"], anchors):
        _, channels, height, width = head.shape
        head = head.view(len(sizes), channels // len(sizes), height, width)
        # Few pixels have anything, so the rest is not decoded further.
        threshold = decoder["score_threshold"]
        anchor, row, column = (head[:, 4].sigmoid() >= threshold).nonzero(as_tuple=True)
        cells = head[anchor, :, row, column].sigmoid()
        score, label = (cells[:, 4:5] * cells[:, 5:]).max(1)
        place = torch.stack([column, row], 1)
        middle = (cells[:, 0:2] * 2 - 0.5 + place) * stride
        half = (cells[:, 2:4] * 2) ** 2 * sizes[anchor] / 2
        found.append(torch.cat([middle - half, middle + half, score[:, None], label[:, None]], 1))
    found = torch.cat(found)
    found = found[found[:, 4] >= threshold]
    kept = torchvision.ops.batched_nms(
        found[:, :4], found[:, 4], found[:, 5], decoder["overlap_threshold"]
    )
    return found[kept[: decoder["most_boxes"]]].numpy().astype("<f4").tobytes()


def read(outputs, decoder):
    if decoder["kind"] == "boxes":
        return boxes(outputs, decoder)
    if decoder["kind"] == "segmentation":
        classes = outputs[0][0].argmax(0).to(torch.uint8).numpy()
        height, width = classes.shape
        # Fewer bytes than a PNG's, in the time that a PNG takes.
        return struct.pack("<HH", width, height) + zlib.compress(classes.tobytes())
    scores, labels = outputs[0].flatten().topk(decoder["top"])
    return torch.stack([labels, scores], 1).numpy().astype("<f4").tobytes()


def serve(robot, model, settings):
    width, height = settings["width"], settings["height"]
    mean = torch.tensor(settings["mean"], dtype=torch.float32)
    divisor = torch.tensor(settings["divisor"], dtype=torch.float32)
    robot.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # Odd sizes are encoded as even ones.
    crop = f" -vf format={settings['channels']}24,crop={width}:{height}:0:0"
    command = (
        "ffmpeg -v error -threads 1 -flags low_delay -probesize 32 -analyzeduration 1"
        " -fpsprobesize 0 -f nut -i pipe:0 -vsync passthrough -f rawvideo -flush_packets 1"
        f" -pix_fmt {settings['channels']}24{crop if width % 2 or height % 2 else ''} pipe:1"
    )
    decoder = subprocess.Popen(command.split(), stdin=robot.fileno(), stdout=subprocess.PIPE)
    while len(pixels := decoder.stdout.read(width * height * 3)) == width * height * 3:
        picture = torch.frombuffer(bytearray(pixels), dtype=torch.uint8).view(1, height, width, 3)
        # Channels lie last in memory, as the network runs fastest.
        numbers = ((picture.float() - mean) / divisor).permute(0, 3, 1, 2)
        outputs = model(numbers)
        answer = read([outputs] if isinstance(outputs, torch.Tensor) else outputs, settings["decoder"])
        try:
            robot.sendall(struct.pack("<I", len(answer)) + answer)
        except OSError:
            break
    decoder.kill()
    decoder.wait()


@torch.inference_mode()
def main():
    settings = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    # As pictures come: with channels last in memory the one may be fastest, else the other.
    example = torch.rand(1, settings["height"], settings["width"], 3).permute(0, 3, 1, 2)
    model = load(settings["model"], example)
    listener = socket.create_server(("127.0.0.1", 0))
    print("port", listener.getsockname()[1], flush=True)
    while True:
        robot, _ = listener.accept()
        with robot:
            serve(robot, model, settings)


main()
