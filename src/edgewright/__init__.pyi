"""The public names and where each lives: the one list, for editors, type checkers and ``__init__.py``."""

from edgewright.analyse.checked_model import CheckedModel as CheckedModel
from edgewright.analyse.compare_models import OutputDifference as OutputDifference
from edgewright.analyse.compare_models import compare as compare
from edgewright.analyse.diagnosis import Diagnosis as Diagnosis
from edgewright.api import llm as llm
from edgewright.api.build import build as build
from edgewright.api.check import check as check
from edgewright.api.compile import compile as compile  # noqa: A004 - as in torch.compile
from edgewright.api.convert import convert as convert
from edgewright.api.debug import debug as debug
from edgewright.api.estimate import estimate as estimate
from edgewright.api.evaluate import evaluate as evaluate
from edgewright.api.quantize import quantize as quantize
from edgewright.api.sweep import sweep as sweep
from edgewright.artifacts.encodings.fit import fit_encodings as fit_encodings
from edgewright.build.compare_builds import BuildComparison as BuildComparison
from edgewright.build.compare_builds import compare_builds as compare_builds
from edgewright.build.records import BuildRecord as BuildRecord
from edgewright.build.sweep_records import SweepRecord as SweepRecord
from edgewright.compat.debugger import QNNDebugger as QNNDebugger
from edgewright.compat.dynamic_quantization import DynamicQuantization as DynamicQuantization
from edgewright.compat.inference import QNNInference as QNNInference
from edgewright.compat.profiler import QNNProfiler as QNNProfiler
from edgewright.compat.selector import BackendSelector as BackendSelector
from edgewright.compat.selector import check_backend_support as check_backend_support
from edgewright.config.preprocessing import Preprocessing as Preprocessing
from edgewright.core.errors import EdgewrightError as EdgewrightError
from edgewright.estimate.records import Estimate as Estimate
from edgewright.evaluate.plugins.plugin import DatasetPlugin as DatasetPlugin
from edgewright.evaluate.plugins.plugin import MetricPlugin as MetricPlugin
from edgewright.evaluate.plugins.plugin import PostprocessingPlugin as PostprocessingPlugin
from edgewright.evaluate.plugins.plugin import PreprocessingPlugin as PreprocessingPlugin
from edgewright.frontends.conversion import Rewrites as Rewrites
from edgewright.model.model import Model as Model
from edgewright.model.model import load as load
from edgewright.model.profile.measure import Effort as Effort
from edgewright.model.profile.measure import ModelProfile as ModelProfile
from edgewright.model.profile.measure import profile as profile
from edgewright.model.quantize import QuantizedModel as QuantizedModel
from edgewright.model.saving import SaveOptions as SaveOptions
from edgewright.model.select_backend import BackendChoice as BackendChoice
from edgewright.model.select_backend import select_backend as select_backend
from edgewright.quantize.encodings import validate_quantization_range as validate_quantization_range
from edgewright.run.compiled_model import CompiledModel as CompiledModel
from edgewright.run.compiled_model import load_context as load_context
from edgewright.run.python_ops import op_package as op_package
from edgewright.sdk.evaluator.records import ModelEvaluation as ModelEvaluation
from edgewright.sdk.evaluator.records import SchemaResult as SchemaResult
from edgewright.view.viewer import Viewer as Viewer
from edgewright.view.viewer import view as view

__version__: str
