"""A robot that answers the images of one camera, alone or with a server that runs elsewhere.

ros2 launch cacheinf robot.launch.py model:=yolov8n.onnx image:=/camera/image_raw
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

ARGUMENTS = [
    ("model", None, "The network: a file of ONNX, TorchScript or cacheinf-profile pack."),
    ("config", "", "A configuration (JSON)."),
    ("mode", "cache", "dense, cache, remote, split or cacheinf."),
    ("server", "", "The server's address, such as mpi:lab."),
    ("deadline_ms", "0.0", "When an answer is needed, from an image's arrival; 0: no deadline."),
    ("image", "image", "The camera's topic."),
    ("namespace", "", "The node's namespace."),
]


def generate_launch_description():
    given = {name: LaunchConfiguration(name) for name, _, _ in ARGUMENTS}
    node = Node(
        package="cacheinf",
        executable="cacheinf-ros2",
        name="cacheinf",
        namespace=given["namespace"],
        output="screen",
        arguments=["--config", given["config"]],
        parameters=[{
            "model": given["model"],
            "mode": given["mode"],
            "server.address": given["server"],
            "deadline_ms": given["deadline_ms"],
        }],
        remappings=[("image", given["image"]),
                    ("image/compressed", [given["image"], "/compressed"])],
    )
    return LaunchDescription(
        [DeclareLaunchArgument(name, default_value=value, description=text)
         for name, value, text in ARGUMENTS] + [node])
