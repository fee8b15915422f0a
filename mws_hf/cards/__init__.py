"""Model cards (README.md): written from facts that lie in the record beside the tokenizer (`mws_training.json`).

One card is metadata for the Hub, a head and sections, each a function from facts to Markdown: `heads` and `sections`
hold these functions, `card` puts them together, `facts` reads and writes the record, `readme` guards the file.
"""
