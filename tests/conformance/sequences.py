"""Recurrent networks, audio front ends and text: what has a time axis."""

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody writes it
from torch import nn

from tests.conformance.network import network, normal, numbers_below


class Recurrent(nn.Module):
    """A recurrent layer of torch and a linear head on each step."""

    def __init__(self, layer: nn.RNNBase, width: int) -> None:
        super().__init__()
        self.layer, self.head = layer, nn.Linear(width, 4)

    def forward(self, x):
        return self.head(self.layer(x)[0])


@network("recurrent", normal(1, 8, 12))
def gru():
    return Recurrent(nn.GRU(12, 16, batch_first=True), 16)


@network("recurrent", normal(1, 8, 12))
def gru_without_bias():
    return Recurrent(nn.GRU(12, 16, batch_first=True, bias=False), 16)


@network("recurrent", normal(1, 8, 12))
def bidirectional_gru():
    return Recurrent(nn.GRU(12, 16, 2, batch_first=True, bidirectional=True), 32)


@network("recurrent", normal(1, 8, 12))
def lstm():
    return Recurrent(nn.LSTM(12, 16, 2, batch_first=True), 16)


@network("recurrent", normal(1, 8, 12))
def bidirectional_lstm():
    return Recurrent(nn.LSTM(12, 16, batch_first=True, bidirectional=True), 32)


@network("recurrent", normal(1, 8, 12))
def lstm_with_projection():
    return Recurrent(nn.LSTM(12, 16, batch_first=True, proj_size=6), 6)


@network("recurrent", normal(1, 8, 12))
def plain_rnn():
    return Recurrent(nn.RNN(12, 16, batch_first=True), 16)


@network("recurrent", normal(1, 8, 12))
def rectified_rnn():
    return Recurrent(nn.RNN(12, 16, batch_first=True, nonlinearity="relu"), 16)


@network("recurrent", normal(1, 1, 12), normal(1, 1, 16, scale=0.3), normal(1, 1, 16, scale=0.3))
def streaming_lstm():
    """One step at a time: states come in and go out."""

    class Step(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.head = nn.LSTM(12, 16, batch_first=True), nn.Linear(16, 4)

        def forward(self, x, hidden, cell):
            y, (hidden, cell) = self.layer(x, (hidden, cell))
            return torch.sigmoid(self.head(y)), hidden, cell

    return Step()


@network("recurrent", normal(1, 3, 16, 48))
def text_in_images():
    """Convolutions, then a bidirectional LSTM over columns: the recognizer of OCR packages."""

    class Recognizer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(3, 12, 3, 2, 1), nn.ReLU(), nn.Conv2d(12, 24, 3, (2, 1), 1), nn.ReLU(),
                nn.AdaptiveAvgPool2d((1, 24)),
            )  # fmt: skip
            self.lstm, self.head = nn.LSTM(24, 12, bidirectional=True, batch_first=True), nn.Linear(24, 11)

        def forward(self, x):
            columns = self.body(x).squeeze(2).transpose(1, 2)
            return F.log_softmax(self.head(self.lstm(columns)[0]), -1)

    return Recognizer()


class Spectrum(nn.Module):
    """Magnitudes of short windows by convolution with cosines and sines, mel bands, a logarithm."""

    def __init__(self, bands: int = 16) -> None:
        super().__init__()
        window, bins = 64, 33
        angles = 2 * torch.pi * torch.outer(torch.arange(bins), torch.arange(window)) / window
        hann = torch.hann_window(window)
        self.register_buffer("cosines", (torch.cos(angles) * hann).unsqueeze(1))
        self.register_buffer("sines", (torch.sin(angles) * hann).unsqueeze(1))
        self.register_buffer("mel", torch.rand(bands, bins) / bins)

    def forward(self, wave):
        real = F.conv1d(wave.unsqueeze(1), self.cosines, stride=32)
        imaginary = F.conv1d(wave.unsqueeze(1), self.sines, stride=32)
        return torch.log(self.mel @ (real.square() + imaginary.square()) + 1e-3)


