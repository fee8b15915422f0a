.PHONY: demo test format clean

demo:  ## train a Russian tokenizer and load it with AutoTokenizer
	python3 scripts/project.py demo

test:  ## everything CI runs
	python3 scripts/project.py test

format:
	.venv/bin/ruff check --fix . && .venv/bin/ruff format .

clean:
	rm -rf .venv out build dist .pytest_cache .mypy_cache .ruff_cache
