.PHONY: demo site test format clean

demo:  ## train a tokenizer with default settings and load it with AutoTokenizer
	python3 scripts/project.py demo

site:  ## build the site of the documents in out/site
	python3 scripts/project.py site

test:  ## everything CI runs
	python3 scripts/project.py test

format:
	.venv/bin/ruff check --fix . && .venv/bin/ruff format .

clean:
	rm -rf .venv out build dist .pytest_cache .mypy_cache .ruff_cache
