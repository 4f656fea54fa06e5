"""Audio as samples: .wav files cut into pieces of an input's length."""

import wave
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgewright.config.spelling import spell_option
from edgewright.core.errors import BadInput, LimitExceeded, ShapeMismatch, UsageError, Where, shown
from edgewright.core.files import measure_file
from edgewright.core.numbers import Array
from edgewright.data.indexed_samples import IndexedSamples
from edgewright.data.sample_format import SampleFormat

SUFFIX = ".wav"
# A last piece that is shorter than this part of the input is left out.
SHORTEST = 0.5
WIDEST = 4
LONGEST = 1 << 28
_ADVICE = "write it again, for example with: ffmpeg -i FILE -c:a pcm_s16le NEW.wav"


@dataclass(frozen=True)
class _SoundFile:
    """What the header of a file says."""

    path: Path
    rate: int
    channels: int
    frames: int


def is_audio(path: Path) -> bool:
    """Whether the path is a .wav file or a folder of such and nothing else that is a sample."""
    if path.is_dir():
        return any(_is_wav(item) for item in path.rglob("*")) and not _has_other_samples(path)
    return _is_wav(path)


class AudioSamples(IndexedSamples):
    """Pieces of sound for the one input of a model, as real numbers from -1 to 1."""

    def __init__(self, sample_format: SampleFormat, path: Path, rate: int | None = None) -> None:
        self._name, self._shape = _find_audio_input(sample_format)
        self.sample_format = sample_format
        self._length = int(np.prod(self._shape))
        files = sorted(item for item in path.rglob("*") if _is_wav(item)) if path.is_dir() else [path]
        self._sounds = [_read_header(file) for file in files]
        self._has_rate = rate is not None
        self._rate = rate or self._find_common_rate()
        self._pieces = [(sound, start) for sound in self._sounds for start in self._split_sound(sound)]
        self._last: tuple[Path, Array] | None = None
        self.notes = tuple(self._describe())

    def __len__(self) -> int:
        return len(self._pieces)

    def __getitem__(self, number: int) -> Mapping[str, Array]:
        """One piece; what is missing at its end is silence."""
        sound, start = self._pieces[number]
        piece = self._read_values(sound)[start : start + self._length]
        whole = np.zeros(self._length, np.float32)
        whole[: len(piece)] = piece
        return self.sample_format.convert_sample(
            {self._name: whole.reshape(self._shape)}, number, str(sound.path)
        )

    def _find_common_rate(self) -> int:
        rates = sorted({sound.rate for sound in self._sounds})
        if len(rates) == 1:
            return rates[0]
        raise BadInput(
            f"the files have {len(rates)} sample rates ({', '.join(map(str, rates))} Hz), expected one",
            Where(file=str(self._sounds[0].path.parent)),
            do="say which one the model was trained on, as in "
            f"{spell_option('sample_rate', '16000')}: others are resampled",
        )

    def _split_sound(self, sound: _SoundFile) -> list[int]:
        count = _count_values(sound, self._rate)
        starts = list(range(0, count, self._length))
        return [at for at in starts if at == 0 or count - at >= SHORTEST * self._length]

    def _read_values(self, sound: _SoundFile) -> Array:
        if self._last is None or self._last[0] != sound.path:
            self._last = (sound.path, _change_rate(_read(sound), _count_values(sound, self._rate)))
        return self._last[1]

    def _describe(self) -> Iterator[str]:
        seconds = self._length / self._rate
        yield (
            f"sound for '{shown(self._name, 60)}': {len(self._sounds)} files in {len(self._pieces)} pieces "
            f"of {self._length} values ({seconds:.3g} s at {self._rate} Hz), -1 to 1"
        )
        if not self._has_rate:
            option = spell_option("sample_rate", "HZ")
            yield f"sound is read at its own {self._rate} Hz; {option} if the model needs another"
        other = [sound for sound in self._sounds if sound.rate != self._rate]
        if other:
            yield f"{len(other)} files were resampled from {other[0].rate} Hz to {self._rate} Hz"
        wide = [sound for sound in self._sounds if sound.channels > 1]
        if wide:
            yield f"{len(wide)} files have several channels: their mean is used"


def _is_wav(path: Path) -> bool:
    return path.suffix.lower() == SUFFIX and not path.name.startswith(".") and path.is_file()


