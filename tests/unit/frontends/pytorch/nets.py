"""Networks of the kinds that people train, small and with random weights."""

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody writes it
from torch import nn

__all__ = ["NETS"]


class ResidualBlock(nn.Module):
    def __init__(self, channels: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.down = nn.Sequential(nn.Conv2d(channels, channels, 1, stride), nn.BatchNorm2d(channels))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        return F.relu(self.bn2(self.conv2(y)) + self.down(x), inplace=True)


class SqueezeExcite(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)
        self.squeeze = nn.Conv2d(channels, channels // 2, 1)
        self.excite = nn.Conv2d(channels // 2, channels, 1)

    def forward(self, x):
        y = F.hardswish(self.depthwise(x))
        gate = F.hardsigmoid(self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(y, 1)))))
        return y * gate


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(16, 8, 2, 2), nn.Conv2d(16, 4, 3, padding=1)])
        self.norm = nn.GroupNorm(4, 16)

    def forward(self, x):
        first = F.silu(self.down[0](x))
        second = F.silu(self.norm(self.down[1](F.max_pool2d(first, 2))))
        return self.up[1](torch.cat([self.up[0](second), first], 1))


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation="gelu")
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x):
        return self.layers(x)


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(16, 2, 32, batch_first=True, norm_first=True)

    def forward(self, x, memory):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        return self.layer(x, memory, tgt_mask=mask)


class Vit(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, 4)
        self.token = nn.Parameter(torch.randn(1, 1, 16))
        self.places = nn.Parameter(torch.randn(1, 17, 16))
        self.norm = nn.LayerNorm(16)
        self.qkv = nn.Linear(16, 48)
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        b, n, c = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(b, n, 3, 4, c // 4).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, c)
        return self.head((x + y)[:, 0]).softmax(-1)


class Rotary(nn.Module):
    """A decoder layer as language models have it: RMS norm, rotary embedding, grouped keys, SwiGLU."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 32)
        self.q, self.k, self.v = nn.Linear(32, 32, False), nn.Linear(32, 16, False), nn.Linear(32, 16, False)
        self.gate, self.up, self.down = nn.Linear(32, 64, False), nn.Linear(32, 64, False), nn.Linear(64, 32)
        self.register_buffer("inverse", 1.0 / (10000 ** (torch.arange(0, 8, 2).float() / 8)))

    def norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)

    def turn(self, x):
        angles = torch.outer(torch.arange(x.shape[2]).float(), self.inverse)
        cos, sin = (torch.cat([f, f], -1) for f in (angles.cos(), angles.sin()))
        half = torch.cat([-x[..., 4:], x[..., :4]], -1)
        return x * cos + half * sin

    def forward(self, ids):
        x = self.embed(ids)
        b, n, _ = x.shape
        y = self.norm(x)
        q, k, v = (p(y).view(b, n, -1, 8).transpose(1, 2) for p in (self.q, self.k, self.v))
        k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
        mask = torch.full((n, n), float("-inf")).triu(1)
        scores = self.turn(q) @ self.turn(k).transpose(-1, -2) / 8**0.5 + mask
        x = x + (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, -1)
        y = self.norm(x)
        return (x + self.down(F.silu(self.gate(y)) * self.up(y))) @ self.embed.weight.T


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(30, 8)
        self.lstm = nn.LSTM(8, 6, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(12, 5)

    def forward(self, ids):
        return F.log_softmax(self.head(self.lstm(self.embed(ids))[0]), -1)


class Speech(nn.Module):
    """Frames by strided convolution, GRU, and a state that goes in and out."""

    def __init__(self) -> None:
        super().__init__()
        self.frames = nn.Conv1d(1, 8, 16, 8)
        self.gru = nn.GRU(8, 6, batch_first=True)
        self.out = nn.Linear(6, 1)

    def forward(self, wave, state):
        x = F.relu(self.frames(F.pad(wave.unsqueeze(1), (4, 4), mode="reflect"))).transpose(1, 2)
        y, state = self.gru(x, state)
        return torch.sigmoid(self.out(y)).squeeze(-1), state


class SuperResolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 5, padding=2), nn.PReLU(16), nn.Conv2d(16, 9, 3, padding=1)
        )

    def forward(self, x):
        return F.pixel_shuffle(self.body(x), 3) + F.interpolate(x, scale_factor=3.0, mode="bicubic")


class Detector(nn.Module):
    """Boxes decoded on a grid, as one-stage detectors do it."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 12, 3, 2, 1)
        self.fine, self.coarse = nn.Conv2d(12, 7, 1), nn.Conv2d(12, 7, 3, 2, 1)

    def forward(self, x):
        stem = F.leaky_relu(self.stem(x), 0.1)
        found = []
        for head, stride in ((self.fine, 2), (self.coarse, 4)):
            raw = head(stem)
            b, _, h, w = raw.shape
            rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
            grid = torch.stack((columns, rows), -1).float()
            raw = raw.permute(0, 2, 3, 1)
            centre = (raw[..., :2].sigmoid() * 2 - 0.5 + grid) * stride
            size = (raw[..., 2:4].sigmoid() * 2) ** 2 * stride
            found.append(torch.cat((centre, size, raw[..., 4:].sigmoid()), -1).view(b, -1, 7))
        boxes = torch.cat(found, 1)
        scores, kinds = boxes[..., 5:].max(-1)
        return boxes[..., :4], scores * boxes[..., 4], kinds


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.code = nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.Tanh())
        self.mean, self.spread = nn.Linear(8, 4), nn.Linear(8, 4)
        self.back = nn.Sequential(nn.Linear(4, 64), nn.Sigmoid(), nn.Unflatten(1, (1, 8, 8)))

    def forward(self, x):
        code = self.code(x)
        mean, spread = self.mean(code), self.spread(code)
        return self.back(mean), {"mean": mean, "deviation": torch.exp(0.5 * spread)}


