"""Plays a camera to CacheInf's node of ROS 2, and prints what it answers: ros2_camera.py IMAGES"""

import collections
import statistics
import sys
import time

import numpy as np
import rclpy
from cacheinf_msgs.msg import AnswerInfo, Status
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Image

WIDTH, HEIGHT, PERIOD_S = 320, 240, 1 / 30
PATIENCE_S = 60

images = int(sys.argv[1])
rclpy.init()
node = rclpy.create_node("camera")
publisher = node.create_publisher(Image, "image", qos_profile_sensor_data)
sent_at, round_trips, statuses, answers = {}, [], [], []


def take(info):
    key = (info.header.stamp.sec, info.header.stamp.nanosec)
    if key not in sent_at or info.moved:
        return
    answers.append(info)
    round_trips.append(1000 * (time.monotonic() - sent_at[key]))


node.create_subscription(AnswerInfo, "answer", take, 10)
node.create_subscription(Status, "status", statuses.append, 10)

background = np.random.default_rng(7).integers(60, 120, (HEIGHT, WIDTH, 3), np.uint8)
columns, rows = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))


def scene(index):
    pixels = background.copy()
    for shape, (speed, colour) in enumerate([(3, (220, 40, 40)), (2, (40, 200, 60))]):
        x = (60 + 110 * shape + speed * index) % WIDTH
        pixels[(columns - x) ** 2 + (rows - 80 - 70 * shape) ** 2 < 30**2] = colour
    return pixels


def send(index):
    image = Image()
    image.header.stamp.sec, image.header.stamp.nanosec = index + 1, 0
    image.header.frame_id = "camera"
    image.width, image.height, image.step, image.encoding = WIDTH, HEIGHT, 3 * WIDTH, "bgr8"
    image.data = scene(index).tobytes()
    sent_at[(index + 1, 0)] = time.monotonic()
    publisher.publish(image)


patience_ends = time.monotonic() + PATIENCE_S
while publisher.get_subscription_count() == 0:
    if time.monotonic() > patience_ends:
        sys.exit(f"no node listens to images after {PATIENCE_S} s")
    rclpy.spin_once(node, timeout_sec=0.1)
next_at = time.monotonic()
for index in range(images):
    while time.monotonic() < next_at:
        rclpy.spin_once(node, timeout_sec=max(0, next_at - time.monotonic()))
    send(index)
    next_at = max(next_at + PERIOD_S, time.monotonic())
end = time.monotonic() + 2
while time.monotonic() < end and len(answers) < images:
    rclpy.spin_once(node, timeout_sec=0.1)
if not answers:
    sys.exit("no image was answered")

own = [info.latency_ms for info in answers]
added = [whole - part for whole, part in zip(round_trips, own)]


def line(name, times):
    ordered = sorted(times)
    print(f"        {name:34} {statistics.median(ordered):7.2f} ms "
          f"{ordered[int(0.95 * (len(ordered) - 1))]:7.2f} ms")


print(f"        {images} images, {len(answers)} answered")
print(f"        {'':34} {'p50':>10} {'p95':>10}")
line("from an image's arrival to its answer", own)
line("what ROS adds, both ways", added)
plans = collections.Counter(info.plan for info in answers if info.plan)
for plan, count in plans.most_common():
    print(f"        {count:5} by plan {plan}")
if statuses:
    last = statuses[-1]
    if last.server:
        print(f"        server {last.server}: {'connected' if last.has_server else 'not there'}")
    print(f"        reuse {last.reuse:.2f}; {last.why or last.mode}")
