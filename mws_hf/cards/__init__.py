"""Model cards (README.md): written from facts that lie in the record beside the tokenizer (`mws_training.json`).

`training_figures` measures them at a training, `facts` keeps what people say, `card` fills the template `card.md`.
"""
