"""MobileNet (Howard et al. 2017) at width 1, which torchvision lacks."""

from torch import nn

# Output channels and stride of each depthwise-separable block.
BLOCKS = [
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    *[(512, 1)] * 5,
    (1024, 2),
    (1024, 1),
]


def conv(inputs, outputs, kernel, stride=1, groups=1):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )


class MobileNetV1(nn.Module):
    def __init__(self, classes=1000):
        super().__init__()
        layers, channels = [conv(3, 32, 3, stride=2)], 32
        for outputs, stride in BLOCKS:
            layers.append(conv(channels, channels, 3, stride, groups=channels))
            layers.append(conv(channels, outputs, 1))
            channels = outputs
        self.features = nn.Sequential(*layers)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(channels, classes)

    def forward(self, x):
        return self.classifier(self.pool(self.features(x)).flatten(1))
