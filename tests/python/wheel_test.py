"""Builds a wheel against an installed CacheInf, as docs/python.md says, and uses it elsewhere.

ctest runs this with the build's folder in $CACHEINF_BUILD and CMake in $CACHEINF_CMAKE.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
import sys, json, cacheinf, numpy
share = sys.argv[1]
config = json.load(open(share + "/demo.json"))
config.update(model=share + "/models/demo_segmentation.onnx", log_level="error")
with cacheinf.Robot(config) as robot:
    print(robot.process(numpy.zeros((240, 320, 3), numpy.uint8))["kind"], cacheinf.__file__)
"""


class WheelTest(unittest.TestCase):
    def run_words(self, *words, **options):
        ran = subprocess.run(words, capture_output=True, text=True, check=False, **options)
        output = ran.stdout + ran.stderr
        if ran.returncode != 0 and "No matching distribution found" in output:
            self.skipTest("built without a wheel: pip finds no scikit-build-core or pybind11")
        self.assertEqual(ran.returncode, 0, output)
        return ran.stdout

    def test_a_wheel_runs_away_from_the_sources(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        folder = pathlib.Path(holder.name)
        prefix = folder / "prefix"
        self.run_words(
            os.environ["CACHEINF_CMAKE"], "--install", os.environ["CACHEINF_BUILD"], "--prefix", prefix
        )
        self.assertFalse((prefix / "include/cacheinf/client/python").exists())
        shutil.copytree(ROOT / "client/python", folder / "python")
        # numpy is Debian's.
        self.run_words(sys.executable, "-m", "venv", "--system-site-packages", folder / "venv")
        python = folder / "venv/bin/python"
        # A build for debugging takes a third of the time.
        environment = {
            **os.environ,
            "CMAKE_PREFIX_PATH": str(prefix),
            "SKBUILD_CMAKE_BUILD_TYPE": "Debug",
        }
        environment.pop("PYTHONPATH", None)
        pip = [python, "-m", "pip", "--disable-pip-version-check"]
        self.run_words(
            *pip, "wheel", "--no-deps", "-w", folder, folder / "python", env=environment
        )
        (wheel,) = folder.glob("cacheinf-*.whl")
        shutil.rmtree(folder / "python")
        self.run_words(*pip, "install", "--no-deps", "--no-index", wheel, env=environment)
        printed = self.run_words(
            python, "-c", PROGRAM, prefix / "share/cacheinf", cwd=folder, env=environment
        )
        self.assertTrue(printed.startswith(f"segmentation {folder}/venv/"), printed)


if __name__ == "__main__":
    unittest.main(verbosity=2)
