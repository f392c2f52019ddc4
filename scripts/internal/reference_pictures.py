"""Writes tests/model/reference_pictures.h: what OpenCV, Pillow, TorchVision's transforms and
Ultralytics' letterbox make of frames that tests/model/reference_pictures_test.cc makes too.

  python3 -m venv build/pictures
  build/pictures/bin/pip install numpy 'pillow<12' 'opencv-python-headless<5'
  build/pictures/bin/python scripts/internal/reference_pictures.py >tests/model/reference_pictures.h

TorchVision and Ultralytics are not installed: TorchVision calls Pillow, Ultralytics calls OpenCV,
and where each puts the picture is written out below. Pillow 13 resizes some tall frames along the
columns first, which moves a few levels by one.
"""

import cv2
import numpy
import PIL
from PIL import Image

BORDER = 114
MOST_LEVELS = 150  # of a picture that is written out; of larger ones there is a hash


HEAD = """\
#ifndef CACHEINF_TESTS_MODEL_REFERENCE_PICTURES_H_
#define CACHEINF_TESTS_MODEL_REFERENCE_PICTURES_H_

#include <cstdint>
#include <vector>

#include "common/model/graph/graph.h"

// Written by scripts/internal/reference_pictures.py with OpenCV {} and Pillow {}.

namespace cacheinf {{

struct ReferencePicture {{
  int frame_width;
  int frame_height;
  int channels;
  int width;
  int height;
  PictureSpec::Fit fit;
  PictureSpec::Resize resize;
  int resize_to;
  uint64_t hash;                // FNV-1a of its levels
  std::vector<uint8_t> levels;  // of a small one
}};

inline std::vector<ReferencePicture> ReferencePictures() {{
  using Fit = PictureSpec::Fit;
  using Resize = PictureSpec::Resize;
  // clang-format off
  return {{"""

TAIL = """\
  };
  // clang-format on
}

}  // namespace cacheinf

#endif  // CACHEINF_TESTS_MODEL_REFERENCE_PICTURES_H_"""


def frame(width, height, channels):
    i = numpy.arange(width * height * channels, dtype=numpy.uint64)
    levels = (i * i * numpy.uint64(37) + i * numpy.uint64(11)) % numpy.uint64(251)
    shape = (height, width, 3) if channels == 3 else (height, width)
    return levels.astype(numpy.uint8).reshape(shape)


def pillow(picture, width, height):
    return numpy.asarray(Image.fromarray(picture).resize((width, height), Image.BILINEAR))


def resize(picture, width, height, way):
    if way == "Antialias":
        return pillow(picture, width, height)
    return cv2.resize(picture, (width, height), interpolation=cv2.INTER_LINEAR)


def letterbox(picture, width, height, way):
    """Ultralytics' LetterBox with auto=False."""
    rows, columns = picture.shape[:2]
    ratio = min(height / rows, width / columns)
    new_width, new_height = round(columns * ratio), round(rows * ratio)
    across, down = (width - new_width) / 2, (height - new_height) / 2
    if (new_width, new_height) != (columns, rows):
        picture = resize(picture, new_width, new_height, way)
    top, bottom = round(down - 0.1), round(down + 0.1)
    left, right = round(across - 0.1), round(across + 0.1)
    return cv2.copyMakeBorder(
        picture, top, bottom, left, right, cv2.BORDER_CONSTANT, value=(BORDER,) * 3
    )


def corner(picture, width, height, way):
    """YOLOX's preproc, for grey pictures too."""
    rows, columns = picture.shape[:2]
    padded = numpy.full((height, width) + picture.shape[2:], BORDER, dtype=numpy.uint8)
    ratio = min(height / rows, width / columns)
    new_width, new_height = int(columns * ratio), int(rows * ratio)
    padded[:new_height, :new_width] = resize(picture, new_width, new_height, way)
    return padded


def crop(picture, width, height, way, resize_to):
    """TorchVision's Resize(resize_to) and CenterCrop((height, width))."""
    rows, columns = picture.shape[:2]
    short, long = min(rows, columns), max(rows, columns)
    new_long = int(resize_to * long / short)
    size = (resize_to, new_long) if columns <= rows else (new_long, resize_to)
    picture = resize(picture, *size, way)
    top = int(round((size[1] - height) / 2.0))
    left = int(round((size[0] - width) / 2.0))
    return picture[top : top + height, left : left + width]


def fnv(levels):
    value = 14695981039346656037
    for level in levels:
        value = (value ^ level) * 1099511628211 % 2**64
    return value


SIZES = [  # of frames and models
    (1, 1, 4, 3), (2, 1, 3, 5), (3, 2, 1, 1), (4, 4, 2, 2), (7, 5, 6, 4), (7, 5, 5, 5),
    (5, 7, 9, 5), (13, 11, 4, 4), (16, 12, 4, 3), (12, 9, 4, 3), (11, 3, 7, 6), (6, 10, 8, 3),
    (31, 17, 13, 29), (64, 48, 64, 48), (97, 61, 33, 32), (81, 63, 160, 96), (123, 77, 64, 64),
    (640, 480, 227, 227), (1280, 720, 640, 384), (1920, 1080, 640, 640), (1919, 1079, 641, 383),
]  # fmt: skip
CROPS = [
    (9, 6, 5, 5, 6), (40, 30, 7, 7, 8), (30, 41, 6, 5, 7), (33, 100, 24, 24, 31),
    (640, 480, 224, 224, 256), (1920, 1080, 224, 224, 256), (333, 500, 224, 224, 232),
]  # fmt: skip


def write(fit, way, size, channels, resize_to, picture):
    levels = picture.reshape(-1).tolist()
    written = ", ".join(map(str, levels)) if len(levels) <= MOST_LEVELS else ""
    print(
        f"    {{{size[0]}, {size[1]}, {channels}, {size[2]}, {size[3]}, Fit::k{fit}, "
        f"Resize::k{way}, {resize_to}, {fnv(levels)}u, {{{written}}}}},"
    )


def main():
    print(HEAD.format(cv2.__version__, PIL.__version__))
    for size in SIZES:
        for channels in (1, 3):
            picture = frame(size[0], size[1], channels)
            # OpenCV's own ways are compared with the OpenCV that is linked.
            write("Stretch", "Antialias", size, channels, 0, pillow(picture, size[2], size[3]))
            boxed = letterbox(picture, size[2], size[3], "Bilinear")
            write("Letterbox", "Bilinear", size, channels, 0, boxed)
            if size != (3, 2, 1, 1):  # YOLOX leaves no row of it
                boxed = corner(picture, size[2], size[3], "Bilinear")
                write("Corner", "Bilinear", size, channels, 0, boxed)
    for *size, resize_to in CROPS:
        for channels in (1, 3):
            picture = frame(size[0], size[1], channels)
            for way in ("Bilinear", "Antialias"):
                cropped = crop(picture, size[2], size[3], way, resize_to)
                write("Crop", way, size, channels, resize_to, cropped)
    print(TAIL)


if __name__ == "__main__":
    main()
