"""The genuine QNN libraries, run in a separate worker process.

    with QnnRuntime(HtpOptions(soc_model=57)) as runtime:    # backends.qnn.runtime, backends.qnn.options
        context = runtime.compile([live_records(graph, graph.outputs), ...])  # backends.qnn.backend
        context.graphs                                       # tuple[GraphInfo, ...]: name, inputs, outputs
        context.run("name", {"x": array})                    # stored arrays in and out, by tensor name
        context.binary()                                     # bytes of the context binary
        runtime.load(binary)                                 # a context from bytes
        runtime.open_dlc("model.dlc")                        # the genuine reader opens it, or an error
        runtime.info(binary)                                 # BinaryInfo: SoC, versions, graphs, VTCM ...

`GraphInfo` and `BinaryInfo` are in `backends.qnn.info`; `find_libraries()` in `abi.libraries` returns the
wheel's libraries, or None. Errors are `BackendCrash` (exit code 7), `UnsupportedOp` (all refusals of the
library's validator in one report, exit code 4) and `EnvironmentProblem` (no wheel, exit code 6).
"""
