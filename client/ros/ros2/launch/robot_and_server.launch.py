"""A robot and a server on this machine, which meet over MPI; arguments are those of robot.launch.py.

ros2 launch cacheinf robot_and_server.launch.py model:=yolov8n.onnx image:=/camera/image_raw
"""

import os
import subprocess

from ament_index_python.packages import get_package_prefix, get_package_share_directory
from launch import LaunchDescription
from launch.actions import (DeclareLaunchArgument, ExecuteProcess, IncludeLaunchDescription,
                            OpaqueFunction)
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration

NAME = "mpi:ros"


def start(_context):
    share = get_package_share_directory("cacheinf")
    # Through it robot and server find each other. It stays when they end.
    subprocess.run([os.path.join(share, "scripts", "name-server"), "start"], check=True)
    server = os.path.join(get_package_prefix("cacheinf"), "bin", "cacheinf-server")
    robot = os.path.join(share, "launch", "robot.launch.py")
    return [
        ExecuteProcess(cmd=[server, "--listen", NAME], output="screen"),
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(robot),
            launch_arguments={
                "model": LaunchConfiguration("model"), "server": NAME, "mode": "cacheinf",
            }.items()),
    ]


def generate_launch_description():
    return LaunchDescription([
        DeclareLaunchArgument("model", description="The network's file."),
        OpaqueFunction(function=start),
    ])
