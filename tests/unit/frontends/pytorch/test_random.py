"""Programs whose results are not the same twice: refused with the way out, never frozen into constants."""

import pytest

from tests.optional import NO_TORCH

torch = pytest.importorskip("torch", reason=NO_TORCH)

from torch import nn

from edgewright.core.errors import EdgewrightError
from tests.unit.frontends.pytorch.programs import converted, traced

pytestmark = pytest.mark.torch


class Noisy(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


RANDOM = {
    "dropout": lambda x: nn.functional.dropout(x, 0.3, training=True),
    "dropout2d": lambda x: nn.functional.dropout2d(x, 0.3, training=True),
    "rrelu": lambda x: nn.functional.rrelu(x, training=True),
    "rand": lambda x: x + torch.rand(3),
    "randn_like": lambda x: x + torch.randn_like(x),
    "bernoulli": lambda x: x * torch.bernoulli(torch.full((3,), 0.5)),
    "attention": lambda x: nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5),
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_results_are_refused_with_the_way_out(name, tmp_path):
    x = torch.randn(2, 4, 3)
    with pytest.raises(EdgewrightError, match="random") as caught:
        converted(traced(tmp_path, Noisy(RANDOM[name]), x), x)
    assert caught.value.code == "unsupported-op"
    assert "model.eval()" in str(caught.value)


def test_recurrent_layers_in_training_mode_are_refused(tmp_path):
    layer, x = nn.LSTM(3, 4, num_layers=2, dropout=0.5), torch.randn(2, 1, 3)
    path = tmp_path / "lstm.pt"
    torch.jit.trace(layer.train(), x, check_trace=False).save(str(path))
    with pytest.raises(EdgewrightError, match="random"):
        converted(path, x)


def test_dropout_of_everything_or_nothing_is_not_random(tmp_path):
    x = torch.randn(2, 3)
    for share, factor in ((0.0, 1.0), (1.0, 0.0)):
        module = Noisy(lambda x, share=share: nn.functional.dropout(x, share, training=True))
        model = converted(traced(tmp_path, module, x), x)
        (found,) = model.run({model.inputs[0].name: x.numpy()}).values()
        assert (found == factor * x.numpy()).all()
