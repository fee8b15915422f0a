"""Model cards (README.md): written from facts that lie in the record beside the tokenizer (`mws_training.json`).

`training_figures` measures them at a training, `card` keeps what people say and fills the template `card.md`.
"""
