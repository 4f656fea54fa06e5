"""Encodings of a model that is made block by block: one file, of which one block is in memory."""

import json
import tracemalloc

from edgewright.llm.npu.merge_encodings import iterate_merged


def write_blocks(folder, count, factors):
    files = []
    for number in range(count):
        weights = {"name": f"w{number}", "per_block_int_scale": [7] * factors}
        shared = [{"name": f"x{number}"}, {"name": f"x{number + 1}"}]
        added = {"version": "1.0.0", "activation_encodings": shared, "param_encodings": [weights]}
        document = {"version": "1.0.0", "activation_encodings": shared, "added_encodings": added}
        files.append(folder / f"{number}.json")
        files[-1].write_text(json.dumps(document))
    return files


def test_lists_at_all_depths_follow_one_another_and_name_nothing_twice(tmp_path):
    document = json.loads(b"".join(iterate_merged(write_blocks(tmp_path, 3, 2))))
    names = [entry["name"] for entry in document["activation_encodings"]]
    assert (document["version"], names) == ("1.0.0", ["x0", "x1", "x2", "x3"])
    added = document["added_encodings"]
    assert [entry["name"] for entry in added["activation_encodings"]] == names
    assert added["param_encodings"][2] == {"name": "w2", "per_block_int_scale": [7, 7]}


def test_memory_does_not_grow_with_the_blocks(tmp_path):
    peaks = []
    for count in (2, 12):
        folder = tmp_path / str(count)
        folder.mkdir()
        files = write_blocks(folder, count, 5_000)
        tracemalloc.start()
        for _ in iterate_merged(files):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]
