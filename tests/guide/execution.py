"""Lines 3800 to 4940 and the tools around execution: libraries, contexts, runs, throughput, profiles."""

from tests.guide.example import Example, absent, shown

GRAPHS = """{
  "graphs": [
    {
      "vtcm_mb": 8, // how much of the fast memory
      "fp16_relaxed_precision": 1, // float models in half precision
      "graph_names": [ "model" ] // the name of the .cpp file
    }
  ]
}
"""
EXTENSIONS = """{
  "backend_extensions" :
  {
    "shared_library_path" : "libQnnHtpNetRunExtensions.so",
    "config_file_path" : "htp.json"
  }
}
"""
CONTEXT_FILE = """{
    "backend_extensions" :
    {
        "shared_library_path" : "libQnnHtpNetRunExtensions.so",
        "config_file_path" : "htp.json"
    },
    "context_configs" :
    {
        "context_priority" : "normal_high",
        "async_execute_queue_depth" : 4,
        "enable_graphs" : ["model"],
        "memory_limit_hint" : 100,
        "is_persistent_binary" : true,
        "cache_compatibility_mode" : "permissive"
    },
    "graph_configs" : [
        {
            "graph_name" : "model",
            "graph_priority" : "high",
            "graph_profiling_start_delay" : 0.0,
            "graph_profiling_num_executions" : 2
        }
    ],
    "profile_configs" :
    {
        "num_max_events" : 1000
    },
    "async_graph_execution_config" :
    {
        "input_tensors_creation_tasks_limit" : 2,
        "execute_enqueue_tasks_limit" : 2
    }
}
"""
THROUGHPUT = """{
    "backends": [
        {
            "backendName": "cpu_backend",
            "backendPath": "libQnnCpu.so",
            "profilingLevel": "BASIC",
            "backendExtensions": "libQnnHtpNetRunExtensions.so",
            "perfProfile": "high_performance"
        },
        {
            "backendName": "gpu_backend",
            "backendPath": "%s",
            "profilingLevel": "OFF"
        }
    ],
    "models": [
        {
            "modelName": "model_1",
            "modelPath": "model_net.json",
            "loadFromCachedBinary": false,
            "inputPath": "input_list.txt",
            "inputDataType": "FLOAT",
            "postProcessor": "MSE",
            "outputPath": "model_1-output",
            "outputDataType": "FLOAT_ONLY",
            "saveOutput": "NATIVE_ALL",
            "groundTruthPath": "golden_list.txt"
        },
        {
            "modelName": "model_2",
            "modelPath": "model_net.json",
            "loadFromCachedBinary": false,
            "inputPath": "input_list.txt",
            "inputDataType": "FLOAT",
            "postProcessor": "MSE",
            "outputPath": "model_2-output",
            "outputDataType": "FLOAT_ONLY",
            "saveOutput": "NATIVE_LAST"
        }
    ],
    "contexts": [{"contextName": "cpu_context_1"}, {"contextName": "gpu_context_1"}],
    "testCase": {
        "iteration": 5,
        "logLevel": "error",
        "threads": [
            {
                "threadName": "cpu_thread_1",
                "backend": "cpu_backend",
                "context": "cpu_context_1",
                "model": "model_1",
                "interval": 10,
                "loopUnit": "count",
                "loop": 1
            },
            {
                "threadName": "gpu_thread_1",
                "backend": "gpu_backend",
                "context": "gpu_context_1",
                "model": "model_2",
                "interval": 10,
                "loopUnit": "count",
                "loop": 1
            },
            {
                "threadName": "gpu_thread_2",
                "backend": "gpu_backend",
                "context": "gpu_context_1",
                "model": "model_2",
                "interval": 0,
                "loopUnit": "count",
                "loop": 10
            }
        ]
    }
}
"""
GOLDEN = {
    "golden_list.txt": "out/Result_0/Plus214_Output_0.raw\nout/Result_1/Plus214_Output_0.raw\nout/Result_2/Plus214_Output_0.raw\n"
}
RUN_FIRST = (
    "qnn-net-run --model model_net.json --backend libQnnCpu.so --input_list input_list.txt --output_dir out\n"
)
RESULTS = ("out/Result_0/Plus214_Output_0.raw", "out/Result_2/Plus214_Output_0.raw")
PHONE = "copies files to a phone: there is none here"