class Recommender(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.users, self.items = nn.Embedding(20, 8), nn.Embedding(30, 8)
        self.bias = nn.Parameter(torch.randn(30))

    def forward(self, user, item):
        score = (self.users(user) * self.items(item)).sum(-1) + self.bias[item]
        return score, F.cosine_similarity(self.users(user), self.items(item), dim=-1)


class Graph(nn.Module):
    """Messages along edges, summed at their targets."""

    def __init__(self) -> None:
        super().__init__()
        self.message, self.update = nn.Linear(4, 4), nn.Linear(8, 4)

    def forward(self, x, edges):
        sent = self.message(x).relu().index_select(0, edges[0])
        summed = torch.zeros_like(x).index_add(0, edges[1], sent)
        return self.update(torch.cat([x, summed], -1))


class ShuffleNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3, padding=1, groups=4)

    def forward(self, x):
        a, b = x.chunk(2, 1)
        y = torch.cat([a, self.conv(b)], 1)
        n, c, h, w = y.shape
        return y.view(n, 2, c // 2, h, w).transpose(1, 2).contiguous().view(n, c, h, w)


class Video(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv3d(3, 6, 3, stride=(1, 2, 2), padding=1)
        self.norm = nn.BatchNorm3d(6)

    def forward(self, x):
        return F.adaptive_avg_pool3d(F.elu(self.norm(self.conv(x))), (1, 2, 2)).flatten(1)


class WindowAttention(nn.Module):
    """Shifted windows with a bias by relative place."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.table = nn.Parameter(torch.randn(49, 2))
        places = torch.stack(torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")).flatten(1)
        apart = (places[:, :, None] - places[:, None]).permute(1, 2, 0) + 3
        self.register_buffer("index", apart[..., 0] * 7 + apart[..., 1])

    def forward(self, x):
        x = torch.roll(x, (-2, -2), (1, 2))
        b, h, w, c = x.shape
        parts = x.view(b, h // 4, 4, w // 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, c)
        q, k, v = self.qkv(parts).view(-1, 16, 3, 2, 4).permute(2, 0, 3, 1, 4)
        bias = self.table[self.index.view(-1)].view(16, 16, 2).permute(2, 0, 1)
        shares = (q @ k.transpose(-2, -1) * 0.5 + bias.unsqueeze(0)).softmax(-1)
        y = (shares @ v).transpose(1, 2).reshape(-1, h // 4, w // 4, 4, 4, c)
        return y.permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)


class Flow(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.shift = nn.Conv2d(4, 2, 3, padding=1)

    def forward(self, x):
        move = torch.tanh(self.shift(x)).permute(0, 2, 3, 1)
        still = F.affine_grid(torch.eye(2, 3).unsqueeze(0), list(x.shape), align_corners=False)
        return F.grid_sample(x, still + 0.1 * move, padding_mode="border", align_corners=False)


class Stats(nn.Module):
    def forward(self, x):
        mean, deviation = x.mean(-1), x.std(-1)
        order = x.sort(-1, descending=True).values[..., :3]
        return torch.einsum("bct,bdt->bcd", x, x), torch.cat([mean, deviation], -1), order, x.argmax(-1)


class LayerNormLstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(5, 6)
        self.norm = nn.LayerNorm(6)

    def forward(self, x):
        h = c = torch.zeros(x.shape[0], 6)
        found = []
        for step in range(x.shape[1]):
            h, c = self.cell(x[:, step], (self.norm(h), c))
            found.append(h)
        return torch.stack(found, 1)


class ConvMixer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 4, 4)
        self.mix = nn.Sequential(nn.Conv2d(8, 8, 5, groups=8, padding="same"), nn.GELU(), nn.BatchNorm2d(8))
        self.point = nn.utils.parametrizations.weight_norm(nn.Conv2d(8, 8, 1))

    def forward(self, x):
        x = self.stem(x)
        x = self.mix(x) + x
        return self.point(x).amax((2, 3))


def _x(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(4))


def _ids(high: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, high, shape, generator=torch.Generator().manual_seed(5))


NETS = {
    "residual": (lambda: ResidualBlock(4, 2), (_x(1, 4, 9, 9),)),
    "squeeze_excite": (lambda: SqueezeExcite(8), (_x(1, 8, 7, 7),)),
    "unet": (UNet, (_x(1, 3, 8, 8),)),
    "encoder": (Encoder, (_x(1, 6, 16),)),
    "decoder": (Decoder, (_x(1, 5, 16), _x(1, 7, 16))),
    "vit": (Vit, (_x(1, 3, 16, 16),)),
    "rotary": (Rotary, (_ids(50, 1, 9),)),
    "tagger": (Tagger, (_ids(30, 1, 7),)),
    "speech": (Speech, (_x(1, 128), _x(1, 1, 6))),
    "super_resolution": (SuperResolution, (_x(1, 1, 6, 7),)),
    "detector": (Detector, (_x(1, 3, 16, 16),)),
    "autoencoder": (Autoencoder, (_x(1, 1, 8, 8),)),
    "recommender": (Recommender, (_ids(20, 6), _ids(30, 6))),
    "graph": (Graph, (_x(5, 4), _ids(5, 2, 8))),
    "shuffle_net": (ShuffleNet, (_x(1, 8, 6, 6),)),
    "video": (Video, (_x(1, 3, 4, 8, 8),)),
    "window_attention": (WindowAttention, (_x(1, 8, 8, 8),)),
    "flow": (Flow, (_x(1, 4, 6, 6),)),
    "stats": (Stats, (_x(1, 4, 10),)),
    "layer_norm_lstm": (LayerNormLstm, (_x(2, 4, 5),)),
    "conv_mixer": (ConvMixer, (_x(1, 3, 16, 16),)),
}
