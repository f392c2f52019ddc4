"""What cameras played to CacheInf's node of either ROS share: a scene, its timing, and a report."""

import collections
import statistics
import sys
import time

import numpy as np

WIDTH, HEIGHT, PERIOD_S = 320, 240, 1 / 30
PATIENCE_S = 60

background = np.random.default_rng(7).integers(60, 120, (HEIGHT, WIDTH, 3), np.uint8)
columns, rows = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))


def scene(index):
    pixels = background.copy()
    for shape, (speed, colour) in enumerate([(3, (220, 40, 40)), (2, (40, 200, 60))]):
        x = (60 + 110 * shape + speed * index) % WIDTH
        pixels[(columns - x) ** 2 + (rows - 80 - 70 * shape) ** 2 < 30**2] = colour
    return pixels.tobytes()


def line(name, times):
    ordered = sorted(times)
    print(f"        {name:34} {statistics.median(ordered):7.2f} ms "
          f"{ordered[int(0.95 * (len(ordered) - 1))]:7.2f} ms")


class Camera:
    """Images whose stamps are whole seconds from 1 on."""

    def __init__(self, images):
        self.images = images
        self.sent_at, self.round_trips, self.statuses, self.answers = {}, [], [], []

    def take(self, info, second):
        if second not in self.sent_at or info.moved:
            return
        self.answers.append(info)
        self.round_trips.append(1000 * (time.monotonic() - self.sent_at[second]))

    def play(self, is_heard, publish, spin):
        """Publishes bgr8 pixels and their second, and spins for so many seconds between."""
        patience_ends = time.monotonic() + PATIENCE_S
        while not is_heard():
            if time.monotonic() > patience_ends:
                sys.exit(f"no node listens to images after {PATIENCE_S} s")
            spin(0.1)
        next_at = time.monotonic()
        for index in range(self.images):
            while time.monotonic() < next_at:
                spin(max(0, next_at - time.monotonic()))
            pixels = scene(index)
            self.sent_at[index + 1] = time.monotonic()
            publish(pixels, index + 1)
            next_at = max(next_at + PERIOD_S, time.monotonic())
        end = time.monotonic() + 2
        while time.monotonic() < end and len(self.answers) < self.images:
            spin(0.1)
        if not self.answers:
            sys.exit("no image was answered")

    def report(self):
        own = [info.latency_ms for info in self.answers]
        print(f"        {self.images} images, {len(self.answers)} answered")
        print(f"        {'':34} {'p50':>10} {'p95':>10}")
        line("from an image's arrival to its answer", own)
        line("what ROS adds, both ways", [whole - part for whole, part in zip(self.round_trips, own)])
        plans = collections.Counter(info.plan for info in self.answers if info.plan)
        for plan, count in plans.most_common():
            print(f"        {count:5} by plan {plan}")
        if self.statuses:
            last = self.statuses[-1]
            if last.server:
                print(f"        server {last.server}: {'connected' if last.has_server else 'not there'}")
            print(f"        reuse {last.reuse:.2f}; {last.why or last.mode}")
