"""Plays a camera to CacheInf's node of ROS 2, and prints what it answers: ros2_camera.py IMAGES"""

import sys

import rclpy
from cacheinf_msgs.msg import AnswerInfo, Status
from rclpy.qos import qos_profile_sensor_data
from ros_camera import HEIGHT, WIDTH, Camera
from sensor_msgs.msg import Image

camera = Camera(int(sys.argv[1]))
rclpy.init()
node = rclpy.create_node("camera")
publisher = node.create_publisher(Image, "image", qos_profile_sensor_data)
node.create_subscription(AnswerInfo, "answer",
                         lambda info: camera.take(info, info.header.stamp.sec), 10)
node.create_subscription(Status, "status", camera.statuses.append, 10)


def publish(pixels, second):
    image = Image(width=WIDTH, height=HEIGHT, step=3 * WIDTH, encoding="bgr8")
    image.header.stamp.sec = second
    image.header.frame_id = "camera"
    image.data = pixels
    publisher.publish(image)


camera.play(lambda: publisher.get_subscription_count() > 0, publish,
            lambda seconds: rclpy.spin_once(node, timeout_sec=seconds))
camera.report()
