"""What a refusal of the library advises."""

from edgewright.backends.qnn.refusals import refusal
from edgewright.config.spelling import spell_options
from edgewright.lower.qnn_graph import QnnGraph, QnnNode


def test_the_cpu_is_advised_only_where_the_tool_has_an_option_for_it():
    graph, node = QnnGraph("g", {}, []), QnnNode("n", "qti.aisw", "Odd")
    for code in (3110, 4005):
        with spell_options({"outputs": "--out_node"}):
            assert "CPU" not in refusal(graph, node, code, [], "no").do
        with spell_options({"allow_cpu_ops": "--allow_cpu_ops"}):
            assert "--allow_cpu_ops" in refusal(graph, node, code, [], "no").do
        assert "htp+cpu in Python" in refusal(graph, node, code, [], "no").do
