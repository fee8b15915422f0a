"""Language models on any tokenizer directory, by torch and accelerate: `python scripts/lm`, `scripts/lab run lm_...`.

`training.pretrain` trains a small decoder, `evaluation.evaluate_run` measures bits per byte, `model.MultiTokenModel`
predicts several tokens at once. `compare` has the comparisons of tokenizers, `report` their pages.
"""
