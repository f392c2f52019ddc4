"""Mends the wheels of ROS 2 in the environment whose Python runs this: C++ then builds with them, and
programs find their libraries without LD_LIBRARY_PATH. A second run changes nothing.

The wheels are made to be imported by Python alone. Their CMake files name folders of the machine
that built them; their libraries look for one another where no wheel puts them, and C++'s need
Python's.
"""

import csv
import os
import pathlib
import re
import subprocess
import sys
import sysconfig

prefix = pathlib.Path(sys.prefix)
packages = pathlib.Path(sysconfig.get_path("purelib"))
libraries = prefix / "lib"


def installed_files():
    for record in sorted(packages.glob("ros_*.dist-info/RECORD")):
        for row in csv.reader(record.read_text().splitlines()):
            yield pathlib.Path(os.path.normpath(packages / row[0]))


def patchelf(*arguments):
    command = [prefix / "bin" / "patchelf", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def mend_library(path):
    changes = []
    if path.parent == libraries and not path.name.endswith("__rosidl_generator_py.so"):
        for needed in patchelf("--print-needed", path).split():
            if needed.endswith("__rosidl_generator_py.so"):
                changes += ["--remove-needed", needed]
    place = os.path.join("$ORIGIN", os.path.relpath(libraries, path.parent))
    # The old kind, because libraries load others by name, for which the new kind does not count.
    patchelf(*changes, "--force-rpath", "--set-rpath", place, path)


def mend_cmake(path):
    text = path.read_text()
    mended = re.sub(r'/opt/python/[^";]*;?', "", text)
    if path.parent.parent.name == "fastrtps":
        mended = re.sub(r"find_package\((OpenSSL|TinyXML2) [A-Z]+\)\n", "", mended)
        mended = re.sub(r';-lpthread;dl;/usr/lib64/libtinyxml2\.so[^"]*', "", mended)
    if mended != text:
        path.write_text(mended)


for path in installed_files():
    if path.parent.name.endswith(".libs"):
        link = libraries / path.name
        link.unlink(missing_ok=True)
        link.symlink_to(os.path.relpath(path, libraries))
    elif ".so" in path.suffixes:
        mend_library(path)
    elif path.suffix == ".cmake":
        mend_cmake(path)
