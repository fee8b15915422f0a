"""Model cards (README.md): written from facts that lie in the record beside the tokenizer (`mws_training.json`).

`facts` reads and writes the record, `card` fills the template `card.md` from it, `readme` guards the file.
"""
