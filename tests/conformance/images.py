"""Networks that look at images: blocks of the families people train, small, with random weights."""

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody writes it
from torch import nn

from tests.conformance.network import network, normal


def conv(inputs: int, outputs: int, kernel: int = 3, stride: int = 1, groups: int = 1) -> nn.Sequential:
    """A convolution and its batch norm."""
    padding = kernel // 2
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    )


def pool_and_classify(channels: int, classes: int = 10) -> nn.Sequential:
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


class Inverted(nn.Module):
    """MobileNetV2's and V3's block, by the activation and the gate."""

    def __init__(
        self, activation: nn.Module, *, has_gate: bool = False, stride: int = 1, kernel: int = 3
    ) -> None:
        super().__init__()
        self.expand, self.depth = conv(16, 48, 1), conv(48, 48, kernel, stride, 48)
        self.project, self.activation = conv(48, 16, 1), activation
        self.squeeze, self.excite = nn.Conv2d(48, 12, 1), nn.Conv2d(12, 48, 1)
        self.has_gate, self.is_residual = has_gate, stride == 1

    def forward(self, x):
        y = self.activation(self.depth(self.activation(self.expand(x))))
        if self.has_gate:
            gate = torch.sigmoid(self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(y, 1)))))
            y = y * gate
        y = self.project(y)
        return x + y if self.is_residual else y


def _stack(*blocks: nn.Module) -> nn.Sequential:
    return nn.Sequential(conv(3, 16, 3, 2), nn.ReLU6(), *blocks, pool_and_classify(16), nn.Softmax(-1))


@network("image", normal(1, 3, 32, 32))
def mobilenet_v2():
    return _stack(Inverted(nn.ReLU6()), Inverted(nn.ReLU6(), stride=2), Inverted(nn.ReLU6()))


@network("image", normal(1, 3, 32, 32))
def mobilenet_v3():
    return _stack(Inverted(nn.Hardswish(), has_gate=True), Inverted(nn.Hardswish(), stride=2, kernel=5))


@network("image", normal(1, 3, 32, 32))
def efficientnet():
    return _stack(Inverted(nn.SiLU(), has_gate=True), Inverted(nn.SiLU(), has_gate=True, stride=2, kernel=5))


class MixedKernels(nn.Module):
    """Groups of channels with kernels of their own, as MixNet has them."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList(conv(8, 8, kernel, 1, 8) for kernel in (3, 5, 7))
        self.point = conv(24, 24, 1)

    def forward(self, x):
        parts = [part(piece) for part, piece in zip(self.parts, x.split(8, 1), strict=True)]
        return x + F.silu(self.point(torch.cat(parts, 1)))


@network("image", normal(1, 3, 32, 32))
def mixnet():
    return nn.Sequential(conv(3, 24, 3, 2), nn.ReLU(), MixedKernels(), MixedKernels(), pool_and_classify(24))


class LinearAttention(nn.Module):
    """Attention without softmax over a grid, as EfficientViT has it."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.project = nn.Conv2d(16, 48, 1), conv(16, 16, 1)

    def forward(self, x):
        batch, _, height, width = x.shape
        q, k, v = self.qkv(x).reshape(batch, 2, 24, height * width).split(8, 2)
        q, k, v = F.relu(q).transpose(-1, -2), F.relu(k), F.pad(v, (0, 0, 0, 1), value=1.0).transpose(-1, -2)
        y = q @ (k @ v)
        y = y[..., :-1] / (y[..., -1:] + 1e-5)
        return x + self.project(y.transpose(-1, -2).reshape(batch, 16, height, width))


@network("image", normal(1, 3, 32, 32))
def linear_attention():
    return nn.Sequential(conv(3, 16, 3, 2), nn.Hardswish(), LinearAttention(), pool_and_classify(16))


class ConvNextBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.depth = nn.Conv2d(16, 16, 7, padding=3, groups=16)
        self.norm, self.up, self.down = nn.LayerNorm(16), nn.Linear(16, 64), nn.Linear(64, 16)
        self.scale = nn.Parameter(torch.full((16,), 0.5))

    def forward(self, x):
        y = self.norm(self.depth(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.down(F.gelu(self.up(y)))).permute(0, 3, 1, 2)


@network("image", normal(1, 3, 32, 32))
def convnext():
    return nn.Sequential(nn.Conv2d(3, 16, 4, 4), ConvNextBlock(), ConvNextBlock(), pool_and_classify(16))


class Dense(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(conv(8 + 8 * index, 8) for index in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = torch.cat((x, F.relu(layer(x))), 1)
        return F.avg_pool2d(x, 2)


@network("image", normal(1, 3, 24, 24))
def densenet():
    return nn.Sequential(conv(3, 8), nn.ReLU(), Dense(), pool_and_classify(32))


class Inception(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.three = conv(8, 8, 1), nn.Sequential(conv(8, 8, 1), nn.ReLU(), conv(8, 12))
        self.wide = nn.Sequential(
            nn.Conv2d(8, 8, (1, 7), padding=(0, 3)), nn.Conv2d(8, 8, (7, 1), padding=(3, 0)), nn.ReLU()
        )

    def forward(self, x):
        pooled = F.max_pool2d(x, 3, 1, 1)
        return torch.cat((F.relu(self.one(x)), F.relu(self.three(x)), self.wide(x), pooled), 1)


@network("image", normal(1, 3, 24, 24))
def inception():
    return nn.Sequential(conv(3, 8, 3, 2), nn.ReLU(), Inception(), pool_and_classify(36))


@network("image", normal(1, 3, 24, 24))
def dilated_segmentation():
    """Atrous pyramid and a bilinear end, as DeepLab has it."""

    class Pyramid(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = conv(3, 12, 3, 2)
            self.rates = nn.ModuleList(nn.Conv2d(12, 8, 3, padding=r, dilation=r) for r in (1, 2, 4))
            self.whole, self.head = nn.Conv2d(12, 8, 1), nn.Conv2d(32, 5, 1)

        def forward(self, x):
            y = F.relu(self.stem(x))
            whole = F.interpolate(self.whole(F.adaptive_avg_pool2d(y, 1)), y.shape[2:], mode="bilinear")
            y = torch.cat([*(F.relu(rate(y)) for rate in self.rates), whole], 1)
            return F.interpolate(self.head(y), x.shape[2:], mode="bilinear", align_corners=False)

    return Pyramid()


@network("image", normal(1, 8, 12, 12))
def grouped_and_transposed():
    return nn.Sequential(
        nn.Conv2d(8, 16, 3, 2, 1, groups=4),
        nn.LeakyReLU(0.1),
        nn.ConvTranspose2d(16, 8, 4, 2, 1, groups=2),
        nn.ELU(),
        nn.ConvTranspose2d(8, 3, 3, 2, 1, output_padding=1),
        nn.Tanh(),
    )


@network("image", normal(1, 3, 24, 24))
def style_transfer():
    """Reflection padding and instance norms."""
    return nn.Sequential(
        nn.ReflectionPad2d(2),
        nn.Conv2d(3, 12, 5),
        nn.InstanceNorm2d(12, affine=True),
        nn.ReLU(),
        nn.Upsample(scale_factor=2, mode="nearest"),
        nn.Conv2d(12, 3, 3, padding=1),
        nn.Sigmoid(),
    )


@network("image", normal(1, 3, 24, 24))
def prelu_faces():
    """Landmarks: 10 coordinates and 2 classes, as cascaded face detectors have them."""

    class Faces(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(3, 10, 3), nn.PReLU(10), nn.MaxPool2d(2, 2, ceil_mode=True), nn.Conv2d(10, 16, 3),
                nn.PReLU(16), nn.Flatten(), nn.Linear(16 * 9 * 9, 32), nn.PReLU(32),
            )  # fmt: skip
            self.kind, self.places = nn.Linear(32, 2), nn.Linear(32, 10)

        def forward(self, x):
            y = self.body(x)
            return self.kind(y).softmax(-1), self.places(y)

    return Faces()


@network("image", normal(1, 3, 32, 32))
def repeated_pooling():
    """The spatial pyramid of one-stage detectors, and SiLU throughout."""

    class Pyramid(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem, self.first, self.last = conv(3, 16, 3, 2), conv(16, 8, 1), conv(32, 16, 1)

        def forward(self, x):
            y = F.silu(self.first(F.silu(self.stem(x))))
            parts = [y]
            for _ in range(3):
                parts.append(F.max_pool2d(parts[-1], 5, 1, 2))
            return F.silu(self.last(torch.cat(parts, 1)))

    return Pyramid()