EXAMPLES = (
    shown(3806, 3811, "usage of qairt-quantizer"),
    shown(3819, 3833, "usage of qairt-quantizer"),
    Example(
        (3871, 3929),
        "options of qairt-quantizer, all at once",
        """qairt-quantizer --input_dlc inception_v3.dlc --input_list input_list.txt --output_dlc out.dlc \\
            --algorithms cle --bias_bitwidth 32 --act_bitwidth 16 --weights_bitwidth 8 --float_bitwidth 32 \\
            --float_bias_bitwidth 32 --ignore_encodings --use_per_channel_quantization --use_per_row_quantization \\
            --restrict_quantization_steps "-0x80 0x7F" """,
        ("dlc",),
        leaves=("out.dlc",),
    ),
    shown(3997, 4000, "usage of qnn-model-lib-generator"),
    shown(4044, 4047, "usage of qnn-op-package-generator"),
    shown(4081, 4090, "usage of qnn-context-binary-generator"),
    Example(
        (4378, 4390),
        "a list of three sets for two inputs",
        """qnn-onnx-converter -i layers.onnx -o layers.cpp
        qnn-net-run --model layers_net.json --backend libQnnCpu.so --input_list input_list.txt""",
        ("pair",),
        {
            "input_list.txt": "".join(
                f"Input_1:=left{number}.rawtensor Input_2:=right{number}.rawtensor\n" for number in range(3)
            )
        },
        leaves=("output/Result_0/Output_1.raw", "output/Result_2/Output_2.raw"),
    ),
    Example(
        (4398, 4400),
        "an op package and its provider",
        test="tests/cli/test_op_packages.py::test_a_custom_op_runs_from_its_compiled_package",
    ),
    Example(
        (4414, 4457),
        "a configuration with every section",
        """qnn-net-run --model model_net.json --backend libQnnHtp.so --config_file config.json \\
            --input_list input_list.txt --output_dir out""",
        ("converted",),
        {"config.json": CONTEXT_FILE, "htp.json": GRAPHS},
        leaves=RESULTS,
    ),
    absent(4488, 4490, "shared buffers on a phone", "sets a path of Android"),
    Example(
        (4504, 4539),
        "a quantized model is compiled, and its binary run",
        """qnn-context-binary-generator --binary_file qnngraph.serialized --model ./libQnnModel.so \\
            --backend sdk/lib/x86_64-linux-clang/libQnnHtp.so --output_dir binary
        qnn-net-run --retrieve_context binary/qnngraph.serialized.bin --backend libQnnHtp.so \\
            --output_dir out --input_list input_list.txt""",
        ("library", "sdk"),
        leaves=("binary/qnngraph.serialized.bin", *RESULTS),
    ),
    Example(
        (4551, 4636),
        "a float model runs in half precision",
        """qnn-onnx-converter -i model.onnx -o model.cpp --float_bw 16
        qnn-net-run --model model_net.json --backend libQnnHtp.so --config_file config.json \\
            --output_dir out --input_list input_list.txt""",
        ("digits",),
        {"config.json": EXTENSIONS, "htp.json": GRAPHS},
        leaves=RESULTS,
    ),
    shown(4650, 4654, "usage of qnn-throughput-net-run"),
    Example(
        (4670, 4794),
        "threads on two backends; a GPU is refused, the HTP is in its place here",
        RUN_FIRST + "qnn-throughput-net-run --config case.json --output results.json",
        ("converted",),
        {"case.json": THROUGHPUT % "libQnnHtp.so", **GOLDEN},
        leaves=("results.json", "model_1-output/cpu_thread_1/*", "model_2-output/gpu_thread_2/*"),
    ),
    absent(
        8204,
        8214,
        "files of the platform validator",
        "libraries of a phone, which this project does not have",
    ),
    absent(8218, 8222, "the platform validator on a phone", PHONE),
    Example(
        (8234, 8259),
        "a profile is shown and written",
        """qnn-net-run --model model_net.json --backend libQnnCpu.so --input_list input_list.txt --profiling_level basic
        qnn-profile-viewer --input_log output/qnn-profiling-data_0.log --output=profile.csv --extract_opaque_objects""",
        ("converted",),
        leaves=("profile.csv",),
        says=("Execute Stats",),
    ),
    Example(
        (8282, 8286),
        "what qnn-netron needs",
        test="tests/cli/test_sdk_root.py::test_the_check_for_linux_only_looks_where_it_is_asked_to",
    ),
    Example((8297, 8301), "help of qnn-netron", "qnn-netron -h", says=("usage: qnn-netron", "-w")),
    Example((8309, 8312), "qnn-netron serves a folder", test="tests/unit/view/test_open_view.py"),
    Example(
        (8865, 8867),
        "what a context binary holds",
        "qnn-context-binary-utility --context_binary qnngraph.serialized.bin --json_file context.json",
        ("context",),
        leaves=("context.json",),
    ),
    Example(
        (12892, 12895),
        "a DLC is quantized",
        """qairt-quantizer --input_dlc inception_v3.dlc --input_list input_list.txt \\
            --output_dlc inception_v3_quantized.dlc""",
        ("dlc",),
        leaves=("inception_v3_quantized.dlc",),
    ),
    Example(
        (12909, 12913),
        "a list that names outputs",
        "qairt-quantizer --input_dlc inception_v3.dlc --input_list list.txt --output_dlc out.dlc",
        ("dlc",),
        {"list.txt": "#Plus214\n%Plus214_Output_0\nInput3:=0.raw\nInput3:=1.raw\n"},
        leaves=("out.dlc",),
    ),
    Example((12919, 12921), "an environment for AIMET", test="tests/cli/test_qairt_aimet.py"),
)
