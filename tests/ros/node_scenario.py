"""Plays one scenario with CacheInf's node of ROS 2: node_scenario.py NODE SERVER NAME_SERVER CONFIG MODEL SCENARIO.

Prints what went wrong, and ends with 1, if anything does."""

import array
import os
import random
import re
import signal
import subprocess
import sys
import time

import rclpy
from cacheinf_msgs.msg import AnswerInfo, Status
from cacheinf_msgs.srv import Reload, SetMode
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Log, ParameterEvent, ParameterType
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from sensor_msgs.msg import CompressedImage, Image
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from scenario import PATIENCE_S, Program, play, png, require, wait_until

NODE, SERVER, NAME_SERVER, CONFIG, MODEL, SCENARIO = sys.argv[1:]


class Robot(Program):
    """The node as a process of its own."""

    def __init__(self, *parameters, log="node.log"):
        words = [NODE, "--config", CONFIG, "--model", MODEL, "--shape", "1x3x96x128", "--ros-args"]
        for parameter in parameters:
            words += ["-p", parameter]
        super().__init__(words, log)


class Peer:
    """What sends images to the node and listens to it."""

    def __init__(self):
        rclpy.init()
        self.node = rclpy.create_node("peer")
        self.publishers = {}
        self.received = {}
        self.stamp = 1000
        self.pause_s = 0.04  # between what spin_until does, so that little is computed
        self.next_at = 0

    def spin_until(self, is_over, what, patience_s=PATIENCE_S, do=lambda: None):
        def step():
            if time.monotonic() >= self.next_at:
                self.next_at = time.monotonic() + self.pause_s
                do()
            rclpy.spin_once(self.node, timeout_sec=0.02)

        wait_until(is_over, what, patience_s, step)

    def spin(self, seconds, do=lambda: None):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            do()
            rclpy.spin_once(self.node, timeout_sec=0.02)

    def listen(self, kind, topic, qos=10):
        self.received[topic] = []
        return self.node.create_subscription(kind, topic, self.received[topic].append, qos)

    def advertise(self, kind, topic, qos=qos_profile_sensor_data):
        self.publishers[topic] = self.node.create_publisher(kind, topic, qos)

    def has_listener(self, topic):
        return self.publishers[topic].get_subscription_count() > 0

    def send(self, image, topic="image", frame_id="camera"):
        self.stamp += 1
        image.header.stamp.sec = self.stamp
        image.header.stamp.nanosec = 5
        image.header.frame_id = frame_id
        self.publishers[topic].publish(image)
        return self.stamp

    def call(self, kind, name, request):
        client = self.node.create_client(kind, name)
        self.spin_until(client.service_is_ready, f"service {name}")
        future = client.call_async(request)
        self.spin_until(future.done, f"answer of {name}")
        return future.result()

    def answers_until(self, count, topic="answer", image=None, **kwargs):
        """Sends images until so many answers have come."""
        make = image or picture
        self.spin_until(lambda: len(self.received[topic]) >= count, f"{count} answers on {topic}",
                        do=lambda: self.send(make(), **kwargs))
        return self.received[topic]


def picture(width=160, height=120, encoding="bgr8", seed=None):
    image = Image()
    image.width, image.height, image.encoding = width, height, encoding
    image.step = 3 * width
    image.data = random.Random(seed).randbytes(image.step * height)
    return image


def frames_pass_stamp_and_frame_and_nothing_is_done_unasked(peer):
    robot = Robot()
    peer.advertise(Image, "image")
    peer.spin(2)
    require(not peer.has_listener("image"), "the node listens though nobody wants answers")
    peer.listen(AnswerInfo, "answer")
    peer.listen(Image, "segmentation")
    peer.listen(String, "json")
    peer.spin_until(lambda: peer.has_listener("image"), "the node's subscription")
    sent = {peer.send(picture(), frame_id="optical")}
    peer.spin_until(lambda: peer.received["json"] and peer.received["segmentation"],
                    "the first answer",
                    do=lambda: sent.add(peer.send(picture(), frame_id="optical")))
    info = peer.received["answer"][0]
    require(info.header.stamp.sec in sent and info.header.stamp.nanosec == 5, info.header)
    require(info.header.frame_id == "optical", info.header)
    require(info.computed_from == info.header, "a computed answer is from its own image")
    classes = peer.received["segmentation"][0]
    require((classes.width, classes.height) == (160, 120), "the map has the image's size")
    require(classes.encoding in ("mono8", "16UC1"), classes.encoding)
    require(len(classes.data) == classes.step * classes.height, "the map is whole")
    require('"kind":"segmentation"' in peer.received["json"][0].data.replace(" ", ""),
            peer.received["json"][0].data[:200])
    return robot


