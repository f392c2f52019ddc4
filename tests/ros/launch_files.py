"""Checks what client/ros/ros2/launch/robot.launch.py gives to the node: launch_files.py ROBOT_LAUNCH.

The modules of ROS's launch system are played here, as no wheel brings them."""

import importlib.util
import sys
import types


class Argument:
    def __init__(self, name, default_value=None, description=""):
        self.name, self.value = name, default_value


class Configuration:
    def __init__(self, name):
        self.name = name

    def perform(self, context):
        return context[self.name]


class Function:
    def __init__(self, function):
        self.function = function


def play(name, **members):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(members)


play("launch", LaunchDescription=list)
play("launch.actions", DeclareLaunchArgument=Argument, OpaqueFunction=Function)
play("launch.substitutions", LaunchConfiguration=Configuration)
play("launch_ros")
play("launch_ros.actions", Node=lambda **options: options)
spec = importlib.util.spec_from_file_location("robot_launch", sys.argv[1])
robot_launch = importlib.util.module_from_spec(spec)
spec.loader.exec_module(robot_launch)


def node(**given):
    *arguments, function = robot_launch.generate_launch_description()
    values = {argument.name: argument.value for argument in arguments}
    assert given.keys() <= values.keys(), given
    (started,) = function.function({**values, "model": "m.onnx", **given})
    (parameters,) = started["parameters"]
    return started["arguments"], parameters


def expect(found, arguments, **parameters):
    wanted = {name.replace("__", "."): value for name, value in parameters.items()}
    assert found == (arguments, {"model": "m.onnx", **wanted}), found


expect(node(), [], mode="cache")
expect(node(server="tcp://HOST:5588"), [], server__address="tcp://HOST:5588")
expect(node(server="mpi:lab", mode="remote", deadline_ms="100"), [], mode="remote",
       server__address="mpi:lab", deadline_ms=100.0)
expect(node(config="robot.json"), ["--config", "robot.json"])
expect(node(config="robot.json", mode="dense"), ["--config", "robot.json"], mode="dense")
