"""Passes that fit a graph to QNN: numbers for symbols, narrower types, no rank 0."""

import logging

import numpy as np
import pytest

from edgewright.core.errors import UnsupportedFeature
from edgewright.core.numbers import DType
from edgewright.ir.dims import maximum, symbol
from edgewright.ir.graph import Graph
from edgewright.ir.text import parse
from edgewright.ir.types import TensorType
from edgewright.ir.verify import verify
from edgewright.ops.elementwise import ElementWiseMultiply
from edgewright.ops.matmul import FullyConnected
from edgewright.ops.source import SourceOp
from edgewright.passes.graph_pass import PASSES
from edgewright.passes.pipeline import TARGET, run_passes
from edgewright.passes.target.narrow_float import narrow_float
from edgewright.passes.target.resolve_symbols import set_symbols
from edgewright.passes.target.retype_io import retype_input, retype_output
from tests.unit.passes.nets import Net, chain, feed, results


def symbolic() -> Graph:
    return parse("""
        graph main {
          input x: float_32[batch,seq,4]
          r = Reshape(x) {shape=({batch*seq}, 4)}
          s = StridedSlice(r) {ranges=((0, {batch*seq-1}, 1), (0, 4, 1))}
          y = Relu(s)
          output y
        }
    """)


def test_the_batch_becomes_1_and_other_symbols_stay() -> None:
    graph = symbolic()
    assert PASSES["resolve_symbols"](graph) == 4
    verify(graph)
    assert graph.types["x"].shape == (1, symbol("seq"), 4)
    assert graph.types["y"].shape == (maximum(symbol("seq") - 1, 0), 4)


def test_symbols_get_their_numbers_in_types_and_params() -> None:
    graph = symbolic()
    assert set_symbols(graph, {"batch": 2, "seq": 3}) == 4
    verify(graph)
    assert graph.types["y"].shape == (5, 4)
    assert results(graph, feed(graph))[0].shape == (5, 4)
    assert set_symbols(graph, {"batch": 2}) == 0


def test_a_broadcast_that_depended_on_a_symbol_is_inferred_anew() -> None:
    graph = parse("""
        graph main {
          input a: float_32[n,3]
          input b: float_32[m,3]
          y = ElementWiseAdd(a, b)
          output y
        }
    """)
    assert graph.types["y"].shape == (symbol("n"), 3)
    set_symbols(graph, {"n": 1, "m": 5})
    assert graph.types["y"].shape == (5, 3)


def test_the_results_of_source_ops_are_resolved_too() -> None:
    net = Net(symbol("n"), 2)
    results_type = TensorType((symbol("n") * 2,))
    op = SourceOp(package="p", type="T", results=(results_type,))
    graph = net.done(net.emit(op, net.x))
    set_symbols(graph, {"n": 3})
    assert graph.types[graph.outputs[0]].shape == (6,)


def test_a_symbol_that_is_the_batch_by_position_only_is_found() -> None:
    graph = parse("graph g { input x: float_32[unk__1,3] input y: float_32[len,len] z = Relu(x) output z }")
    run_passes(graph, TARGET, is_checked=True)
    assert graph.types["x"].shape == (1, 3)
    assert graph.types["y"].shape == (symbol("len"), symbol("len"))


def test_floats_become_16_bits_at_inputs_and_outputs_too() -> None:
    graph = chain()
    narrow_float(graph, 16)
    verify(graph)
    assert {t.dtype for t in graph.types.values()} == {DType.FLOAT_16}


def test_the_meaning_of_16_bit_floats_is_near() -> None:
    graph = chain()
    inputs = feed(graph)
    before = results(graph, inputs)[0]
    narrow_float(graph, 16)
    after = results(graph, {name: array.astype(np.float16) for name, array in inputs.items()})[0]
    np.testing.assert_allclose(after.astype(np.float32), before, rtol=2e-2, atol=2e-2 * np.abs(before).max())


