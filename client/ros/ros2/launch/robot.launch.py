"""A robot that answers the images of one camera, alone or with a server that runs elsewhere.

ros2 launch cacheinf robot.launch.py model:=yolov8n.onnx image:=/camera/image_raw
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

ARGUMENTS = [
    ("model", None, "The network: a file of ONNX, TorchScript or cacheinf-profile pack."),
    ("config", "", "A configuration (JSON); what is given here goes before it."),
    ("mode", "", "dense, cache, remote, split or cacheinf; empty: cache, with a server cacheinf."),
    ("server", "", "The server's address, such as mpi:lab."),
    ("deadline_ms", "", "When an answer is needed, from an image's arrival; empty: no deadline."),
    ("image", "image", "The camera's topic."),
    ("namespace", "", "The node's namespace."),
]


def start(context):
    given = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS}
    parameters = {"model": given["model"]}
    # With either the node finds the mode itself.
    if given["mode"] or not (given["server"] or given["config"]):
        parameters["mode"] = given["mode"] or "cache"
    if given["server"]:
        parameters["server.address"] = given["server"]
    if given["deadline_ms"]:
        parameters["deadline_ms"] = float(given["deadline_ms"])
    return [
        Node(
            package="cacheinf",
            executable="cacheinf-ros2",
            name="cacheinf",
            namespace=given["namespace"],
            output="screen",
            arguments=["--config", given["config"]] if given["config"] else [],
            parameters=[parameters],
            remappings=[("image", given["image"]),
                        ("image/compressed", given["image"] + "/compressed")],
        )
    ]


def generate_launch_description():
    return LaunchDescription(
        [DeclareLaunchArgument(name, default_value=value, description=text)
         for name, value, text in ARGUMENTS] + [OpaqueFunction(function=start)])