def _has_other_samples(folder: Path) -> bool:
    return any(item.suffix.lower() in {".npy", ".npz", ".raw"} for item in folder.rglob("*"))


def _find_audio_input(sample_format: SampleFormat) -> tuple[str, tuple[int, ...]]:
    """The input that sound goes to; it must be the only one, with one axis that is longer than 1."""
    (name, expected), *more = sample_format.types.items()
    if more:
        raise UsageError(
            f"the model has {len(more) + 1} inputs, sound in files gives one",
            do="save samples with numpy.savez, an array for each input",
        )
    if not expected.is_static:
        raise UsageError(
            f"the input has the shape {expected}, expected a number for the length of a piece of sound",
            Where(tensor=name),
            do=f"give it with {spell_option('input_shapes', {shown(name, 60): 'DIMS'})}, or "
            f"{spell_option('symbols')}",
        )
    shape = expected.static_shape()
    if sum(size > 1 for size in shape) != 1:
        raise ShapeMismatch(
            f"the input has the shape {list(shape)}, expected one axis of time for sound",
            Where(tensor=name),
            do="compute what the model expects (a spectrogram ...), and save that with numpy.save",
        )
    return name, shape


@contextmanager
def _open_wav(path: Path) -> Iterator[wave.Wave_read]:
    measure_file(path)
    try:
        with wave.open(str(path), "rb") as sound:
            yield sound
    # RuntimeError: a chunk that leads out of the file.
    except (wave.Error, EOFError, OSError, RuntimeError) as problem:
        raise BadInput(
            f"the file is no readable .wav file of whole numbers (PCM): {shown(problem)}",
            Where(file=str(path)),
            do=_ADVICE,
        ) from None


def _read_header(path: Path) -> _SoundFile:
    with _open_wav(path) as sound:
        width, channels, frames = sound.getsampwidth(), sound.getnchannels(), sound.getnframes()
        rate = sound.getframerate()
    # Beyond what the file holds nothing is believed: memory is taken for what it announces.
    rules = {
        f"has {width} bytes a value, expected 1 to {WIDEST}": width <= WIDEST,
        f"has {rate} values a second, expected at least 1": rate >= 1,
        f"announces {frames} values of {channels} channels, the file is shorter": frames * channels * width
        <= measure_file(path),
    }
    for problem, holds in rules.items():
        if not holds:
            raise BadInput(f"the sound {problem}", Where(file=str(path)), do=_ADVICE)
    return _SoundFile(path, rate, channels, frames)


def _count_values(sound: _SoundFile, rate: int) -> int:
    if sound.rate == rate:
        return sound.frames
    count = max(1, round(sound.frames * rate / sound.rate))
    if count > LONGEST:
        raise LimitExceeded(
            f"at {rate} Hz the sound has {count} values, at most {LONGEST} are made of one file of "
            f"{sound.rate} Hz",
            Where(file=str(sound.path)),
            do="cut it into several files",
        )
    return count


def _read(sound: _SoundFile) -> Array:
    """All values of a file, the mean of its channels."""
    with _open_wav(sound.path) as opened:
        width = opened.getsampwidth()
        raw = np.frombuffer(opened.readframes(opened.getnframes()), np.uint8)
    raw = raw[: len(raw) // (width * sound.channels) * width * sound.channels]
    mean: Array = _to_real_numbers(raw, width).reshape(-1, sound.channels).mean(1, dtype=np.float32)
    return mean


def _to_real_numbers(raw: Array, width: int) -> Array:
    """Whole numbers of any width as real ones; those of one byte are unsigned in .wav files."""
    if width == 1:
        return (raw.astype(np.float32) - 128) / 128
    padded = np.zeros((len(raw) // width, 4), np.uint8)
    padded[:, 4 - width :] = raw.reshape(-1, width)
    numbers: Array = padded.view("<i4")[:, 0].astype(np.float32) / np.float32(2**31)
    return numbers


def _change_rate(values: Array, count: int) -> Array:
    """The same sound in another number of values: its spectrum is cut or filled up."""
    if len(values) == count or not len(values):
        return values
    spectrum = np.fft.rfft(values.astype(np.float64))
    fitted = np.zeros(count // 2 + 1, np.complex128)
    kept = min(len(spectrum), len(fitted))
    fitted[:kept] = spectrum[:kept]
    return (np.fft.irfft(fitted, count) * (count / len(values))).astype(np.float32)
