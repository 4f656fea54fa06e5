"""Many runs of one kind: tasks whose results are kept by content, in local processes or on a Dask cluster.

A task is a function, its version and its inputs. The hash of the three names its result, so nothing is
computed twice: not by two sweeps, not after a stop, not when a worker or the scheduler is lost. ::

    @register_task(version=1)                       # in a module that workers can import
    def count_nodes(job: Job) -> Any:               # inputs and answer are JSON values
        folder = job.fetch_files(job.inputs["model"])
        return {"nodes": count(folder / job.inputs["name"], job.inputs["depth"])}

    with open_engine("out/.tasks", cluster=None, workers=2) as engine:
        model = engine.share_files(path.parent, [path.name])      # the hash of its content
        tasks = [make_task(count_nodes, model=model, name=path.name, depth=d) for d in (1, 2, 3)]
        for task, outcome in engine.iterate_outcomes(tasks, "count nodes"):    # as they become known
            print(task.inputs["depth"], outcome.error or outcome.value["nodes"])
        first, *rest = engine.compute_all(tasks)                  # the same in the order of the tasks

``workers=0`` computes in this process. What a task makes beside its answer it keeps by content as well:
``job.keep_files(folder, names)`` and ``job.keep_arrays(arrays)`` give hashes to put into the answer, and
``engine.fetch_files(hash)``, ``job.load_arrays(hash)`` read them anywhere. An ``EdgewrightError`` of a task
is its outcome (``outcome.error``; ``outcome.check()`` raises it), and the others go on; a process that a task
crashes is started again, and a task that crashes it each time is one clean error.
"""
