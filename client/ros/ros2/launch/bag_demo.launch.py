"""Plays a bag to a robot and a server on this machine.

ros2 launch cacheinf bag_demo.launch.py model:=yolov8n.onnx bag:=drive image:=/camera/image_raw
"""

import os

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration


def generate_launch_description():
    pair = os.path.join(get_package_share_directory("cacheinf"), "launch",
                        "robot_and_server.launch.py")
    return LaunchDescription([
        DeclareLaunchArgument("bag", description="The bag's folder."),
        DeclareLaunchArgument("model", description="The network's file."),
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(pair),
            launch_arguments={"model": LaunchConfiguration("model")}.items()),
        ExecuteProcess(cmd=["ros2", "bag", "play", "--loop", LaunchConfiguration("bag")],
                       output="screen"),
    ])
