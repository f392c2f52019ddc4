"""Sends an image on the topic "image" until it comes back on "image_back", and fails if it differs."""

import random
import sys
import time

import rclpy
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Image

SECONDS = 20

image = Image()
image.header.stamp.sec = 1234567890
image.header.stamp.nanosec = 987654321
image.header.frame_id = "camera_optical"
image.height, image.width, image.step, image.encoding = 48, 64, 3 * 64, "bgr8"
image.data = random.Random(1).randbytes(image.height * image.step)

rclpy.init()
node = rclpy.create_node("expect_echo")
echoes = []
node.create_subscription(Image, "image_back", echoes.append, 1)
publisher = node.create_publisher(Image, "image", qos_profile_sensor_data)
deadline = time.monotonic() + SECONDS
while not echoes:
    if time.monotonic() > deadline:
        sys.exit(f"no image came back within {SECONDS} s")
    publisher.publish(image)
    rclpy.spin_once(node, timeout_sec=0.1)
if echoes[0] != image:
    sys.exit(f"sent {image.header}, came back as {echoes[0].header}, or with other pixels")
print("came back unchanged")
