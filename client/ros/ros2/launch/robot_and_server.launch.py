"""A robot and a server on this machine, which meet over MPI; arguments are those of robot.launch.py.

ros2 launch cacheinf robot_and_server.launch.py model:=yolov8n.onnx image:=/camera/image_raw
"""

import os

from ament_index_python.packages import get_package_prefix, get_package_share_directory
from launch import LaunchDescription
from launch.actions import ExecuteProcess, IncludeLaunchDescription, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource

NAME = "mpi:ros"


def generate_launch_description():
    share = get_package_share_directory("cacheinf")
    # Through it robot and server find each other. It stays when they end.
    name_server = ExecuteProcess(
        cmd=[os.path.join(share, "scripts", "name-server"), "start"], output="screen")
    server = ExecuteProcess(
        cmd=[os.path.join(get_package_prefix("cacheinf"), "bin", "cacheinf-server"),
             "--listen", NAME],
        output="screen")
    robot = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(os.path.join(share, "launch", "robot.launch.py")),
        launch_arguments={"server": NAME, "mode": "cacheinf"}.items())
    return LaunchDescription([
        name_server,
        RegisterEventHandler(OnProcessExit(target_action=name_server, on_exit=[server, robot])),
    ])
