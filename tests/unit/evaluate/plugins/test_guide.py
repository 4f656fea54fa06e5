"""The plugins are those of the SDK's guide, with its parameters and its defaults."""

from dataclasses import MISSING

import pytest

from edgewright.evaluate.plugins.plugin import FILE, MEMORY, find_builtin_plugins

NEEDED = MISSING
BLACK, WHITE = {"R": 0, "G": 0, "B": 0}, {"R": 1, "G": 1, "B": 1}
CROP = {"dims": NEEDED, "library": "numpy", "typecasting_required": True}
NORMALIZE = {
    "library": "numpy",
    "norm": 255.0,
    "means": BLACK,
    "std": WHITE,
    "channel_order": "RGB",
    "normalize_first": True,
    "typecasting_required": True,
    "pil_to_tensor_input": True,
}
# Needed by one of its two types only, which the plugin asks for.
PAD = {"type": NEEDED, "dims": None, "pad_size": None, "img_position": "center", "color": 114}
RESIZE = {
    "dims": NEEDED,
    "library": "opencv",
    "channel_order": "RGB",
    "interp": None,
    "type": None,
    "resize_before_typecast": True,
    "typecasting_required": True,
    "mean": BLACK,
    "std": BLACK,
    "normalize_before_resize": False,
    "crop_before_resize": False,
}
CENTERNET = {"dims": NEEDED, "scale": 1.0, "fix_res": True, "pad": 0}
FILTER = {"max_inputs": NEEDED, "max_calib": NEEDED, "random": False}
MAPS = {"output_dims": NEEDED, "top_k": 100, "num_classes": 1, "score": 1}
DETECTION = {
    "dims": NEEDED,
    "type": None,
    "label_offset": 0,
    "score_threshold": 0.001,
    "xywh_to_xyxy": False,
    "xy_swap": False,
    "dtypes": None,
    "mask": False,
    "mask_dims": None,
    "padded_outputs": False,
    "scale": (1.0,),
    "skip_padding": False,
}
FACES = {"dims": NEEDED, "heatmap_threshold": 0.05, "nms_threshold": 0.3}
TOPK = {"softmax_index": 0, "label_offset": 0, "round": 3, "input_image_index": 0}
COCO = {"map_80_to_90": False, "segm": False, "keypoint_map": False}
LENGTHS = {"max_seq_length": 384, "max_query_length": 64, "doc_stride": 128}
PRECISION = {"round": 7, "input_image_index": 0}
GUIDE = {
    FILE: {
        "create_squad_examples": {"squad_version": 1},
        "filter_dataset": FILTER,
        "gpt2_tokenizer": {
            "vocab_file": NEEDED,
            "merges_file": NEEDED,
            "seq_length": NEEDED,
            "past_seq_length": NEEDED,
            "past_shape": (),
            "num_past": 0,
        },
        "split_txt_data": {},
        "centernet_preproc": CENTERNET,
        "convert_nchw": {"expand-dims": True},
        "create_batch": {"delete_prior": True, "truncate": False},
        "crop": CROP,
        "expand_dims": {},
        "image_transformers_input": {
            "dims": NEEDED,
            "num_base_class": None,
            "num_prompt": None,
            "image_only": False,
        },
        "normalize": NORMALIZE,
        "onmt_preprocess": {
            "vocab_path": NEEDED,
            "src_seq_len": 128,
            "skip_sentencepiece": True,
            "sentencepiece_model_path": None,
        },
        "pad": PAD,
        "resize": RESIZE,
        "squad_read": {
            **LENGTHS,
            "vocab_path": NEEDED,
            "packing_strategy": False,
            "max_sequence_per_pack": 3,
            "mask_type": None,
            "compressed_mask_length": None,
        },
        "bert_predict": {
            **LENGTHS,
            "vocab_path": NEEDED,
            "n_best_size": 20,
            "max_answer_length": 30,
            "packing_strategy": False,
        },
        "centerface_postproc": {**FACES, "dtypes": None},
        "centernet_postprocess": {**MAPS, "dtypes": NEEDED},
        "lprnet_predict": {},
        "object_detection": DETECTION,
        "onmt_postprocess": {
            "sentencepiece_model_path": NEEDED,
            "unrolled_count": 26,
            "vocab_path": None,
            "skip_sentencepiece": None,
        },
        "bleu": {"round": 1},
        "map_coco": COCO,
        "perplexity": {"logits_index": 0},
        "precision": PRECISION,
        "squad_em": {},
        "squad_f1": {},
        "topk": {**TOPK, "kval": (5,)},
        "widerface_AP": {"IoU_threshold": 0.4},
    },
    MEMORY: {
        "create_squad_examples": {"squad_version": 1, "max_inputs": -1, "max_calib": -1},
        "filter_dataset": FILTER,
        "tokenize_wikitext_2": {
            "seq_length": NEEDED,
            "tokenizer_name": NEEDED,
            "past_shape": (),
            "num_past": 0,
            "pos_id": True,
            "mask_dtype": "float32",
            "cached_path": None,
        },
        "split_txt_data": {},
        "centernet_preproc": CENTERNET,
        "convert_nchw": {"expand-dims": True},
        "create_batch": {},
        "crop": CROP,
        "expand_dims": {},
        "image_transformers_input": {"dims": NEEDED, "image_only": True},
        "normalize": NORMALIZE,
        "pad": PAD,
        "resize": {**RESIZE, "norm": 255.0, "normalize_first": True},
        "squad_preprocess": {"mask_type": None},
        "squad_postprocess": {"packing_strategy": False},
        "centerface_postproc": FACES,
        "centernet_postprocess": MAPS,
        "lprnet_predict": {},
        "object_detection": DETECTION,
        "map_coco": {**COCO, "data": "coco"},
        "perplexity": {"logits_index": 0},
        "precision": PRECISION,
        "squad_eval": {
            "vocabulary": NEEDED,
            "max_answer_length": 30,
            "n_best_size": 20,
            "do_lower_case": False,
            "squad_version": 1,
            "round": 6,
            "cached_vocab_path": None,
        },
        "topk": {**TOPK, "kval": (1, 5)},
        "widerface_AP": {"IoU_threshold": 0.4},
    },
}


def test_the_names_are_the_guides():
    plugins = find_builtin_plugins()
    assert {form: len(names) for form, names in GUIDE.items()} == {FILE: 29, MEMORY: 25}
    assert len(plugins) == 33
    for form, names in GUIDE.items():
        assert {name for name, plugin in plugins.items() if form in plugin.forms} == set(names)


@pytest.mark.parametrize(("form", "name"), [(form, name) for form, names in GUIDE.items() for name in names])
def test_parameters_and_defaults_are_the_guides(form, name):
    declared = {parameter.name: parameter for parameter in find_builtin_plugins()[name].list_parameters()}
    stated = GUIDE[form][name]
    assert set(stated) <= set(declared)
    defaults = {key: declared[key].find_default(form == MEMORY) for key in stated}
    assert defaults == stated
    # What only one of the two forms has must have a default in the other.
    rest = set(declared) - set(stated)
    assert [key for key in rest if declared[key].find_default(form == MEMORY) is MISSING] == []


def test_what_is_ours_says_so():
    plugins = find_builtin_plugins()
    for name, plugin in plugins.items():
        stated = {key for form in plugin.forms for key in GUIDE[form][name]}
        ours = {parameter.name for parameter in plugin.list_parameters() if parameter.is_ours}
        assert {parameter.name for parameter in plugin.list_parameters()} - ours == stated
