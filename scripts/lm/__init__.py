"""Small language models over any tokenizer directory, with torch and accelerate: `python scripts/lm`.

`training.pretrain` trains a small decoder, `evaluation.evaluate_run` measures its bits per byte, and
`model.MultiTokenModel` predicts several tokens at once. `compare` defines the comparisons of tokenizers
(`scripts/lab run lm_...`), and `report` writes their pages.
"""
