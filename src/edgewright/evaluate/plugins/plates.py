"""Postprocessing of license plates: what the scores of characters spell."""

import numpy as np

from edgewright.core.errors import UsageError
from edgewright.core.numbers import Array
from edgewright.evaluate.metrics.transcripts import drop_repeats
from edgewright.evaluate.plugins.classification import take_output
from edgewright.evaluate.plugins.parameters import TEXT, declare
from edgewright.evaluate.plugins.plugin import PostprocessingPlugin, register
from edgewright.evaluate.plugins.sample import Context, Sample

DIGITS, LETTERS = "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# LPRNet's for plates of China: provinces, digits, letters, and I and O at the end; the blank is last.
CHINESE = (
    "京沪津渝冀晋蒙辽吉黑苏浙皖闽赣鲁豫鄂湘粤桂琼川贵云藏陕甘青宁新"
    + DIGITS
    + "".join(letter for letter in LETTERS if letter not in "IO")
    + "IO"
)
# Alphabets by their number of scores, the blank included.
ALPHABETS = {
    len(CHINESE) + 1: CHINESE,
    36: DIGITS + LETTERS.replace("O", ""),
    37: DIGITS + LETTERS,
}


@register
class LprnetPredict(PostprocessingPlugin):
    """Reads the license plate that an LPRNet predicts: the best character of each step, without blanks."""

    name = "lprnet_predict"

    alphabet: str | None = declare(
        TEXT,
        "characters in the order of the scores, without the blank, which is last",
        None,
        otherwise="LPRNet's of 68 scores, digits and letters with 37, without O with 36",
        is_ours=True,
    )

    def compute(self, sample: Sample, context: Context) -> Sample:
        """The text of the first output."""
        scores = np.squeeze(take_output(sample, 0))
        alphabet = self.alphabet or _find_alphabet(scores)
        if len(alphabet) + 1 not in scores.shape or scores.ndim != 2:
            raise UsageError(
                f"the output has the shape {list(scores.shape)}, expected steps by {len(alphabet) + 1}",
                do="set 'alphabet' to the characters of the model",
            )
        steps = scores if scores.shape[1] == len(alphabet) + 1 else scores.T
        return sample.make_next([spell_steps(steps, alphabet)])


def spell_steps(steps: Array, alphabet: str) -> str:
    """What steps by scores spell: repeated characters once, without the blank, which is last."""
    return "".join(alphabet[place] for place in drop_repeats(steps.argmax(-1), len(alphabet)))


def _find_alphabet(scores: Array) -> str:
    known = [ALPHABETS[size] for size in scores.shape if size in ALPHABETS]
    if len(known) != 1:
        raise UsageError(
            f"the output has the shape {list(scores.shape)}, which has no known alphabet",
            do="set 'alphabet' to the characters of the model",
        )
    return known[0]
