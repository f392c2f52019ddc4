"""Plays one scenario with CacheInf's node of ROS 1: node_scenario.py NODE SERVER NAME_SERVER CONFIG MODEL SCENARIO.

Starts a master of its own. Prints what went wrong, and ends with 1, if anything does."""

import os
import random
import signal
import socket
import subprocess
import sys
import time

import rosgraph
import rospy
from cacheinf_msgs.msg import AnswerInfo, Status
from cacheinf_msgs.srv import Reload, SetMode
from diagnostic_msgs.msg import DiagnosticArray
from rosgraph_msgs.msg import Log
from sensor_msgs.msg import CompressedImage, Image
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ros"))
from scenario import PATIENCE_S, Program, play, png, require, wait_until

NODE, SERVER, NAME_SERVER, CONFIG, MODEL, SCENARIO = sys.argv[1:]
NODELET = "/usr/lib/nodelet/nodelet"
OPTIONS = ["--config", CONFIG, "--model", MODEL, "--shape", "1x3x96x128"]


class Robot(Program):
    """The node as a process of its own."""

    def __init__(self, *parameters):
        super().__init__([NODE, *OPTIONS, *("_" + parameter for parameter in parameters)])


class Master(Program):
    """A roscore where a launcher may matter, else its master alone, which is there sooner."""

    def __init__(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        os.environ.update(ROS_MASTER_URI=f"http://127.0.0.1:{port}", ROS_IP="127.0.0.1",
                          ROS_HOME=os.getcwd(), ROS_LOG_DIR=os.getcwd())
        is_whole = SCENARIO == "a_manager_holds_it_as_a_nodelet"
        words = ["roscore"] if is_whole else ["rosmaster", "--core"]
        super().__init__([*words, "-p", str(port)], "master.log")

    def kill(self):
        self.end(signal.SIGINT)  # and what it has started


class Peer:
    """What sends images to the node and listens to it."""

    def __init__(self):
        Master()
        wait_until(rosgraph.is_master_online, "a master")
        rospy.init_node("peer", disable_signals=True)
        self.publishers = {}
        self.subscribers = {}
        self.received = {}
        self.stamp = 1000

    def listen(self, kind, topic, depth=10):
        self.received[topic] = []
        self.subscribers[topic] = rospy.Subscriber(topic, kind, self.received[topic].append,
                                                   queue_size=depth)

    def advertise(self, kind, topic):
        self.publishers[topic] = rospy.Publisher(topic, kind, queue_size=1)

    def has_listener(self, topic):
        return self.publishers[topic].get_num_connections() > 0

    def send(self, image, topic="image", frame_id="camera", pause_s=0.04):
        self.stamp += 1
        image.header.stamp = rospy.Time(self.stamp, 5)
        image.header.frame_id = frame_id
        self.publishers[topic].publish(image)
        time.sleep(pause_s)
        return self.stamp

    def call(self, kind, name, *arguments):
        rospy.wait_for_service(name, PATIENCE_S)
        return rospy.ServiceProxy(name, kind)(*arguments)

    def answers_until(self, count, topic="answer", image=None):
        """Sends images until so many answers have come."""
        make = image or picture
        wait_until(lambda: len(self.received[topic]) >= count, f"{count} answers on {topic}",
                   do=lambda: self.send(make()))
        return self.received[topic]

    def last_status(self):
        return self.received["status"][-1] if self.received["status"] else Status()


def picture(encoding="bgr8", seed=None):
    image = Image(width=160, height=120, encoding=encoding, step=480)
    image.data = random.Random(seed).randbytes(image.step * image.height)
    return image


def frames_pass_stamp_and_frame_and_nothing_is_done_unasked(peer):
    robot = Robot()
    peer.advertise(Image, "image")
    rospy.wait_for_service("cacheinf/reset", PATIENCE_S)
    time.sleep(1)
    require(not peer.has_listener("image"), "the node listens though nobody wants answers")
    for kind, topic in ((AnswerInfo, "answer"), (Image, "segmentation"), (String, "json")):
        peer.listen(kind, topic)
    wait_until(lambda: peer.has_listener("image"), "the node's subscription")
    sent = set()
    wait_until(lambda: peer.received["json"] and peer.received["segmentation"], "the first answer",
               do=lambda: sent.add(peer.send(picture(), frame_id="optical")))
    info = peer.received["answer"][0]
    require(info.header.stamp.secs in sent and info.header.stamp.nsecs == 5, info.header)
    require(info.header.frame_id == "optical", info.header)
    require(info.computed_from.stamp == info.header.stamp, "computed from its own image")
    classes = peer.received["segmentation"][0]
    require((classes.width, classes.height) == (160, 120), "the map has the image's size")
    require(classes.encoding in ("mono8", "16UC1"), classes.encoding)
    require(len(classes.data) == classes.step * classes.height, "the map is whole")
    require('"kind":"segmentation"' in peer.received["json"][0].data.replace(" ", ""),
            peer.received["json"][0].data[:200])
    for subscriber in peer.subscribers.values():
        subscriber.unregister()
    wait_until(lambda: not peer.has_listener("image"), "its end, when nobody listens any more")
    return robot


def a_compressed_image_is_answered(peer):
    robot = Robot("compressed:=true")
    peer.advertise(CompressedImage, "image/compressed")
    peer.listen(AnswerInfo, "answer")
    make = lambda: CompressedImage(format="png", data=png(160, 120, picture().data))
    wait_until(lambda: len(peer.received["answer"]) >= 2, "two answers",
               do=lambda: peer.send(make(), "image/compressed"))
    return robot


def two_cameras_share_a_node(peer):
    rospy.set_param("cacheinf/cameras", ["left", "right"])
    robot = Robot("mode:=cache")
    for side in ("left", "right"):
        peer.advertise(Image, f"{side}/image")
        peer.listen(AnswerInfo, f"{side}/answer")

    def send_both():
        for side in ("left", "right"):
            peer.send(picture(), f"{side}/image", side)

    wait_until(lambda: min(len(of) for of in peer.received.values()) >= 3, "both answers",
               do=send_both)
    for side in ("left", "right"):
        frames = {info.header.frame_id for info in peer.received[f"{side}/answer"]}
        require(frames == {side}, f"{side} has answers of {frames}")
    return robot


def what_is_wrong_with_an_image_is_told_and_the_next_is_answered(peer):
    robot = Robot()
    peer.advertise(Image, "image")
    peer.listen(AnswerInfo, "answer")
    peer.listen(Status, "status")
    peer.listen(DiagnosticArray, "/diagnostics")
    peer.listen(Log, "/rosout", 100)
    wait_until(lambda: "32FC7" in peer.last_status().refusal, "the refusal",
               do=lambda: peer.send(picture("32FC7")))
    require(not peer.received["answer"], "an answer to an unknown encoding")
    wait_until(lambda: any("32FC7" in status.message for array in peer.received["/diagnostics"]
                           for status in array.status), "the refusal in diagnostics")
    require(robot.output().count("32FC7") == 1, "each reason is logged once")
    wait_until(lambda: [log.name for log in peer.received["/rosout"] if "32FC7" in log.msg and
                        log.level == Log.WARN] == ["/cacheinf"], "the refusal on /rosout")
    peer.answers_until(2)
    return robot


def services_do_as_they_say(peer):
    robot = Robot("mode:=dense", "decoder/score_threshold:=0.5")
    peer.advertise(Image, "image")
    peer.listen(AnswerInfo, "answer")
    peer.listen(Status, "status")
    peer.answers_until(2)
    require(peer.call(SetMode, "cacheinf/set_mode", "cache").success, "cache")
    require(rospy.get_param("cacheinf/mode") == "cache", "the parameter follows")
    refused = peer.call(SetMode, "cacheinf/set_mode", "fast")
    require(not refused.success and "mode" in refused.message, refused)
    require(peer.call(Trigger, "cacheinf/reset").success, "reset")
    rospy.set_param("cacheinf/deadline_ms", 150)
    require(peer.call(Reload, "cacheinf/reload", "").success, "reload")
    wait_until(lambda: peer.last_status().deadline_ms == 150 and peer.last_status().mode == "cache",
               "what parameters say after a reload")
    rospy.set_param("cacheinf/deadline_ms", -1)
    refused = peer.call(Reload, "cacheinf/reload", "")
    require(not refused.success and "deadline_ms" in refused.message, refused)
    rospy.set_param("cacheinf/deadline_ms", 150)
    refused = peer.call(Reload, "cacheinf/reload", "/no/such.onnx")
    require(not refused.success and "/no/such.onnx" in refused.message, refused)
    require(not rospy.has_param("cacheinf/model"), "the parameter of a model that was refused")
    peer.answers_until(len(peer.received["answer"]) + 2)
    require(peer.call(SetBool, "cacheinf/set_active", False).success, "off")
    wait_until(lambda: not peer.has_listener("image"), "the end of the node's subscription")
    time.sleep(0.5)
    before = len(peer.received["answer"])
    for _ in range(10):
        peer.send(picture())
    require(len(peer.received["answer"]) == before, "an inactive node answers")
    require(peer.call(SetBool, "cacheinf/set_active", True).success, "on")
    peer.answers_until(before + 2)
    return robot


def pictures_are_drawn_for_who_looks(peer):
    robot = Robot("mode:=cache")
    peer.advertise(Image, "image")
    for topic in ("overlay", "recomputed"):
        peer.listen(Image, topic)
        image = peer.answers_until(2, topic)[-1]
        require((image.width, image.height, image.encoding) == (160, 120, "bgr8"), topic)
    return robot


def a_killed_server_costs_no_answer(peer):
    os.environ["CACHEINF_NAME_SERVER"] = os.path.abspath("name-server")
    subprocess.run([NAME_SERVER, "start"], check=True)
    try:
        server = Program([SERVER, "--listen", "mpi:lab"], "server.log")
        robot = Robot("mode:=remote", "deadline_ms:=500", "server/address:=mpi:lab")
        peer.advertise(Image, "image")
        peer.listen(AnswerInfo, "answer")
        peer.listen(Status, "status")
        send = lambda: peer.send(picture())
        wait_until(lambda: peer.last_status().has_server, "the server", do=send)
        server.end(signal.SIGKILL)
        wait_until(lambda: not peer.last_status().has_server, "its loss", do=send)
        peer.answers_until(len(peer.received["answer"]) + 5)
        return robot
    finally:
        subprocess.run([NAME_SERVER, "stop"], check=True)


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
    send = lambda: peer.send(still, pause_s=0.002)
    wait_until(lambda: len(peer.received["answer"]) >= 100, "100 answers", do=send)
    before = robot.memory_mb()
    wait_until(lambda: len(peer.received["answer"]) >= 500, "400 answers", 200, do=send)
    grown = robot.memory_mb() - before
    require(grown < 4, f"400 frames took {grown:.1f} MB")
    return robot


def a_wrong_parameter_ends_it_with_a_sentence(peer):
    del peer
    for parameter, named in (("mode:=fast", "mode"), ("cameras:=left,left", "left"),
                             ("server/address:=5", "server.address must be a text"),
                             ("compressed:=7", "compressed"),
                             ("no/such:=1", 'parameter: unknown key "no.such"')):
        robot = Robot(parameter)
        require(robot.process.wait(PATIENCE_S) == 2, robot.output())
        require(named in robot.output() and robot.output().count("\n") == 1, robot.output())
        rospy.delete_param("cacheinf")
    os.environ["ROS_MASTER_URI"] = "http://127.0.0.1:9"
    for words, named in (("--mode", "fast"), "mode"), (("extra",), "extra"), (("-q",), "-q"):
        robot = Program([NODE, *words, *OPTIONS], "wrong.log")
        require(robot.process.wait(PATIENCE_S) == 2, robot.output())
        require(named in robot.output() and robot.output().count("\n") == 1, robot.output())
    robot = Robot("mode:=cache")  # which ROS itself waits to tell the master
    wait_until(lambda: "127.0.0.1:9" in robot.output(), "a word about the missing master")
    require(robot.end() == 0, robot.output())
    robot = Robot()
    wait_until(lambda: "127.0.0.1:9" in robot.output(), "a word about the missing master")
    return robot


def a_manager_holds_it_as_a_nodelet(peer):
    manager = Program([NODELET, "manager", "__name:=manager"], "manager.log")
    load = lambda name, *options: Program(
        [NODELET, "load", "cacheinf/robot", "manager", f"__name:={name}", *options], f"{name}.log")
    wrong = load("wrong", "--model", "/no/such.onnx")
    require(wrong.process.wait(PATIENCE_S) != 0, "a model that is not there")
    require("/no/such.onnx" in manager.output(), "the reason")
    robot = load("cacheinf", *OPTIONS, "_mode:=cache")
    peer.advertise(Image, "image")
    peer.listen(AnswerInfo, "answer")
    peer.listen(Status, "status")
    peer.answers_until(5)
    wait_until(lambda: peer.last_status().mode == "cache", "the mode")
    require(peer.call(SetMode, "cacheinf/set_mode", "dense").success, "dense")
    peer.answers_until(10)
    peer.send(picture())
    robot.end(signal.SIGINT)  # the loader unloads what it has loaded
    wait_until(lambda: not peer.has_listener("image"), "the end of its subscription")
    robot = load("cacheinf", *OPTIONS)
    peer.answers_until(len(peer.received["answer"]) + 2)
    robot.end(signal.SIGINT)
    wait_until(lambda: not peer.has_listener("image"), "the end of its subscription")
    require(manager.process.poll() is None, "the manager has died")
    return robot


play(globals()[SCENARIO], Peer)
