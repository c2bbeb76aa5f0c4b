# One word for each job. Each sets itself up under .venv: what it needs is Python 3.11 or 3.13 with pip, and a package index.

PYTHON ?= $(shell for name in python3 python3.13 python3.11 python; do command -v $$name && break; done)

.PHONY: help test test-long lint build bench demo gui clean

help:
	@echo "make demo       build, install, fly and render a flock: out/demo"
	@echo "make test       lint, types, core, the zips, and the add-on in every Blender whose Python is here"
	@echo "make test-long  the tests that take longer"
	@echo "make build      the extension's zips: dist"
	@echo "make bench      speed, side by side with peers: out/bench.json and bench.png (OPTIONS=\"--quick --json FILE\")"
	@echo "make gui        pictures of a real Blender window: out/gui (FLOCK_GUI names the driver's folder)"

test test-long lint build bench demo gui:
	@$(PYTHON) tools/run.py $@ $(OPTIONS)

clean:
	rm -rf .venv dist out wheels
