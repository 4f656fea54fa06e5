"""A graph from a file gets the names of the graph in memory."""

import edgewright as ew
from edgewright.analyse.aligned_names import align_names
from edgewright.analyse.comparison_points import list_comparison_points
from tests.browser.sample_build import mnist


def test_all_layers_of_a_file_are_compared(tmp_path):
    source, quantized = mnist("w8a8")
    before, made = source.fixed_graph(), quantized.fixed_graph()
    quantized.save(tmp_path / "m.dlc")
    stored = ew.load(tmp_path / "m.dlc").fixed_graph()
    aligned = align_names(before, stored)
    points = [point.value for point in list_comparison_points(before, made)]
    assert [point.value for point in list_comparison_points(before, aligned)] == points
    for value in points:
        assert aligned.types[value].encoding == made.types[value].encoding
        assert aligned.source_names.get(value, value) == made.source_names.get(value, value)
    assert (aligned.inputs, aligned.outputs) == (stored.inputs, stored.outputs)


def test_equal_names_stay_as_they_are():
    _, quantized = mnist("w8a8")
    graph = quantized.fixed_graph()
    assert list(align_names(graph, graph).types) == list(graph.types)
