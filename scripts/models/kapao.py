"""A detector with the layout of Kapao-L: YOLOv5-L6, four heads at strides 8, 16, 32 and 64.

Each head has 3 anchors × (4 box + 1 object + 18 classes + 34 key point coordinates) channels; the
heads are given raw, finest first. Input sides are multiples of 64, and values in [0, 1].
"""

import torch
from torch import nn

HEAD_CHANNELS = 3 * 57


class Conv(nn.Sequential):
    def __init__(self, inputs, outputs, kernel=1, stride=1):
        super().__init__(
            nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
            nn.BatchNorm2d(outputs, eps=1e-3),
            nn.SiLU(),
        )


class Bottleneck(nn.Module):
    def __init__(self, channels, shortcut):
        super().__init__()
        self.squeeze = Conv(channels, channels)
        self.spread = Conv(channels, channels, 3)
        self.shortcut = shortcut

    def forward(self, x):
        y = self.spread(self.squeeze(x))
        return x + y if self.shortcut else y


class C3(nn.Module):
    """A chain of bottlenecks beside a bypass, each at half the channels."""

    def __init__(self, inputs, outputs, depth, shortcut=True):
        super().__init__()
        half = outputs // 2
        self.enter = Conv(inputs, half)
        self.chain = nn.Sequential(*(Bottleneck(half, shortcut) for _ in range(depth)))
        self.bypass = Conv(inputs, half)
        self.merge = Conv(outputs, outputs)

    def forward(self, x):
        return self.merge(torch.cat([self.chain(self.enter(x)), self.bypass(x)], 1))


class PyramidPool(nn.Module):
    def __init__(self, channels):
        super().__init__()
        half = channels // 2
        self.squeeze = Conv(channels, half)
        self.pools = nn.ModuleList(nn.MaxPool2d(k, 1, k // 2) for k in (3, 5, 7))
        self.merge = Conv(4 * half, channels)

    def forward(self, x):
        x = self.squeeze(x)
        return self.merge(torch.cat([x, *(pool(x) for pool in self.pools)], 1))


class Focus(nn.Module):
    """Every second pixel of every second row into channels, then a convolution."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = Conv(4 * inputs, outputs, 3)

    def forward(self, x):
        quarters = [x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]]
        return self.conv(torch.cat(quarters, 1))


class Kapao(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(Focus(3, 64), Conv(64, 128, 3, 2), C3(128, 128, 3))
        self.level_8 = nn.Sequential(Conv(128, 256, 3, 2), C3(256, 256, 9))
        self.level_16 = nn.Sequential(Conv(256, 512, 3, 2), C3(512, 512, 9))
        self.level_32 = nn.Sequential(Conv(512, 768, 3, 2), C3(768, 768, 3))
        self.level_64 = nn.Sequential(
            Conv(768, 1024, 3, 2), PyramidPool(1024), C3(1024, 1024, 3, shortcut=False)
        )
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.narrow_64 = Conv(1024, 768)
        self.join_32 = C3(768 + 768, 768, 3, shortcut=False)
        self.narrow_32 = Conv(768, 512)
        self.join_16 = C3(512 + 512, 512, 3, shortcut=False)
        self.narrow_16 = Conv(512, 256)
        self.join_8 = C3(256 + 256, 256, 3, shortcut=False)
        self.down_16 = Conv(256, 256, 3, 2)
        self.back_16 = C3(256 + 256, 512, 3, shortcut=False)
        self.down_32 = Conv(512, 512, 3, 2)
        self.back_32 = C3(512 + 512, 768, 3, shortcut=False)
        self.down_64 = Conv(768, 768, 3, 2)
        self.back_64 = C3(768 + 768, 1024, 3, shortcut=False)
        self.heads = nn.ModuleList(
            nn.Conv2d(channels, HEAD_CHANNELS, 1) for channels in (256, 512, 768, 1024)
        )

    def forward(self, x):
        level_8 = self.level_8(self.stem(x))
        level_16 = self.level_16(level_8)
        level_32 = self.level_32(level_16)
        level_64 = self.narrow_64(self.level_64(level_32))
        up_32 = self.narrow_32(self.join_32(torch.cat([self.up(level_64), level_32], 1)))
        up_16 = self.narrow_16(self.join_16(torch.cat([self.up(up_32), level_16], 1)))
        out_8 = self.join_8(torch.cat([self.up(up_16), level_8], 1))
        out_16 = self.back_16(torch.cat([self.down_16(out_8), up_16], 1))
        out_32 = self.back_32(torch.cat([self.down_32(out_16), up_32], 1))
        out_64 = self.back_64(torch.cat([self.down_64(out_32), level_64], 1))
        outs = (out_8, out_16, out_32, out_64)
        return tuple(head(out) for head, out in zip(self.heads, outs))
