"""Runs a convolutional network on a camera's frames, and computes only what has changed.

    with cacheinf.Robot({"model": "yolo11n.onnx", "mode": "cache"}) as robot:
        answer = robot.process(frame)
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy

from cacheinf._robot import InputError
from cacheinf._robot import Robot as _Robot

__all__ = ["InputError", "Robot"]


class Robot:
    """A network that answers one frame after the other, on a thread of its own.

    config: the path of a JSON file as `cacheinf-robot run --config` takes it, whose relative paths
        start at its folder; or a dict of the same keys, whose relative paths start at the working
        directory. The keys of frames and results (source, frames, realtime, output, …) are refused.
    tensors: frames are float32 arrays of the model's input shape instead of pictures.

    Raises InputError, a ValueError, for what cannot be used.
    """

    def __init__(
        self,
        config: str | os.PathLike[str] | Mapping[str, Any],
        *,
        tensors: bool = False,
    ) -> None:
        self._classes: numpy.ndarray | None = None
        if not isinstance(tensors, bool):
            raise InputError(f"tensors is True or False, not {type(tensors).__name__}")
        if isinstance(config, Mapping):
            self._robot = _Robot(None, _json_of(config), tensors)
        elif isinstance(config, (str, os.PathLike)):
            self._robot = _Robot(os.fsencode(config), "", tensors)
        else:
            raise InputError(f"config is a path or a dict, not {type(config).__name__}")

    def process(
        self,
        frame: numpy.ndarray,
        stamp: float | None = None,
        *,
        order: Literal["bgr", "rgb"] = "bgr",
        on_moved: Callable[[dict[str, Any]], object] | None = None,
    ) -> dict[str, Any]:
        """Returns the answer to a frame, as configs/answers.schema.json has it.

        frame: uint8, (height, width, 3) in OpenCV's order, blue first, or (height, width) if grey.
            It is not copied, but order "rgb" costs a copy. Change or free it as you like afterwards.
        stamp: when it was taken, in seconds by any clock; None: now, since the robot was made.
        on_moved: called with the last answer as the scene has moved since, if the configuration has
            a deadline and the frame's own answer is not there by then.

        Raises InputError for a frame that cannot be used; the next one can be.
        """
        return json.loads(self._process(frame, stamp, order, on_moved, json.loads))

    def process_json(
        self,
        frame: numpy.ndarray,
        stamp: float | None = None,
        *,
        order: Literal["bgr", "rgb"] = "bgr",
        on_moved: Callable[[str], object] | None = None,
    ) -> str:
        """The same as the text that `cacheinf-robot run --answers` writes."""
        return self._process(frame, stamp, order, on_moved, str)

    @property
    def classes(self) -> numpy.ndarray | None:
        """The last answer's class of every pixel, int32; None if it is no segmentation.

        Has the size of the network's output. Later answers have arrays of their own.
        """
        return self._classes

    def status(self) -> dict[str, Any]:
        """mode, plan, why (the plan), link (to a server), guard and memory; None: there is none."""
        return json.loads(self._robot.status())

    @property
    def closed(self) -> bool:
        return self._robot.closed

    def close(self) -> None:
        """Ends the robot's thread; waits for its work under way."""
        self._robot.close()

    def __enter__(self) -> Robot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        closed = ", closed" if self.closed else ""
        return f"<cacheinf.Robot {self._robot.model!r}, mode {self._robot.mode}{closed}>"

    def _process(
        self,
        frame: numpy.ndarray,
        stamp: float | None,
        order: str,
        on_moved: Callable[[Any], object] | None,
        read: Callable[[str], Any],
    ) -> str:
        if on_moved is not None and not callable(on_moved):
            raise InputError(f"on_moved is a function or None, not {type(on_moved).__name__}")
        hand_on = on_moved and (lambda line: on_moved(read(line)))
        line, self._classes = self._robot.process(frame, stamp, order, hand_on)
        return line


def _json_of(config: Mapping[str, Any]) -> str:
    try:
        return json.dumps(_plain(config, ""))
    except RecursionError:
        raise InputError("configuration: it holds itself, or what is nested too deeply") from None


def _plain(value: Any, key: str) -> Any:
    """The value of a key as JSON has it."""
    if isinstance(value, (numpy.generic, numpy.ndarray)):
        value = value.tolist()
    if isinstance(value, os.PathLike):
        value = os.fsdecode(value)
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise InputError(f"configuration: {name!r} is no key, which is a text")
        return {name: _plain(one, f"{key}.{name}" if key else name) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one, key) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"configuration: {key} is {value}, which is no number")
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InputError(f"configuration: {key} is {value!r}, which is no Unicode") from None
    if value is not None and not isinstance(value, (bool, int, float, str)):
        raise InputError(
            f"configuration: {key} has type {type(value).__name__}; "
            "a text, a number, True, False, a list or a dict can be given"
        )
    return value
