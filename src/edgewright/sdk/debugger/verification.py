"""Verification: the tensors of an inference beside their golden references, by every verifier."""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from edgewright.analyse.verifiers.choices import VerifierChoice, read_verifier_config, read_verifiers
from edgewright.analyse.verifiers.rankings import MeanIou
from edgewright.analyse.verifiers.verifier import Verifier
from edgewright.config.accuracy_debugger import DebuggerFolder, VerificationInputs
from edgewright.core.errors import BadInput, EdgewrightError, shown
from edgewright.core.files import write_all, write_whole
from edgewright.frontends.conversion import ConversionRequest
from edgewright.model.convert import convert_in_memory
from edgewright.sdk.debugger.folders import open_feature_folder
from edgewright.sdk.debugger.graph_structure import (
    MAPPING_FILE,
    Structure,
    read_mapping,
    read_net_json,
    read_structure,
)
from edgewright.sdk.debugger.matching import TensorMatcher, TensorPair
from edgewright.sdk.debugger.summary import (
    TensorVerdict,
    Verification,
    describe_tables,
    describe_tensor_files,
)
from edgewright.sdk.debugger.tensor_folder import list_tensor_files

log = logging.getLogger(__name__)

FEATURE = "verification"


def verify_folders(inputs: VerificationInputs, place: DebuggerFolder) -> Verification:
    """Compares two folders of tensors and writes summaries and a file for each tensor and verifier."""
    choices = read_verifiers(inputs.default_verifier)
    if inputs.verifier_config is not None:
        choices += read_verifier_config(inputs.verifier_config)
    with open_feature_folder(place.working_dir, FEATURE, place.output_dirname, (inputs, place)) as folder:
        matcher = open_matcher(inputs, folder)
        result = verify_tensors(matcher, choices, folder)
        log.info("%s", result.first_divergence)
    return result


def verify_tensors(
    matcher: TensorMatcher, choices: Sequence[VerifierChoice], folder: Path, *, has_ranges: bool = False
) -> Verification:
    """Compares all pairs by all verifiers and writes what came out."""
    pairs = matcher.list_pairs()
    if not pairs:
        raise BadInput(
            "no tensor of the inference has a reference: their names have nothing in common",
            do="give --tensor_mapping, or --graph_struct, which the inference engine wrote",
        )
    general = [choice.verifier for choice in choices if choice.tensors is None]
    rows = {pair.name: _verify_pair(matcher, pair, general) for pair in pairs}
    for choice in choices:
        for names in choice.tensors or ():
            _add_special(rows, matcher, choice.verifier, names)
    unmatched = matcher.list_unmatched()
    if unmatched:
        log.warning(
            "%d tensors of the inference have no reference, among them '%s'", len(unmatched), unmatched[0]
        )
    verifiers = tuple(dict.fromkeys(choice.verifier for choice in choices))
    result = Verification(str(folder), verifiers, tuple(rows.values()), tuple(unmatched), has_ranges)
    write_all({folder / name: [text] for name, text in describe_tables(result).items()})
    for name, text in describe_tensor_files(result):
        write_whole(folder / name, [text])
    return result


def _verify_pair(matcher: TensorMatcher, pair: TensorPair, verifiers: Sequence[Verifier]) -> TensorVerdict:
    facts = matcher.structure.get(pair.name)
    verdict = TensorVerdict(
        name=pair.name,
        golden=pair.golden.name,
        layer_type="" if facts is None else facts.type,
        dims=facts.dims if facts is not None else pair.target.dims or (),
        is_fused=facts is not None and facts.is_fused,
    )
    try:
        golden, target = matcher.read_pair(pair)
        verdict.measure_ranges(golden, target)
        for verifier in verifiers:
            verdict.scores[verifier.column] = verifier.score(golden, target)
    except EdgewrightError as problem:
        verdict.problem = f"err_compare: {problem.what}"
        log.warning("'%s' is not compared: %s", pair.name, problem.what)
    return verdict


def _add_special(
    rows: Mapping[str, TensorVerdict], matcher: TensorMatcher, verifier: Verifier, names: Sequence[str]
) -> None:
    """The score of what a configuration names; a verifier of two tensors is shown at the first of them."""
    pairs = [matcher.find_pair(name) for name in names]
    absent = [name for name, pair in zip(names, pairs, strict=True) if pair is None]
    if absent:
        raise BadInput(
            f"the verifier configuration names '{shown(absent[0])}', which is not in both folders",
            do="name tensors as the inference or the framework does",
        )
    arrays = [matcher.read_pair(pair) for pair in pairs if pair is not None]
    first = pairs[0]
    assert first is not None
    if isinstance(verifier, MeanIou) and len(arrays) == MeanIou.arity:
        score = verifier.score_pair([golden for golden, _ in arrays], [target for _, target in arrays])
    else:
        score = verifier.score(*arrays[0])
    rows[first.name].scores[verifier.column] = score


def open_matcher(inputs: VerificationInputs, folder: Path | None = None) -> TensorMatcher:
    """The two folders and all that is known of their tensors; a mapping that is made goes to ``folder``."""
    structure: Structure = {}
    if inputs.graph_struct is not None:
        structure = read_structure(inputs.graph_struct)
    elif inputs.qnn_model_json_path is not None:
        structure = read_net_json(inputs.qnn_model_json_path)
    mapping = {} if inputs.tensor_mapping is None else read_mapping(inputs.tensor_mapping)
    if inputs.tensor_mapping is None and inputs.model_path is not None:
        mapping = dict(_map_source(inputs.model_path))
        if folder is not None:
            write_whole(folder / MAPPING_FILE, [f"{json.dumps(mapping, indent=1)}\n".encode()])
    return TensorMatcher(
        list_tensor_files(inputs.golden_output_reference_directory),
        list_tensor_files(inputs.inference_results),
        mapping,
        structure,
    )


def _map_source(file: str) -> Iterator[tuple[str, str]]:
    """The names of a converted model's tensors -> the source's."""
    for tensor in convert_in_memory(ConversionRequest(file)).source_map():
        if tensor.tensor:
            yield tensor.tensor, tensor.name
