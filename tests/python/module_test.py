"""Read this first: robots in Python answer as the program does, and hold on to nothing.

ctest runs this with $PYTHONPATH where the module was built, and the program's path in $CACHEINF_ROBOT.
"""

import gc
import json
import mmap
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

import cacheinf

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = str(ROOT / "configs/models/demo_segmentation.onnx")
# Of an answer, what no two runs agree about.
TIMES = re.compile(r'"(stamp_ms|latency_ms|predicted_ms)":[^,}]+')


def demo(shape="1x3x96x128", **changes):
    """The demo's network, quiet, on one thread."""
    config = json.loads((ROOT / "configs/demo.json").read_text())
    config.update(model=MODEL, shapes=[shape], threads=1, log_level="error")
    config.update(changes)
    return config


def scene(index, width=320, height=240):
    """A disk that moves before a still, noisy wall."""
    wall = np.random.default_rng(7).integers(90, 110, (height, width, 3), dtype=np.uint8)
    y, x = np.ogrid[:height, :width]
    wall[(x - 40 - 5 * index) ** 2 + (y - height // 2) ** 2 < 30**2] = (40, 60, 220)
    return wall


def without_times(line):
    return TIMES.sub(r'"\1":0', line)


def answers(config, frames, **options):
    with cacheinf.Robot(config) as robot:
        return [without_times(robot.process_json(frame, **options)) for frame in frames]


def resident_bytes(key="VmRSS"):
    status = pathlib.Path("/proc/self/status").read_text()
    return 1024 * int(re.search(key + r":\s+(\d+)", status)[1])


class ModuleTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def answers_of_program(self, config, frames):
        source = self.folder / "frames"
        source.mkdir(exist_ok=True)
        for index, frame in enumerate(frames):
            if frame.dtype == np.uint8:
                height, width, _ = frame.shape
                header = f"P6 {width} {height} 255\n".encode()
                rgb = np.ascontiguousarray(frame[..., ::-1])
                (source / f"{index:03}.ppm").write_bytes(header + rgb.tobytes())
            else:
                np.save(source / f"{index:03}.npy", frame)
        (self.folder / "robot.json").write_text(json.dumps(config))
        lines = self.folder / "answers.jsonl"
        words = ["run", "--config", self.folder / "robot.json", "--source", source]
        subprocess.run(
            [os.environ["CACHEINF_ROBOT"], *words, "--answers", lines],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return [without_times(line) for line in lines.read_text().splitlines()]

    def refusal_of(self, call):
        with self.assertRaises(cacheinf.InputError) as refused:
            call()
        text = str(refused.exception)
        self.assertNotIn("\n", text)
        return text

    def assert_same_as_program(self, config):
        frames = [scene(index) for index in range(20)]
        for _ in range(10):
            expected = self.answers_of_program(config, frames)
            found = answers(config, frames)
            # On a busy machine reuse may seem to take longer than it saves.
            if not any('"rests"' in line for line in expected + found):
                break
        self.assertEqual(len(expected), len(frames))
        self.assertEqual(found, expected)
        return found

    # --- Answers ------------------------------------------------------------------------------

    def test_dense_answers_are_the_program_s(self):
        self.assert_same_as_program(demo(mode="dense"))

    def test_cached_answers_are_the_program_s(self):
        lines = self.assert_same_as_program(demo("1x3x48x64", mode="cache", guard={"share": 0.2}))
        self.assertLess(json.loads(lines[-1])["work"], 1, "nothing was reused: a weak test")

    def test_tracked_answers_are_the_program_s(self):
        # Frames so small are quick enough that reuse is never taken to be slow.
        lines = self.assert_same_as_program(demo("1x3x48x64", mode="cache", track=3))
        moved = [line for line in map(json.loads, lines) if line["computed_from"] != line["frame"]]
        self.assertTrue(moved, "nothing was tracked: a weak test")

    def test_answers_of_tensors_are_the_program_s(self):
        model = demo("1x3x48x64", mode="dense")
        for key in ("preprocess", "$schema"):
            del model[key]
        rng = np.random.default_rng(3)
        frames = [rng.normal(size=(1, 3, 48, 64)).astype(np.float32) for _ in range(3)]
        expected = self.answers_of_program(model, frames)
        with cacheinf.Robot(model, tensors=True) as robot:
            self.assertEqual([without_times(robot.process_json(frame)) for frame in frames], expected)
            refusal = self.refusal_of(lambda: robot.process(np.asfortranarray(frames[0])))
            self.assertIn("numpy.ascontiguousarray", refusal)
            refusal = self.refusal_of(lambda: robot.process(frames[0][:, :, :24].copy()))
            self.assertIn("shape 1x3x24x64 does not fit the model's input, 1x3x48x64", refusal)
            refusal = self.refusal_of(lambda: robot.process(scene(0)))
            self.assertIn("a tensor has float32", refusal)
            self.assertEqual(robot.process(frames[0])["kind"], "segmentation")

    def test_a_dict_and_its_file_give_the_same_robot(self):
        config = demo()
        config["model"] = "model.onnx"  # beside the file
        (self.folder / "model.onnx").symlink_to(MODEL)
        (self.folder / "robot.json").write_text(json.dumps(config))
        frames = [scene(0), scene(1)]
        config["model"] = pathlib.Path(MODEL)
        self.assertEqual(answers(self.folder / "robot.json", frames), answers(config, frames))

    def test_process_gives_the_answer_as_a_dict_and_the_map_as_an_array(self):
        with cacheinf.Robot(demo()) as robot:
            self.assertIsNone(robot.classes)
            answer = robot.process(scene(0), stamp=12.5)
            self.assertEqual(answer["stamp_ms"], 12500)
            self.assertEqual(answer["frame"], 0)
            first = robot.classes
            self.assertEqual((first.shape, first.dtype), ((96, 128), np.int32))
            counted = {int(c): n / first.size for c, n in zip(*np.unique(first, return_counts=True))}
            self.assertEqual(counted, {c["class"]: c["share"] for c in answer["classes"]})
            before = first.copy()
            robot.process(np.zeros((240, 320, 3), np.uint8))
            self.assertFalse(np.array_equal(robot.classes, before), "the frames are too alike")
        np.testing.assert_array_equal(first, before, "a later answer changed it")

    def test_pictures_of_other_layouts_have_the_same_answers(self):
        frames = [scene(index) for index in range(4)]
        expected = answers(demo(), frames)
        padded = [np.zeros((240, 400, 3), np.uint8)[:, 40:360] for _ in frames]
        for frame, view in zip(frames, padded):
            view[...] = frame
        self.assertEqual(answers(demo(), padded), expected)
        rgb = [np.ascontiguousarray(frame[..., ::-1]) for frame in frames]
        self.assertNotEqual(answers(demo(), rgb), expected)
        self.assertEqual(answers(demo(), rgb, order="rgb"), expected)
        grey = [frame[..., 0].copy() for frame in frames]
        as_colours = [np.repeat(frame[..., None], 3, axis=2) for frame in grey]
        self.assertEqual(answers(demo(), grey), answers(demo(), as_colours))

    def test_status_says_how_the_robot_does(self):
        with cacheinf.Robot(demo(mode="cache", guard={"share": 1})) as robot:
            for index in range(10):
                robot.process(scene(index))
            status = robot.status()
            self.assertEqual((status["mode"], status["plan"]), ("cache", "local cache"))
            self.assertEqual((status["why"], status["link"]), ("", None))
            self.assertGreater(status["guard"]["samples"], 0)
            self.assertGreater(status["memory"]["arena_bytes"], 100_000)
            self.assertIn("demo_segmentation.onnx', mode cache>", repr(robot))
        self.assertIn(", closed>", repr(robot))

    def test_the_documentation_s_example_runs(self):
        text = (ROOT / "docs/python.md").read_text()
        (example,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        ran = subprocess.run(
            [sys.executable, "-c", example], cwd=ROOT, capture_output=True, text=True, check=False
        )
        self.assertEqual(ran.returncode, 0, ran.stderr)
        lines = ran.stdout.splitlines()
        self.assertEqual(len(lines), 10)
        for line in lines:
            self.assertRegex(line, r"^[0-9.]+ [0-9.e-]+ \[('\w+'(, )?)+\]$")

    # --- A deadline ---------------------------------------------------------------------------

    def slow(self, **changes):
        """Takes hundreds of milliseconds a frame."""
        return demo("1x3x160x208", backend="reference", **changes)

    def test_a_moved_answer_comes_before_a_late_one(self):
        with cacheinf.Robot(self.slow(deadline_ms=20)) as robot:
            robot.process(scene(0))
            moved = []
            answer = robot.process(scene(1), on_moved=moved.append)
            self.assertEqual([line["frame"] for line in moved], [1])
            self.assertTrue(moved[0]["moved"])
            self.assertLess(moved[0]["latency_ms"], answer["latency_ms"])
            self.assertNotIn("moved", answer)
            self.assertTrue(answer["late"])

            def fail(_):
                raise KeyError("the caller's own")

            with self.assertRaises(KeyError):
                robot.process(scene(2), on_moved=fail)
            self.assertEqual(robot.process(scene(3))["frame"], 3)

    # --- Waiting ------------------------------------------------------------------------------

    def test_other_threads_run_while_one_processes(self):
        with cacheinf.Robot(self.slow()) as robot:
            ticks = []
            is_over = threading.Event()

            def tick():
                while not is_over.wait(0.001):
                    ticks.append(time.monotonic())

            clock = threading.Thread(target=tick)
            clock.start()
            began = time.monotonic()
            robot.process(scene(0))
            ended = time.monotonic()
            is_over.set()
            clock.join()
        quarter = (ended - began) / 4
        amid = [moment for moment in ticks if began + quarter < moment < ended - quarter]
        self.assertGreater(len(amid), 3)

    def test_control_c_ends_the_wait_and_leaves_the_robot(self):
        config = self.slow()
        expected = answers(config, [scene(0), scene(1), scene(2)])
        with cacheinf.Robot(config) as robot:
            first = without_times(robot.process_json(scene(0)))
            began = time.monotonic()
            interrupt = threading.Timer(0.02, lambda: os.kill(os.getpid(), signal.SIGINT))
            interrupt.start()
            frame = scene(1)
            with self.assertRaises(KeyboardInterrupt):
                robot.process(frame)
            self.assertLess(time.monotonic() - began, 0.15, "it waited for the answer")
            self.assertEqual(sys.getrefcount(frame), 3, "the robot still reads the frame")
            self.assertEqual(without_times(robot.process_json(scene(2))), expected[2])
        self.assertEqual(first, expected[0])
        self.assertEqual(sys.getrefcount(frame), 2)

    def test_robots_and_threads_do_not_disturb_each_other(self):
        configs = [demo(), demo("1x3x48x64")]
        frames = [scene(index) for index in range(15)]
        expected = [answers(config, frames) for config in configs]
        found = [None, None]

        def run(index):
            found[index] = answers(configs[index], frames)

        threads = [threading.Thread(target=run, args=(index,)) for index in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, expected)

        # Threads that share a robot take turns.
        with cacheinf.Robot(configs[1]) as robot:
            numbers = []
            shared = [
                threading.Thread(target=lambda: numbers.append(robot.process(scene(0))["frame"]))
                for _ in range(8)
            ]
            for thread in shared:
                thread.start()
            for thread in shared:
                thread.join()
            self.assertEqual(sorted(numbers), list(range(8)))

    def test_closing_waits_for_the_frame_under_way(self):
        robot = cacheinf.Robot(self.slow())
        found = []
        thread = threading.Thread(target=lambda: found.append(robot.process(scene(0))))
        thread.start()
        time.sleep(0.05)
        robot.close()
        thread.join()
        self.assertEqual(found[0]["frame"], 0)
        self.assertTrue(robot.closed)
        robot.close()
        self.assertEqual(self.refusal_of(lambda: robot.process(scene(0))), "the robot is closed")
        self.assertEqual(robot.status()["mode"], "dense")

    def test_a_program_may_end_without_closing(self):
        script = (
            "import sys, threading, time\n"
            f"sys.path.insert(0, {str(ROOT / 'tests/python')!r})\n"
            "import module_test as m\n"
            "robot = m.cacheinf.Robot(m.demo('1x3x160x208', backend='reference'))\n"
            "robot.itself = robot\n"
            "work = threading.Thread(target=lambda: robot.process(m.scene(0)), daemon=True)\n"
            "work.start()\n"
            "time.sleep(0.05)\n"
        )
        ended = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
        self.assertEqual((ended.returncode, ended.stderr), (0, b""))

    def test_a_forked_process_is_told_to_make_its_own(self):
        robot = cacheinf.Robot(demo())
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                robot.process(scene(0))
            except cacheinf.InputError as error:
                os.write(writing, str(error).encode())
            del robot
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            self.assertIn(b"make another here", pipe.read())
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(robot.process(scene(0))["frame"], 0)

    # --- Memory -------------------------------------------------------------------------------

    def test_memory_stays_flat(self):
        with cacheinf.Robot(demo("1x3x48x64", mode="cache")) as robot:
            for index in range(800):
                if index == 300:
                    gc.collect()
                    before = resident_bytes()
                frame = scene(index % 40, 160, 120)
                robot.process(frame)
                if index % 10 == 0:
                    self.refusal_of(lambda: robot.process(frame[:, ::2]))
            gc.collect()
            grown = resident_bytes() - before
        # A frame a time would be 28 MB, an answer and its map 6 MB.
        self.assertLess(grown, 2e6)

    def peak_over(self, call):
        pathlib.Path("/proc/self/clear_refs").write_text("5")
        before = resident_bytes()
        call()
        return resident_bytes("VmHWM") - before

    def test_frames_are_not_copied(self):
        frame = np.full((4000, 6000, 3), 100, np.uint8)  # 72 MB
        with cacheinf.Robot(demo("1x3x48x64", mode="cache")) as robot:
            robot.process(frame)
            self.assertLess(self.peak_over(lambda: robot.process(frame)), 10e6)
            copying = self.peak_over(lambda: robot.process(frame, order="rgb"))
        self.assertGreater(copying, 60e6, "the peak says nothing")

    def process_once(self, robot, frame):
        """With the answer, the frame's memory goes away: whoever reads it then crashes."""
        memory = mmap.mmap(-1, frame.nbytes)
        mapped = np.frombuffer(memory, np.uint8).reshape(frame.shape)
        mapped[...] = frame
        answer = robot.process(mapped)
        del mapped
        memory.close()
        return answer

    def classes_of(self, frames, config, process):
        with cacheinf.Robot(config) as robot:
            return [process(robot, frame)["classes"] for frame in frames]

    def test_nothing_reads_a_frame_after_its_answer(self):
        exact = demo(mode="cache", cache={"policy": "exact"}, guard={"share": 1})
        for config in (demo(mode="dense"), exact):
            with self.subTest(config["mode"]):
                frames = [scene(index) for index in range(12)]
                expected = self.classes_of(frames, config, cacheinf.Robot.process)
                self.assertEqual(self.classes_of(frames, config, self.process_once), expected)
                buffer = np.empty_like(frames[0])

                def process_and_spoil(robot, frame):
                    buffer[...] = frame
                    answer = robot.process(buffer)
                    buffer[...] = 255
                    return answer

                self.assertEqual(self.classes_of(frames, config, process_and_spoil), expected)
                self.assertEqual(sys.getrefcount(buffer), 2)

    def test_nothing_reads_a_frame_after_its_answer_where_plans_are_tried(self):
        wall = np.full((3000, 4000, 3), 100, np.uint8)  # takes long to read
        config = demo(smaller_models=[f"{MODEL}@1x3x48x64"])
        with cacheinf.Robot(config) as robot:
            self.assertEqual(robot.status()["mode"], "cacheinf", "as the program chooses")
            for _ in range(9):  # a trial looks at the eighth
                self.assertEqual(self.process_once(robot, wall)["kind"], "segmentation")

    # --- Refusals -----------------------------------------------------------------------------

    def test_refuses_configurations_in_a_sentence(self):
        contents = {
            "modl": ({"modl": "x"}, "modl"),
            "type": (demo(threads="two"), "threads"),
            "bounds": (demo(threads=-1), "threads"),
            "no model": ({}, "no model is given"),
            "missing": (demo(model="/nowhere.onnx"), "/nowhere.onnx"),
            "object": ({"model": object()}, "configuration: model has type object"),
            "bytes": (demo(model=b"x"), "configuration: model has type bytes"),
            "inner": (demo(cache={"policy": {1}}), "configuration: cache.policy has type set"),
            "key": ({3: "x"}, "configuration: 3 is no key"),
            "number": (demo(deadline_ms=float("nan")), "configuration: deadline_ms is nan"),
            "numpy": (demo(deadline_ms=np.float32("inf")), "configuration: deadline_ms is inf"),
            "whole": (demo(threads=np.int64(-1)), "threads"),
            "odd text": (demo(model="\udcff"), "configuration: model is"),
            "mode": (demo(mode="remote"), "such as server.address mpi"),
            "source": (demo(source="0"), "source is for cacheinf-robot run"),
            "frames": (demo(frames=3), "frames is for"),
            "check": (demo(check=10), "check is for"),
            "camera_wait": (demo(camera_wait=1), "camera_wait is for"),
            "realtime": (demo(realtime=True), "realtime is for"),
            "record": (demo(mode="cache", record={"folder": "x"}), "record.folder is for"),
            "answers": (demo(output={"answers": "-"}), "output.answers is for"),
            "summary": (demo(output={"summary": "x"}), "output.summary is for"),
        }
        for name, (config, words) in contents.items():
            with self.subTest(name):
                self.assertIn(words, self.refusal_of(lambda config=config: cacheinf.Robot(config)))
        itself = demo()
        itself["cache"] = itself
        self.assertIn("holds itself", self.refusal_of(lambda: cacheinf.Robot(itself)))
        self.assertIn("not int", self.refusal_of(lambda: cacheinf.Robot(3)))
        self.assertIn("not bytes", self.refusal_of(lambda: cacheinf.Robot(b"x")))
        self.assertIn("not str", self.refusal_of(lambda: cacheinf.Robot(demo(), tensors="no")))
        missing = self.folder / "missing.json"
        self.assertIn(str(missing), self.refusal_of(lambda: cacheinf.Robot(missing)))
        self.assertIn("needs pictures", self.refusal_of(
            lambda: cacheinf.Robot(demo(mode="cache"), tensors=True)))
        self.assertTrue(issubclass(cacheinf.InputError, ValueError))

    def test_takes_numbers_of_numpy_and_paths(self):
        model = pathlib.Path(MODEL)
        config = demo(model=model, threads=np.int64(1), deadline_ms=np.float32(500), shapes=[])
        config["shapes"] = np.array(["1x3x48x64"])
        with cacheinf.Robot(config) as robot:
            self.assertEqual(robot.process(scene(0))["kind"], "segmentation")

    def test_refuses_frames_in_a_sentence_and_goes_on(self):
        frame = scene(0)
        contents = {
            "list": (frame.tolist(), "must be a numpy array, not list"),
            "float": (frame.astype(np.float32), "numbers of type float32"),
            "int8": (frame.astype(np.int8), "numbers of type int8"),
            "alpha": (np.zeros((240, 320, 4), np.uint8), "shape (240, 320, 4)"),
            "batch": (frame[None], "shape (1, 240, 320, 3)"),
            "line": (frame[0, :, 0].copy(), "shape (320,)"),
            "planes": (frame.transpose(2, 0, 1).copy(), "shape (3, 240, 320)"),
            "columns": (frame[:, ::2], "numpy.ascontiguousarray"),
            "mirrored": (frame[..., ::-1], "numpy.ascontiguousarray"),
            "upside down": (frame[::-1], "numpy.ascontiguousarray"),
            "Fortran": (np.asfortranarray(frame), "numpy.ascontiguousarray"),
            "repeated": (np.broadcast_to(frame[0], frame.shape), "numpy.ascontiguousarray"),
            "no rows": (np.zeros((0, 320, 3), np.uint8), "(0, 320, 3), so it is empty"),
            "no columns": (np.zeros((240, 0), np.uint8), "(240, 0), so it is empty"),
            "flat": (np.zeros((1, 2_000_000, 3), np.uint8), "which no picture has"),
            "thin": (np.zeros((200_000, 1, 3), np.uint8), "200000"),
        }
        with cacheinf.Robot(demo(mode="cache")) as robot:
            for name, (given, words) in contents.items():
                with self.subTest(name):
                    text = self.refusal_of(lambda given=given: robot.process(given))
                    self.assertIn(words, text)
            stamps = {
                "stamp is nan": float("nan"),
                "stamp is inf": 10**400,
                "None, not str": "x",
                "None, not list": [1],
            }
            for words, stamp in stamps.items():
                text = self.refusal_of(lambda stamp=stamp: robot.process(frame, stamp))
                self.assertIn(words, text)
            for words, order in (("'hsv'", "hsv"), ("NoneType", None), ("ndarray", frame)):
                text = self.refusal_of(lambda order=order: robot.process(frame, order=order))
                self.assertIn(f"order is 'bgr' or 'rgb', not {words}", text)
            for process in (robot.process, robot.process_json):
                text = self.refusal_of(lambda process=process: process(frame, on_moved=5))
                self.assertEqual(text, "on_moved is a function or None, not int")
            self.assertEqual(robot.process(frame, np.float32(2))["stamp_ms"], 2000)
            self.assertEqual(robot.process(frame)["kind"], "segmentation")

    def test_what_the_robot_throws_reaches_the_caller_and_ends_it(self):
        robot = cacheinf.Robot(demo(decoder={"kind": "keypoints"}))
        refusal = self.refusal_of(lambda: robot.process(scene(0)))
        self.assertIn('contradict decoder.kind "keypoints"', refusal)
        self.assertEqual(self.refusal_of(lambda: robot.process(scene(1))), refusal)
        robot.close()
        with cacheinf.Robot(demo(decoder={"kind": "raw"})) as robot:
            self.assertEqual(robot.process(scene(0))["kind"], "raw")
            self.assertIsNone(robot.classes)


if __name__ == "__main__":
    unittest.main()