@network("audio", normal(1, 1024, scale=0.3))
def log_mel():
    return Spectrum()


@network("audio", normal(1, 1024, scale=0.3))
def keyword_spotting():
    """Log-mel bands into separable convolutions."""

    class Spotter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.spectrum = Spectrum()
            self.body = nn.Sequential(
                nn.Conv2d(1, 12, 3, 2, 1), nn.ReLU(), nn.Conv2d(12, 12, 3, 1, 1, groups=12),
                nn.Conv2d(12, 12, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 6),
            )  # fmt: skip

        def forward(self, wave):
            bands = self.spectrum(wave)
            bands = (bands - bands.mean()) / (bands.std() + 1e-5)
            return self.body(bands.unsqueeze(1)).softmax(-1)

    return Spotter()


@network("audio", normal(1, 16, 32))
def dilated_convolutions():
    """Causal convolutions with gates, as WaveNet has them."""

    class Gated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.filters = nn.ModuleList(nn.Conv1d(16, 32, 2, dilation=2**i) for i in range(3))
            self.mix = nn.ModuleList(nn.Conv1d(16, 16, 1) for _ in range(3))

        def forward(self, x):
            for index, (layer, mix) in enumerate(zip(self.filters, self.mix, strict=True)):
                values, gates = layer(F.pad(x, (2**index, 0))).chunk(2, 1)
                x = x + mix(torch.tanh(values) * torch.sigmoid(gates))
            return x

    return Gated()


@network("audio", normal(1, 257, 4, scale=2.0))
def noise_suppression():
    """A mask for each frequency from a GRU over time."""

    class Mask(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inward, self.gru, self.out = (
                nn.Linear(257, 24),
                nn.GRU(24, 24, batch_first=True),
                nn.Linear(24, 257),
            )

        def forward(self, spectrum):
            frames = spectrum.transpose(1, 2).abs()
            y, _ = self.gru(torch.tanh(self.inward(frames)))
            return spectrum * torch.sigmoid(self.out(y)).transpose(1, 2)

    return Mask()


@network("audio", normal(1, 20, 24))
def conformer():
    """Half a feed-forward, attention, a convolution over time with a gated unit."""

    class Conformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up, self.down = nn.Linear(24, 48), nn.Linear(48, 24)
            self.attend = nn.MultiheadAttention(24, 4, batch_first=True)
            self.gate = nn.Conv1d(24, 48, 1)
            self.depth = nn.Sequential(
                nn.Conv1d(24, 24, 7, padding=3, groups=24), nn.BatchNorm1d(24), nn.SiLU()
            )
            self.norms = nn.ModuleList(nn.LayerNorm(24) for _ in range(4))

        def forward(self, x):
            x = x + 0.5 * self.down(F.silu(self.up(self.norms[0](x))))
            y = self.norms[1](x)
            x = x + self.attend(y, y, y, need_weights=False)[0]
            x = x + self.depth(F.glu(self.gate(self.norms[2](x).transpose(1, 2)), 1)).transpose(1, 2)
            return self.norms[3](x)

    return Conformer()


@network("text", numbers_below(40, 1, 12))
def text_convolutions():
    """Words, convolutions of three widths, the largest of each."""

    class Sentences(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(40, 12)
            self.layers = nn.ModuleList(nn.Conv1d(12, 8, width) for width in (2, 3, 4))
            self.head = nn.Linear(24, 3)

        def forward(self, ids):
            x = self.embed(ids).transpose(1, 2)
            return self.head(torch.cat([F.relu(layer(x)).amax(-1) for layer in self.layers], -1)).softmax(-1)

    return Sentences()


@network("text", numbers_below(40, 1, 12))
def bag_of_words():
    class Bag(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.head = nn.Embedding(40, 16), nn.Linear(16, 5)

        def forward(self, ids):
            return self.head(F.normalize(self.embed(ids).mean(1), dim=-1))

    return Bag()
