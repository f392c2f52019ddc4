"""Plays a camera to CacheInf's node of ROS 1, and prints what it answers: ros1_camera.py IMAGES"""

import sys
import time

import rospy
from cacheinf_msgs.msg import AnswerInfo, Status
from ros_camera import HEIGHT, WIDTH, Camera
from sensor_msgs.msg import Image

camera = Camera(int(sys.argv[1]))
rospy.init_node("camera", disable_signals=True)
publisher = rospy.Publisher("image", Image, queue_size=1, tcp_nodelay=True)
rospy.Subscriber("answer", AnswerInfo, lambda info: camera.take(info, info.header.stamp.secs),
                 tcp_nodelay=True)
rospy.Subscriber("status", Status, camera.statuses.append)


def publish(pixels, second):
    image = Image(width=WIDTH, height=HEIGHT, step=3 * WIDTH, encoding="bgr8", data=pixels)
    image.header.stamp = rospy.Time(second)
    image.header.frame_id = "camera"
    publisher.publish(image)


camera.play(lambda: publisher.get_num_connections() > 0, publish, time.sleep)
camera.report()