def a_compressed_image_is_answered(peer):
    robot = Robot("compressed:=true")
    peer.advertise(CompressedImage, "image/compressed")
    peer.listen(AnswerInfo, "answer")

    def compressed():
        image = CompressedImage()
        image.format = "png"
        image.data = png(160, 120, picture().data)
        return image

    peer.spin_until(lambda: len(peer.received["answer"]) >= 2, "two answers",
                    do=lambda: peer.send(compressed(), "image/compressed"))
    return robot


def a_publisher_that_does_not_fit_is_named(peer):
    robot = Robot("image_qos:=reliable")
    peer.advertise(Image, "image",
                   QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
    peer.listen(AnswerInfo, "answer")
    peer.spin_until(lambda: "image: the quality of service of /peer" in robot.output() and
                    "image_qos" in robot.output(), "a warning")
    return robot


def a_subscriber_that_does_not_fit_is_named(peer):
    robot = Robot("result_qos:=sensor_data")
    peer.advertise(Image, "image")
    peer.listen(Status, "status")
    peer.listen(DiagnosticArray, "/diagnostics")
    peer.listen(Log, "/rosout")
    last = lambda: peer.received["status"][-1] if peer.received["status"] else Status()
    peer.spin_until(lambda: peer.received["status"], "a status")
    require(not last().misfit, last().misfit)
    strict = peer.listen(AnswerInfo, "answer")
    peer.spin_until(lambda: last().misfit, "the misfit in status")
    for word in ("/answer", "/peer", "result_qos"):
        require(word in last().misfit, last().misfit)
    peer.spin_until(lambda: any(log.msg == last().misfit and log.level == Log.WARN and
                                log.name == "cacheinf" for log in peer.received["/rosout"]),
                    "the misfit on /rosout")
    peer.spin_until(lambda: any("result_qos" in status.message
                                for array in peer.received["/diagnostics"]
                                for status in array.status), "the misfit in diagnostics")
    peer.node.destroy_subscription(strict)
    peer.spin_until(lambda: not last().misfit, "its end")
    require(robot.output().count("result_qos") == 1, "it is logged once")
    peer.listen(AnswerInfo, "answer", qos_profile_sensor_data)
    peer.answers_until(2)
    return robot


def a_namesake_is_told_and_a_stop_at_the_start_is_heard(peer):
    robot = Robot()
    namesake = Robot(log="namesake.log")
    for one in (robot, namesake):
        peer.spin_until(lambda: "there is another node /cacheinf" in one.output(), "a warning")
    require(namesake.end() == 0, "the namesake's end")
    third = Robot(log="third.log")
    catches = lambda: int(re.search(r"SigCgt:\s*(\w+)", open(f"/proc/{third.process.pid}/status")
                                    .read())[1], 16) >> (signal.SIGTERM - 1) & 1
    wait_until(catches, "a handler", do=lambda: None)
    require(third.end() == 0, f"a node that is told to end at once says {third.output()}")
    return robot


def two_cameras_share_a_node(peer):
    robot = Robot("cameras:=[left,right]", "mode:=cache")
    for side in ("left", "right"):
        peer.advertise(Image, f"{side}/image")
        peer.listen(AnswerInfo, f"{side}/answer")

    def send_both():
        for side in ("left", "right"):
            peer.send(picture(), f"{side}/image", side)

    peer.spin_until(lambda: min(len(of) for of in peer.received.values()) >= 3, "both answers",
                    do=send_both)
    for side in ("left", "right"):
        frames = {info.header.frame_id for info in peer.received[f"{side}/answer"]}
        require(frames == {side}, f"{side} has answers of {frames}")
    return robot


def parameters_change_in_mid_run(peer):
    robot = Robot("mode:=dense")
    peer.advertise(Image, "image")
    peer.listen(AnswerInfo, "answer")
    peer.listen(Status, "status")
    peer.answers_until(2)
    client = AsyncParameterClient(peer.node, "cacheinf")
    require(client.wait_for_services(PATIENCE_S), "parameter services")

    def result_of(future):
        peer.spin_until(future.done, "a parameter service", do=lambda: peer.send(picture()))
        return future.result()

    names = result_of(client.list_parameters()).result.names
    require("mode" in names and "deadline_ms" in names and "cameras" in names, names)
    require("source" not in names, "the node has no source")
    described = result_of(client.describe_parameters(["mode"])).descriptors[0]
    require("cacheinf" in described.additional_constraints, described)
    set_one = lambda name, value: result_of(
        client.set_parameters([Parameter(name, value=value)])).results[0]
    require(set_one("mode", "cache").successful, "mode cache")
    require(result_of(client.get_parameters(["mode"])).values[0].string_value == "cache", "mode")
    peer.listen(ParameterEvent, "/parameter_events")
    require(set_one("deadline_ms", 100).successful, "a whole number of milliseconds")
    peer.spin_until(lambda: peer.received["/parameter_events"], "an event")
    event = peer.received["/parameter_events"][0].changed_parameters[0]
    require(event.name == "deadline_ms" and event.value.double_value == 100 and
            event.value.type == ParameterType.PARAMETER_DOUBLE, event)
    refused = set_one("server.address", 5)
    require(not refused.successful and "server.address must be a text" in refused.reason, refused)
    refused = set_one("mode", "remote")
    require(not refused.successful and "server.address mpi" in refused.reason, refused)
    require("use_sim_time" in names, names)
    require(set_one("use_sim_time", True).successful, "use_sim_time")
    require(result_of(client.get_parameters(["use_sim_time"])).values[0].bool_value, "it is kept")
    require(not set_one("use_sim_time", "yes").successful, "a text for use_sim_time")
    refused = set_one("mode", "guess")
    require(not refused.successful and "mode" in refused.reason, refused)
    refused = set_one("always_on", True)
    require(not refused.successful and "read only" in refused.reason, refused)
    refused = set_one("no.such.key", 1)
    require(not refused.successful, refused)
    both = client.set_parameters_atomically(
        [Parameter("mode", value="dense"), Parameter("deadline_ms", value=-5.0)])
    require(not result_of(both).result.successful, "a deadline below zero")
    require(result_of(client.get_parameters(["mode"])).values[0].string_value == "cache",
            "all or none")
    before = len(peer.received["answer"])
    peer.answers_until(before + 3)
    peer.spin_until(lambda: peer.received["status"] and
                    peer.received["status"][-1].mode == "cache", "the mode in status",
                    do=lambda: peer.send(picture()))
    return robot


def what_cannot_be_is_refused_at_the_start(peer):
    def refusal(*words):
        done = subprocess.run([NODE, "--model", MODEL, "--ros-args", *words], text=True,
                              capture_output=True, timeout=PATIENCE_S)
        own = [line for line in done.stderr.splitlines() if "[rcl]" not in line]
        require(done.returncode == 2 and len(own) == 1,
                f"{words}: {done.returncode}, {done.stderr}")
        return done.stderr

    require("--bogus" in refusal("--bogus"), "the word is named")
    require("left cam" in refusal("-p", "cameras:=['left cam']"), "the camera is named")
    require("twice" in refusal("-p", "cameras:=[left,left]"), "two cameras of one name")
    require("nope.yaml" in refusal("--params-file", "nope.yaml"), "the file is named")
    require("sources" not in refusal("-r", "__node:=bad-name"), "a place in ROS's sources")
    require("such as server.address mpi" in refusal("-p", "mode:=remote"), "the parameter is named")
    require("address must be a text" in refusal("-p", "server.address:=5"), "its type is named")
    names = ",".join(f"'{name}'" for name in "abcdef")
    robot = Robot(f"decoder.class_names:=[{names}]", "guard.state:=off")
    peer.advertise(Image, "image")
    peer.listen(AnswerInfo, "answer")
    peer.answers_until(1)
    return robot


def what_is_wrong_with_an_image_is_told_and_the_next_is_answered(peer):
    robot = Robot()
    peer.advertise(Image, "image")
    peer.listen(AnswerInfo, "answer")
    peer.listen(Status, "status")
    peer.listen(DiagnosticArray, "/diagnostics")
    peer.spin_until(lambda: peer.received["status"] and
                    "32FC7" in peer.received["status"][-1].refusal, "the refusal",
                    do=lambda: peer.send(picture(encoding="32FC7")))
    require(not peer.received["answer"], "an answer to an unknown encoding")
    peer.spin_until(lambda: any("32FC7" in status.message
                                for array in peer.received["/diagnostics"]
                                for status in array.status), "the refusal in diagnostics")

    def short():
        image = picture()
        image.data = image.data[:100]
        return image

    for _ in range(5):
        peer.send(short())
        peer.spin(0.05)
    require(robot.output().count("32FC7") == 1, "each reason is logged once")
    peer.answers_until(2)
    return robot


def a_huge_image_is_refused_and_the_next_is_answered(peer):
    free_mb = int(re.search(r"MemAvailable:\s*(\d+)", open("/proc/meminfo").read())[1]) / 1024
    if free_mb < 2000:
        sys.exit(f"SKIPPED: it takes 2 GB of memory, and {free_mb:.0f} MB are free")
    robot = Robot("image_qos:=reliable")
    peer.advertise(Image, "image", QoSProfile(depth=1))
    peer.listen(AnswerInfo, "answer")
    peer.listen(Status, "status")
    huge = Image(width=10000, height=10000, encoding="mono8", step=10000)
    huge.data = array.array("B", bytes(10000 * 10000))
    for _ in range(2):
        peer.spin_until(lambda: peer.has_listener("image"), "the node's subscription")
        peer.received["status"].clear()
        peer.send(huge)
        peer.spin_until(lambda: any("10000x10000 pixels is too large" in status.refusal
                                    for status in peer.received["status"]),
                        "the refusal", 60)
        peer.answers_until(len(peer.received["answer"]) + 1)
        peer.spin_until(lambda: not peer.received["status"][-1].refusal, "its end",
                        do=lambda: peer.send(picture()))
    require(robot.output().count("too large") == 1, robot.output())
    return robot


def services_do_as_they_say(peer):
    robot = Robot()
    peer.advertise(Image, "image")
    peer.listen(AnswerInfo, "answer")
    peer.answers_until(2)
    require(peer.call(SetMode, "cacheinf/set_mode", SetMode.Request(mode="cache")).success, "cache")
    refused = peer.call(SetMode, "cacheinf/set_mode", SetMode.Request(mode="fast"))
    require(not refused.success and "mode" in refused.message, refused)
    require(peer.call(Trigger, "cacheinf/reset", Trigger.Request()).success, "reset")
    require(peer.call(Reload, "cacheinf/reload", Reload.Request()).success, "reload")
    refused = peer.call(Reload, "cacheinf/reload", Reload.Request(model="/no/such.onnx"))
    require(not refused.success and "/no/such.onnx" in refused.message, refused)
    peer.answers_until(len(peer.received["answer"]) + 2)
    require(peer.call(SetBool, "cacheinf/set_active", SetBool.Request(data=False)).success, "off")
    peer.spin(0.5)
    before = len(peer.received["answer"])
    peer.spin(1, do=lambda: peer.send(picture()))
    require(len(peer.received["answer"]) == before, "an inactive node answers")
    require(peer.call(SetBool, "cacheinf/set_active", SetBool.Request(data=True)).success, "on")
    peer.answers_until(before + 2)
    return robot


def a_managed_node_waits_for_its_transitions(peer):
    robot = Robot("autostart:=false")
    peer.advertise(Image, "image")

    def state():
        return peer.call(GetState, "cacheinf/get_state", GetState.Request()).current_state.label

    def change(label):
        request = ChangeState.Request()
        request.transition.label = label
        return peer.call(ChangeState, "cacheinf/change_state", request).success

    require(state() == "unconfigured", state())
    require(not change("activate"), "activated without a model")
    require(change("configure") and state() == "inactive", state())
    peer.listen(AnswerInfo, "answer")
    require(change("activate") and state() == "active", state())
    peer.answers_until(2)
    require(change("deactivate") and change("cleanup") and state() == "unconfigured", state())
    require(change("configure") and change("activate"), "once more")
    peer.answers_until(len(peer.received["answer"]) + 2)
    peer.send(picture())  # with which the node may be told in one wait
    require(change("shutdown"), "shutdown")
    code = robot.process.wait(PATIENCE_S)
    require(code == 0, f"a node that is shut down ends with {code}")
    return robot


def pictures_are_drawn_for_who_looks(peer):
    robot = Robot("mode:=cache")
    peer.advertise(Image, "image")
    peer.listen(Image, "overlay")
    peer.listen(Image, "recomputed")
    peer.answers_until(2, topic="overlay")
    peer.answers_until(2, topic="recomputed")
    for topic in ("overlay", "recomputed"):
        image = peer.received[topic][-1]
        require((image.width, image.height, image.encoding) == (160, 120, "bgr8"), topic)
    return robot


def a_killed_server_costs_no_answer(peer):
    os.environ["CACHEINF_NAME_SERVER"] = os.path.abspath("name-server")
    subprocess.run([NAME_SERVER, "start"], check=True)
    try:
        return a_killed_server_of_that_name_costs_no_answer(peer)
    finally:
        subprocess.run([NAME_SERVER, "stop"], check=True)


def a_killed_server_of_that_name_costs_no_answer(peer):
    server = Program([SERVER, "--listen", "mpi:lab"], "server.log")
    robot = Robot("mode:=remote", "deadline_ms:=500", "server.address:=mpi:lab",
                  "cameras:=[left,right]")
    sides = ("left", "right")
    for side in sides:
        peer.advertise(Image, f"{side}/image")
        peer.listen(AnswerInfo, f"{side}/answer")
        peer.listen(String, f"{side}/json")
        peer.listen(Status, f"{side}/status")

    def send_both():
        for side in sides:
            peer.send(picture(), f"{side}/image", side)

    def connected():
        last = [peer.received[f"{side}/status"][-1:] for side in sides]
        return [status[0].has_server for status in last if status]

    def answered_by_server():
        return all(any('"server"' in line.data for line in peer.received[f"{side}/json"])
                   for side in sides)

    peer.spin_until(lambda: connected() == [True, True], "the server, by both", do=send_both)
    peer.spin_until(answered_by_server, "its answers to both", do=send_both)
    server.end(signal.SIGKILL)
    peer.spin_until(lambda: connected() == [False, False], "its loss", do=send_both)
    before = {side: len(peer.received[f"{side}/answer"]) for side in sides}
    peer.spin_until(lambda: all(len(peer.received[f"{side}/answer"]) >= before[side] + 5
                                for side in sides), "answers without it", do=send_both)
    return robot


def a_stop_during_a_frame_ends_in_peace(peer):
    robot = Robot()
    peer.advertise(Image, "image")
    peer.listen(AnswerInfo, "answer")
    peer.answers_until(2)
    peer.send(picture())
    begin = time.monotonic()
    require(robot.end() == 0, robot.output())
    require(time.monotonic() - begin < 5, "the stop takes long")
    return robot


def memory_stays_flat(peer):
    robot = Robot("mode:=cache")
    peer.advertise(Image, "image")
    peer.listen(AnswerInfo, "answer", 1000)
    still = picture(seed=3)
    peer.pause_s = 0
    peer.answers_until(200, image=lambda: still)
    before = robot.memory_mb()
    peer.spin_until(lambda: len(peer.received["answer"]) >= 2200, "2,000 answers", 200,
                    do=lambda: peer.send(still))
    grown = robot.memory_mb() - before
    require(grown < 8, f"2,000 frames took {grown:.1f} MB")
    return robot


play(globals()[SCENARIO], Peer)
