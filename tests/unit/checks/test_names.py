from checks.names import count_names, find_vague_names


def find_in(tmp_path, code):
    path = tmp_path / "module.py"
    path.write_text(code)
    return list(find_vague_names(path))


def test_a_function_without_a_verb_is_named(tmp_path):
    (problem,) = find_in(tmp_path, "def converted(graph):\n    return graph\n")
    assert problem.endswith("module.py:1: function 'converted' does not begin with a verb")


def test_verbs_questions_conversions_and_accessors_pass(tmp_path):
    code = """
class Model:
    @property
    def graph(self): ...
    def outputs(self): ...
    @classmethod
    def of(cls, graph): ...
def convert_graph(graph): ...
def is_float(dtype): ...
def to_json(record): ...
@onnx_op("MaxPool", since=10)
def max_pool(attrs): ...
"""
    assert find_in(tmp_path, code) == []


def test_a_participle_is_no_accessor(tmp_path):
    assert len(find_in(tmp_path, "class Graph:\n    def sorted(self): ...\n")) == 1


def test_a_variable_that_could_be_anything_is_named(tmp_path):
    (problem,) = find_in(tmp_path, "def read_all(paths):\n    found = []\n    return found\n")
    assert "'found' could be anything" in problem


def test_problems_are_counted_by_folder(tmp_path):
    for folder in ("api", "frontends/_common", "frontends/onnx"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.py").write_text("def thing(x): ...\n")
    counts = {folder: len(lines) for folder, lines in count_names(tmp_path).items()}
    assert counts == {"api": 1, "frontends/_common": 1, "frontends": 1}
