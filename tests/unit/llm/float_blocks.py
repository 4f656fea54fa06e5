"""A model for the NPU in floats: its blocks one after another, as graphs of the given shape."""

from edgewright.llm.load.checkpoint import EMBEDDING, FINAL_NORM
from edgewright.llm.npu.decoder_graph import BlockGraph
from edgewright.llm.npu.matrices import cut_head, decode, list_layer_weights
from edgewright.model.open_model import open_any_model


class FloatBlocks:
    """Runs blocks in their order; what one gives the next may take."""

    def __init__(self, models):
        self._models = models

    def run(self, inputs):
        """All values that the blocks give."""
        values = dict(inputs)
        for model in self._models:
            values |= model.run({item.name: values[item.name] for item in model.inputs})
        return values


def make_float_model(spec, tensors, head, shape):
    """Every block of a model with the values that its codes stand for."""

    def make(add, *arguments):
        block = BlockGraph(spec, shape)
        getattr(block, add)(*arguments)
        return open_any_model(block.make_model(add))

    models = [make("look_up_tokens", decode(tensors[EMBEDDING]))]
    layers = range(spec.layers)
    models += [make("add_layer", number, list_layer_weights(spec, number, tensors)) for number in layers]
    models.append(make("normalize_last", decode(tensors[FINAL_NORM])))
    pieces, rows = cut_head(spec), decode(tensors[head])
    models += [make("add_head", piece, rows[piece.rows]) for piece in pieces]
    return FloatBlocks([*models, make("join_logits", pieces)] if len(pieces) > 1 else models)
