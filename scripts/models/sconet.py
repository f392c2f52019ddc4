"""Semantic completion of a voxel grid with the layout of AGRNav's SCONet.

The grid is 1 × 1 × length × height × width. Its height becomes the channels of a 2D U-Net, whose
output, height slices again, goes through a small 3D head of dilated convolutions. The scores are
height × classes × length × width: the height slices stand as a batch, so the 3D convolutions are 2D
ones that see a slice together with its neighbours.

The published network also has two kinds of attention, and half its parameters are there; the run
logs that the CacheInf authors published show the network running without them, every operator
local. Both are here.
"""

import torch
from torch import nn
from torch.nn import functional


class SliceConv(nn.Module):
    """A 3 × 3 × 3 convolution with dilation and zero padding, of slices × channels × rows × columns."""

    def __init__(self, inputs, outputs, dilation=1, bias=True):
        super().__init__()
        self.dilation = dilation
        self.conv = nn.Conv2d(
            3 * inputs, outputs, 3, padding=dilation, dilation=dilation, bias=bias
        )

    def forward(self, x):
        below = functional.pad(x[self.dilation :], (0, 0, 0, 0, 0, 0, 0, self.dilation))
        above = functional.pad(x[: -self.dilation], (0, 0, 0, 0, 0, 0, self.dilation, 0))
        return self.conv(torch.cat([above, x, below], 1))


class Head(nn.Module):
    def __init__(self, planes, classes, dilations):
        super().__init__()
        self.enter = SliceConv(1, planes)
        self.branches = nn.ModuleList(
            nn.Sequential(
                SliceConv(planes, planes, dilation, bias=False),
                nn.BatchNorm2d(planes),
                nn.ReLU(),
                SliceConv(planes, planes, dilation, bias=False),
                nn.BatchNorm2d(planes),
            )
            for dilation in dilations
        )
        self.classify = SliceConv(planes, classes)

    def forward(self, x):
        x = functional.relu(self.enter(x))
        y = self.branches[0](x)
        for branch in self.branches[1:]:
            y = y + branch(x)
        return self.classify(functional.relu(y + x))


class PositionAttention(nn.Module):
    """Attention over the positions of each channel by itself, of linear cost."""

    def __init__(self, positions, width):
        super().__init__()
        self.score = nn.Linear(positions, 1)
        self.key = nn.Linear(positions, width)
        self.value = nn.Linear(positions, width)
        self.out = nn.Linear(width, positions)

    def forward(self, x):
        flat = x.flatten(2)
        # There is one score a channel, so the softmax is 1; the published network has it all the same.
        weight = torch.softmax(self.score(flat), dim=-1)
        context = (weight * self.key(flat)).sum(dim=-1, keepdim=True)
        return self.out(self.value(flat) * context).view(x.shape)


class CrissCrossAttention(nn.Module):
    """Each position attends to those of its row and its column."""

    def __init__(self, channels, rows):
        super().__init__()
        self.query = nn.Conv2d(channels, channels // 8, 1)
        self.key = nn.Conv2d(channels, channels // 8, 1)
        self.value = nn.Conv2d(channels, channels, 1)
        self.gamma = nn.Parameter(torch.zeros(1))
        self.rows = rows
        # A position is in its row already.
        self.register_buffer("mask", -1e9 * torch.eye(rows), persistent=False)

    def forward(self, x):
        query, key, value = self.query(x), self.key(x), self.value(x)
        by_column = query.permute(0, 3, 2, 1) @ key.permute(0, 3, 1, 2) + self.mask
        by_row = query.permute(0, 2, 3, 1) @ key.permute(0, 2, 1, 3)
        attention = torch.softmax(torch.cat([by_column.permute(0, 2, 1, 3), by_row], 3), dim=3)
        from_column = attention[..., : self.rows].permute(0, 2, 1, 3) @ value.permute(0, 3, 2, 1)
        from_row = attention[..., self.rows :] @ value.permute(0, 2, 3, 1)
        gathered = from_column.permute(0, 3, 2, 1) + from_row.permute(0, 3, 1, 2)
        return self.gamma * gathered + x


def double_conv(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(outputs, outputs, 3, padding=1),
        nn.ReLU(),
    )


def grow(channels, factor):
    return nn.ConvTranspose2d(channels, channels, factor, factor)


def grow_smoothly(channels):
    return nn.ConvTranspose2d(channels, channels, 6, 2, 2)


class SCONet(nn.Module):
    """`attention` gives the widths of the two position attentions; None leaves all attention out."""

    def __init__(self, grid=(256, 32, 128), classes=20, attention=None):
        super().__init__()
        length, height, width = grid
        f1, f2, f4, f8 = height, height * 3 // 2, height * 2, height * 5 // 2
        n2, n4, n8 = height // 2, height // 4, height // 8  # narrow maps, passed on between scales
        self.pool = nn.MaxPool2d(2)
        self.encode_1 = double_conv(f1, f1)
        self.encode_2 = double_conv(f1, f2)
        self.encode_4 = double_conv(f2, f4)
        self.encode_8 = double_conv(f4, f8)
        self.narrow_8 = nn.Conv2d(f8, n8, 3, padding=1)
        self.grow_8_to_4 = grow_smoothly(n8)
        self.grow_8_to_2 = grow(n8, 4)
        self.grow_8_to_1 = grow(n8, 8)
        self.join_4 = nn.Conv2d(n8 + f4, f4, 3, padding=1)
        self.narrow_4 = nn.Conv2d(f4, n4, 3, padding=1)
        self.grow_4_to_2 = grow_smoothly(n4)
        self.grow_4_to_1 = grow(n4, 4)
        self.join_2 = nn.Conv2d(n4 + f2 + n8, f2, 3, padding=1)
        self.narrow_2 = nn.Conv2d(f2, n2, 3, padding=1)
        self.grow_2_to_1 = grow_smoothly(n2)
        self.join_1 = nn.Conv2d(n2 + f1 + n4 + n8, f1, 3, padding=1)
        self.head = Head(8, classes, (1, 2, 3))
        if attention is None:
            self.attend_8 = self.attend_4 = self.attend_2 = nn.Identity()
        else:
            self.attend_8 = CrissCrossAttention(f8, length // 8)
            self.attend_4 = PositionAttention(length // 4 * (width // 4), attention[0])
            self.attend_2 = PositionAttention(length // 2 * (width // 2), attention[1])

    def forward(self, grid):
        x = grid.squeeze(1).permute(0, 2, 1, 3)
        skip_1 = self.encode_1(x)
        skip_2 = self.encode_2(self.pool(skip_1))
        skip_4 = self.encode_4(self.pool(skip_2))
        skip_8 = self.attend_8(self.encode_8(self.pool(skip_4)))
        out_8 = self.narrow_8(skip_8)
        x = torch.cat([self.attend_4(self.grow_8_to_4(out_8)), skip_4], 1)
        out_4 = self.narrow_4(functional.relu(self.join_4(x)))
        x = torch.cat(
            [self.attend_2(self.grow_4_to_2(out_4)), skip_2, self.grow_8_to_2(out_8)], 1
        )
        out_2 = self.narrow_2(functional.relu(self.join_2(x)))
        x = torch.cat(
            [self.grow_2_to_1(out_2), skip_1, self.grow_4_to_1(out_4), self.grow_8_to_1(out_8)], 1
        )
        slices = functional.relu(self.join_1(x)).permute(1, 0, 2, 3)
        return self.head(slices)
