"""Transformers: the ways in which masks, norms, positions and heads are written."""

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody writes it
from torch import nn

from tests.conformance.network import mask, network, normal, numbers_below

WIDTH, HEADS = 32, 4


def split_heads(x: torch.Tensor) -> torch.Tensor:
    return x.view(x.shape[0], x.shape[1], HEADS, -1).transpose(1, 2)


def join_heads(x: torch.Tensor) -> torch.Tensor:
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


class Block(nn.Module):
    """Attention and feed-forward; a mask is added to the scores."""

    def __init__(self, *, is_norm_first: bool = False) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.is_norm_first = is_norm_first

    def attend(self, x, added):
        q, k, v = (split_heads(part) for part in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / (WIDTH / HEADS) ** 0.5
        return self.out(join_heads((scores + added).softmax(-1) @ v))

    def feed(self, x):
        return self.down(F.gelu(self.up(x)))

    def forward(self, x, added):
        if self.is_norm_first:
            x = x + self.attend(self.first(x), added)
            return x + self.feed(self.second(x))
        x = self.first(x + self.attend(x, added))
        return self.second(x + self.feed(x))


class Text(nn.Module):
    """Words and places, two blocks, the mean of the words: what sentence encoders are."""

    def __init__(self, **options: bool) -> None:
        super().__init__()
        self.embed, self.places = nn.Embedding(60, WIDTH), nn.Parameter(torch.randn(1, 12, WIDTH))
        self.blocks = nn.ModuleList(Block(**options) for _ in range(2))

    def add_mask(self, words):
        return (1.0 - words[:, None, None, :]) * torch.finfo(torch.float32).min

    def forward(self, ids, words):
        x, added = self.embed(ids) + self.places, self.add_mask(words)
        for block in self.blocks:
            x = block(x, added)
        words = words.unsqueeze(-1).to(x.dtype)
        return (x * words).sum(1) / words.sum(1).clamp(min=1e-9)


@network("transformer", numbers_below(60, 1, 12), mask(12))
def sentence_encoder():
    return Text()


@network("transformer", numbers_below(60, 1, 12), mask(12, "int64"))
def encoder_with_integer_mask():
    class Integers(Text):
        def add_mask(self, words):
            return (1 - words[:, None, None, :]).to(torch.float32) * -10000.0

    return Integers()


@network("transformer", numbers_below(60, 1, 12), mask(12))
def encoder_with_where_mask():
    class Where(Text):
        def add_mask(self, words):
            return torch.where(words[:, None, None, :] > 0.5, 0.0, float("-inf"))

    return Where(is_norm_first=True)


@network("transformer", numbers_below(60, 1, 12))
def causal_decoder():
    class Causal(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.places = nn.Embedding(60, WIDTH), nn.Parameter(torch.randn(1, 12, WIDTH))
            self.blocks = nn.ModuleList(Block(is_norm_first=True) for _ in range(2))
            self.norm = nn.LayerNorm(WIDTH)

        def forward(self, ids):
            x = self.embed(ids) + self.places
            added = torch.full((12, 12), torch.finfo(torch.float32).min).triu(1)
            for block in self.blocks:
                x = block(x, added)
            return self.norm(x) @ self.embed.weight.T

    return Causal()


@network("transformer", normal(1, 3, 32, 32))
def vision_transformer():
    class Patches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, WIDTH, 8, 8)
            self.token = nn.Parameter(torch.randn(1, 1, WIDTH))
            self.places = nn.Parameter(torch.randn(1, 17, WIDTH))
            self.blocks = nn.ModuleList(Block(is_norm_first=True) for _ in range(2))
            self.head = nn.Linear(WIDTH, 10)

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = torch.cat((self.token, x), 1) + self.places
            for block in self.blocks:
                x = block(x, torch.zeros(1))
            return self.head(x[:, 0]).softmax(-1)

    return Patches()


@network("transformer", normal(1, 16, 40))
def speech_encoder():
    """Two convolutions over frames, then blocks: Whisper's shape."""

    class Frames(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv1d(16, WIDTH, 3, padding=1)
            self.second = nn.Conv1d(WIDTH, WIDTH, 3, 2, 1)
            self.places = nn.Parameter(torch.randn(1, 20, WIDTH) / 4)
            self.blocks = nn.ModuleList(Block(is_norm_first=True) for _ in range(2))
            self.norm = nn.LayerNorm(WIDTH)

        def forward(self, bands):
            x = F.gelu(self.second(F.gelu(self.first(bands)))).transpose(1, 2) + self.places
            for block in self.blocks:
                x = block(x, torch.zeros(1))
            return self.norm(x)

    return Frames()


@network("transformer", normal(1, 6, WIDTH), normal(1, 10, WIDTH))
def cross_attention():
    class Cross(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attend = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
            self.norm = nn.LayerNorm(WIDTH)

        def forward(self, queries, memory):
            return self.norm(queries + self.attend(queries, memory, memory, need_weights=False)[0])

    return Cross()


@network("transformer", normal(1, WIDTH, 8, 8))
def shifted_windows():
    """Windows cut by a reshape of rank 6, as Swin has them."""

    class Windows(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block, self.norm = Block(is_norm_first=True), nn.LayerNorm(WIDTH)

        def forward(self, x):
            x = torch.roll(x.permute(0, 2, 3, 1), (-2, -2), (1, 2))
            parts = x.view(1, 2, 4, 2, 4, WIDTH).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, WIDTH)
            parts = self.block(parts, torch.zeros(1))
            x = parts.view(1, 2, 2, 4, 4, WIDTH).permute(0, 1, 3, 2, 4, 5).reshape(1, 8, 8, WIDTH)
            return self.norm(torch.roll(x, (2, 2), (1, 2)))

    return Windows()


@network("transformer", normal(1, 1, WIDTH), normal(1, HEADS, 9, 8), normal(1, HEADS, 9, 8))
def cached_attention():
    """One word more: keys and values of those before come in, all of them go out."""

    class Step(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

        def forward(self, x, keys, values):
            q, k, v = (split_heads(part) for part in self.qkv(x).chunk(3, -1))
            keys, values = torch.cat((keys, k), 2), torch.cat((values, v), 2)
            scores = q @ keys.transpose(-1, -2) / 8**0.5
            return self.out(join_heads(scores.softmax(-1) @ values)), keys, values

    return Step()


@network("transformer", normal(1, 16, 24))
def mlp_mixer():
    class Mixer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norms = nn.ModuleList(nn.LayerNorm(24) for _ in range(2))
            self.tokens = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
            self.channels = nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.Linear(48, 24))

        def forward(self, x):
            x = x + self.tokens(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
            return (x + self.channels(self.norms[1](x))).mean(1)

    return Mixer()