@pytest.mark.parametrize(("bits", "bias_bits"), [(16, 32), (32, 16), (16, 16), (32, 32), (32, None)])
def test_biases_have_bits_of_their_own(bits: int, bias_bits: int | None) -> None:
    net = Net()
    graph = net.done(net.conv(net.x, 4))
    (conv,) = (node for node in graph.nodes if len(node.inputs) == 3)
    narrow_float(graph, bits, bias_bits)
    verify(graph)
    expected = {16: DType.FLOAT_16, 32: DType.FLOAT_32}
    assert graph.types[conv.inputs[1]].dtype == expected[bits]
    assert graph.types[conv.inputs[2]].dtype == expected[bias_bits or bits]


def test_a_bias_that_is_more_than_a_bias_gets_a_twin() -> None:
    net = Net(1, 4)
    shared = net.random(4)
    product = net.emit(ElementWiseMultiply(), net.x, shared)
    graph = net.done(net.emit(FullyConnected(), product, net.random(4, 4), shared))
    narrow_float(graph, 16, 32)
    verify(graph)
    last = graph.nodes[-1]
    assert last.inputs[2] != shared
    assert graph.types[last.inputs[2]].dtype == DType.FLOAT_32
    assert graph.types[shared].dtype == DType.FLOAT_16


def test_numbers_beyond_float16_are_clamped_and_said(caplog) -> None:
    graph = parse("""
        graph main {
          input x: float_32[3]
          const mask: float_32[3] = [-3.4e38, inf, 1]
          y = ElementWiseAdd(x, mask)
          output y
        }
    """)
    with caplog.at_level(logging.WARNING):
        narrow_float(graph, 16)
    np.testing.assert_array_equal(graph.constants["mask"], np.array([-65504, np.inf, 1], np.float16))
    assert "1 elements of 'mask' exceed the largest float16 and are clamped" in caplog.text


def test_casts_at_inputs_and_outputs_keep_the_source_types() -> None:
    graph = chain()
    narrow_float(graph, 16)
    output = graph.outputs[0]
    retype_input(graph, "x", DType.FLOAT_32)
    retype_output(graph, output, DType.FLOAT_32)
    verify(graph)
    assert graph.outputs == [output]
    assert graph.types["x"].dtype == graph.types[output].dtype == DType.FLOAT_32


def integers(*numbers: int) -> Graph:
    return parse(f"""
        graph main {{
          input x: int_64[2]
          const c: int_64[{len(numbers)}] = [{", ".join(map(str, numbers))}]
          s = ElementWiseAdd(x, c)
          y = Cast(s) {{dtype=dtype(int_64)}}
          output y
        }}
    """)


def test_integers_become_32_bits_where_they_fit() -> None:
    graph = integers(-5, 2**63 - 1)
    assert PASSES["narrow_int64"](graph) == 4
    verify(graph)
    assert {t.dtype for t in graph.types.values()} == {DType.INT_32}
    np.testing.assert_array_equal(graph.constants["c"], [-5, 2**31 - 1])


def test_an_integer_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(UnsupportedFeature, match=r"constant holds 3..4294967296, which does not fit 32 bits"):
        PASSES["narrow_int64"](integers(3, 2**32))


def test_scalars_get_an_axis_and_results_keep_their_shapes() -> None:
    graph = parse("""
        graph main {
          input x: float_32[3,4]
          const i: int_32[] = [1]
          const two: float_32[] = [2]
          row = Gather(x, i) {axis=0}
          t = ElementWiseMultiply(row, two)
          y = ReduceSum(t) {axes=(0,)}
          output y, t
        }
    """)
    inputs = feed(graph)
    before = results(graph, inputs)
    assert PASSES["promote_scalars"](graph) == 3
    verify(graph)
    assert all(t.rank for t in graph.types.values())
    after = results(graph, inputs)
    np.testing.assert_array_equal(after[0].reshape(()), before[0])
    np.testing.assert_array_equal(after[1], before[1])
