"""Detection heads, geometry, matching, forecasting: networks that are not one kind only."""

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody writes it
from torch import nn

from tests.conformance.network import network, normal


@network("detection", normal(1, 3, 32, 32))
def anchor_free_head():
    """Distances to four sides as expectations over bins, as recent one-stage detectors have them."""

    class Head(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Conv2d(3, 16, 3, 4, 1)
            self.sides, self.kinds = nn.Conv2d(16, 32, 1), nn.Conv2d(16, 3, 1)
            self.register_buffer("bins", torch.arange(8.0).view(1, 1, 8, 1))
            rows, columns = torch.meshgrid(torch.arange(8.0) + 0.5, torch.arange(8.0) + 0.5, indexing="ij")
            self.register_buffer("centres", torch.stack((columns, rows)).view(1, 2, 64))

        def forward(self, x):
            y = F.silu(self.stem(x))
            sides = (self.sides(y).view(1, 4, 8, 64).softmax(2) * self.bins).sum(2)
            near, far = self.centres - sides[:, :2], self.centres + sides[:, 2:]
            boxes = torch.cat(((near + far) / 2, far - near), 1) * 4
            return torch.cat((boxes, self.kinds(y).view(1, 3, 64).sigmoid()), 1)

    return Head()


@network("detection", normal(1, 3, 32, 32))
def anchored_head():
    """Boxes from anchors with exponentials, as single-shot detectors have them."""

    class Head(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(3, 16, 3, 4, 1), nn.ReLU6())
            self.boxes, self.kinds = nn.Conv2d(16, 12, 3, padding=1), nn.Conv2d(16, 9, 3, padding=1)
            self.register_buffer("anchors", torch.rand(192, 4) * 0.5 + 0.1)

        def forward(self, x):
            y = self.body(x)
            raw = self.boxes(y).permute(0, 2, 3, 1).reshape(1, 192, 4)
            centres = raw[..., :2] * 0.1 * self.anchors[:, 2:] + self.anchors[:, :2]
            sizes = torch.exp(raw[..., 2:] * 0.2) * self.anchors[:, 2:]
            scores = self.kinds(y).permute(0, 2, 3, 1).reshape(1, 192, 3).softmax(-1)
            return torch.cat((centres - sizes / 2, centres + sizes / 2), -1), scores

    return Head()


@network("detection", normal(1, 3, 32, 32))
def centre_heatmap():
    """Peaks of a heat map by pooling, and their best places."""

    class Heat(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(3, 16, 3, 4, 1), nn.ReLU(), nn.Conv2d(16, 2, 1))

        def forward(self, x):
            heat = torch.sigmoid(self.body(x))
            peaks = heat * (F.max_pool2d(heat, 3, 1, 1) == heat).float()
            scores, _ = peaks.flatten(1).topk(5)
            return scores, heat

    return Heat()


@network("detection", normal(1, 3, 32, 32))
def pose_heatmaps():
    """Coordinates as expectations over heat maps."""

    class Pose(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 5, 4, 2, 1)
            )
            self.register_buffer("ramp", torch.linspace(0, 1, 32))

        def forward(self, x):
            shares = self.body(x).flatten(2).softmax(-1).view(1, 5, 32, 32)
            across, down = (shares.sum(2) * self.ramp).sum(-1), (shares.sum(3) * self.ramp).sum(-1)
            return torch.stack((across, down), -1)

    return Pose()


@network("mixed", normal(1, 3, 24, 24), normal(1, 3, 24, 24))
def stereo_matching():
    """A volume of products of shifted features, and the expected shift."""

    class Stereo(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(3, 12, 3, 2, 1), nn.ReLU(), nn.Conv2d(12, 12, 3, 1, 1))
            self.register_buffer("shifts", torch.arange(4.0).view(1, 4, 1, 1))

        def forward(self, left, right):
            left, right = self.body(left), self.body(right)
            costs = [(left * F.pad(right, (i, 0))[..., : left.shape[-1]]).mean(1) for i in range(4)]
            shares = torch.stack(costs, 1).softmax(1)
            return (shares * self.shifts).sum(1)

    return Stereo()


@network("mixed", normal(1, 32, 3))
def point_cloud():
    """The same layers for each point, the largest over all, and a learned rotation."""

    class Points(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.turn = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 9))
            self.body = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 32), nn.ReLU())
            self.head = nn.Linear(32, 6)

        def forward(self, points):
            rotation = self.turn(points).amax(1).view(-1, 3, 3) + torch.eye(3)
            return self.head(self.body(points @ rotation).amax(1)).log_softmax(-1)

    return Points()


@network("mixed", normal(1, 24, 8, scale=3.0))
def forecasting():
    """Reversible normalization around a linear layer over time."""

    class Forecast(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.season = nn.Linear(24, 6), nn.Linear(24, 6)

        def forward(self, x):
            mean, deviation = x.mean(1, keepdim=True), x.std(1, keepdim=True) + 1e-5
            y = ((x - mean) / deviation).transpose(1, 2)
            trend = F.avg_pool1d(F.pad(y, (2, 2), mode="replicate"), 5, 1)
            y = self.linear(trend) + self.season(y - trend)
            return y.transpose(1, 2) * deviation + mean

    return Forecast()


@network("mixed", normal(1, 20))
def tabular():
    """Gates on fields, products of pairs of them, and a deep part beside it."""

    class Fields(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate, self.deep = (
                nn.Linear(20, 20),
                nn.Sequential(nn.Linear(20, 32), nn.SELU(), nn.Linear(32, 1)),
            )
            self.factors = nn.Parameter(torch.randn(20, 4) * 0.3)

        def forward(self, x):
            x = x * torch.sigmoid(self.gate(x))
            pairs = 0.5 * ((x @ self.factors).square() - x.square() @ self.factors.square()).sum(
                -1, keepdim=True
            )
            return torch.sigmoid(pairs + self.deep(x))

    return Fields()


@network("mixed", normal(1, 3, 16, 16), normal(1, 12))
def image_and_text():
    """Two embeddings of one space, and their likeness."""

    class Pair(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.image = nn.Sequential(
                nn.Conv2d(3, 12, 3, 2, 1), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 8)
            )
            self.text = nn.Linear(12, 8)

        def forward(self, image, text):
            first, second = F.normalize(self.image(image), dim=-1), F.normalize(self.text(text), dim=-1)
            return first, second, 10 * first @ second.T

    return Pair()


@network("mixed", normal(1, 2, 16, 16))
def denoising_step():
    """A step of a diffusion: a time embedding scales and shifts normed features."""

    class Step(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inward, self.out = nn.Conv2d(2, 16, 3, padding=1), nn.Conv2d(16, 2, 3, padding=1)
            self.norm, self.time = nn.GroupNorm(4, 16), nn.Linear(8, 32)
            self.register_buffer("moment", torch.randn(1, 8))

        def forward(self, x):
            scale, shift = self.time(F.silu(self.moment))[..., None, None].chunk(2, 1)
            y = F.silu(self.norm(self.inward(x)) * (1 + scale) + shift)
            return x - 0.1 * self.out(y)

    return Step()


@network("mixed", normal(1, 4, 12, 12))
def normalizations():
    """Local response, p-norms and a weighted pool: what older and retrieval networks have."""

    class Norms(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.local = nn.Conv2d(4, 12, 3), nn.LocalResponseNorm(3)

        def forward(self, x):
            y = F.softplus(self.local(F.relu(self.conv(x))))
            return F.normalize(y.clamp(min=1e-6).pow(3).mean((2, 3)).pow(1 / 3), dim=-1)

    return Norms()
