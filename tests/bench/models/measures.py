"""Compares the robot's answers with a reference's: each measure takes lists, a frame an entry, and
gives (figure, worst, evidence): how well they agree, what the worst case shows, and how much there
was to compare. Without evidence the figure is None."""

import cv2
import numpy as np

LEAST_OVERLAP = 0.9  # of boxes that count as the same
CLOSE = 1.0  # so far apart, in pixels, the sides of boxes are that do too, however thin


def box_overlap(a, b):
    if np.abs(a - b).max() <= CLOSE:
        return 1.0
    low = np.maximum(a[:2], b[:2])
    high = np.minimum(a[2:], b[2:])
    shared = np.prod(np.clip(high - low, 0, None))
    return shared / max(np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - shared, 1e-9)


def turned_overlap(a, b):
    if np.abs(a - b).max() <= CLOSE:
        return 1.0
    one, two = a.astype(np.float32), b.astype(np.float32)
    shared = cv2.intersectConvexConvex(one, two)[0]
    return shared / max(cv2.contourArea(one) + cv2.contourArea(two) - shared, 1e-9)


def pairs(ours, theirs):
    """Boxes of one frame that are the same, greedily from the best."""
    open_ones = list(theirs)
    found = []
    for box in sorted(ours, key=lambda box: -box["score"]):

        def overlap(other, box=box):
            if other["label"] != box["label"]:
                return 0
            if "corners" in other:
                return turned_overlap(box["corners"], other["corners"])
            return box_overlap(box["box"], other["box"])

        best = max(open_ones, key=overlap, default=None)
        if best is not None and overlap(best) >= LEAST_OVERLAP:
            # By identity: arrays have no single truth.
            open_ones = [other for other in open_ones if other is not best]
            found.append((box, best))
    return found


def f1(ours, theirs):
    """F1 of boxes of the same class that overlap by .9 or whose sides are within a pixel; the
    largest difference of a score."""
    total = sum(len(boxes) for boxes in ours) + sum(len(boxes) for boxes in theirs)
    same = [pair for a, b in zip(ours, theirs) for pair in pairs(a, b)]
    worst = max((abs(a["score"] - b["score"]) for a, b in same), default=0)
    evidence = sum(len(boxes) for boxes in theirs)
    return (2 * len(same) / total if total else None), worst, f"{evidence} boxes"


def box_keypoints(ours, theirs):
    """Mean and largest distance of the keypoints of boxes that are the same, in pixels; boxes that
    only one side has count as infinitely far."""
    agreement, _, evidence = f1(ours, theirs)
    if agreement is None:
        return None, 0, evidence
    if agreement < 0.99:
        return float("inf"), float("inf"), evidence
    apart = np.concatenate([
        np.linalg.norm(a["keypoints"][:, :2] - b["keypoints"][:, :2], axis=1)
        for x, y in zip(ours, theirs) for a, b in pairs(x, y)
    ])
    return float(apart.mean()), float(apart.max()), f"{len(apart)} points"


def keypoints(ours, theirs):
    apart = np.concatenate([np.linalg.norm(a - b, axis=1) for a, b in zip(ours, theirs)])
    return float(apart.mean()), float(apart.max()), f"{len(apart)} points"


def points_f1(ours, theirs):
    """F1 of points that lie within a pixel of each other, whatever their order; the distance of the
    farthest of these."""
    same, worst = 0, 0
    for a, b in zip(ours, theirs):
        apart = np.linalg.norm(a[:, None] - b[None], axis=2)
        nearest = apart.min(1, initial=np.inf)
        close = nearest <= CLOSE
        same += np.count_nonzero(close)
        worst = max(worst, nearest[close].max(initial=0))
    total = sum(map(len, ours)) + sum(map(len, theirs))
    return (2 * same / total if total else None), float(worst), f"{sum(map(len, theirs))} points"


def mask_iou(ours, theirs):
    """IoU of all the masks of boxes that are the same, times their F1; the worst mask of at least
    100 pixels."""
    agreement, _, evidence = f1(ours, theirs)
    if agreement is None:
        return None, 0, evidence
    shared, all_pixels = [], []
    for x, y in zip(ours, theirs):
        for a, b in pairs(x, y):
            shared.append(np.count_nonzero(a["mask"] & b["mask"]))
            all_pixels.append(np.count_nonzero(a["mask"] | b["mask"]))
    worst = min((s / n for s, n in zip(shared, all_pixels) if n >= 100), default=0)
    return agreement * sum(shared) / max(sum(all_pixels), 1), worst, f"{len(shared)} masks"


def miou(ours, theirs):
    """Mean over the classes that either side names; the worst class."""
    ours, theirs = np.stack(ours), np.stack(theirs)
    ious = []
    for label in np.union1d(ours, theirs):
        a, b = ours == label, theirs == label
        ious.append(np.count_nonzero(a & b) / np.count_nonzero(a | b))
    if len(ious) < 2:
        return None, 0, "one class throughout"
    return float(np.mean(ious)), float(np.min(ious)), f"{len(ious)} classes"


def top1(ours, theirs):
    """Share of frames with the same best class; the largest difference of a score."""
    same = [a[0][0] == b.argmax() for a, b in zip(ours, theirs)]
    worst = max(abs(score - b[label]) for a, b in zip(ours, theirs) for label, score in a)
    classes = len({int(b.argmax()) for b in theirs})
    return float(np.mean(same)), float(worst), f"{classes} best class" + "es" * (classes > 1)


def cosine(ours, theirs):
    """The mean; the least."""
    each = [
        float(np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b))) for a, b in zip(ours, theirs)
    ]
    return float(np.mean(each)), min(each), f"{len(each)} frames"


# What to write for a measure, the bar, and whether more is better.
MEASURES = {
    "F1": (f1, 0.99, True), "keypoint error of boxes, px": (box_keypoints, 0.5, False),
    "keypoint error, px": (keypoints, 0.5, False), "F1 of points": (points_f1, 0.99, True),
    "mask IoU": (mask_iou, 0.97, True), "mIoU": (miou, 0.99, True), "top-1": (top1, 0.99, True),
    "cosine": (cosine, 0.99, True)
}
