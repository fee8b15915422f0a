"""Model cards (README.md): written from facts that lie in the record beside the tokenizer (`mws_training.json`).

`group_facts` measures them at a training, `facts` keeps what people say, `card` fills the template `card.md` from both.
"""
