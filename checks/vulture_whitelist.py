# Names that something outside the source uses, one a line, each with the reason.
# Dataclass fields, enum members and console scripts need no line: checks/dead_code.py adds them.
pytest_configure  # pytest calls it
# Attributes that ONNX Runtime reads, hooks of the module system, a marker of pytest.
intra_op_num_threads
log_severity_level
__getattr__
__dir__
pytestmark
__class__  # Python looks at it: the package's own kind of module
graph_optimization_level
enable_mem_reuse
enable_profiling
profile_file_prefix
handle_starttag  # html.parser calls it
get_next  # onnxruntime.quantization calls it
infer_session  # onnxruntime.quantization reads it
# Fields of C structs that a library reads.
is_on
memory_type
expansion
run_shared  # a request that the worker's caller sends by its name
open_converter  # the same, of the op packages' worker
qconfig  # torch.ao.quantization reads it
macs_per_microsecond  # a template reads it
__init_subclass__  # Python calls it
htp_backend  # backends/registry.py finds these by their names
make_gpu_fp32
make_gpu_fp16
make_gpu_hybrid
make_webgpu
make_cuda
make_bf16
FasterEngineBackend
daemon_threads  # http.server reads these, and calls the methods
server_version
sys_version
protocol_version
do_GET
do_POST
close_connection
do_HEAD
log_message
use_listings_cache  # fsspec reads it
compute_all  # jobs of many runs call it
_.ftype  # settings of other packages' objects
_.nthread
_.do_sample
_.ignore_eos
_.max_new_tokens
_.chat_template
_.tempdir
