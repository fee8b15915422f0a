"""Write model cards (README.md) from the training metadata next to a tokenizer (mws_training.json).

`training_figures` measures a new tokenizer on its training text, and `card` fills the template `card.md`.
"""
