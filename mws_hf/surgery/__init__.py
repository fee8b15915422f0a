"""Change the vocabulary of a pretrained tokenizer, and adapt its model.

`extension.extend` learns new merges on the segmentation of the tokenizer and appends them, `trim.trim` removes tokens
that texts do not use, and `embeddings.transplant` computes the embedding of each new id from old ones.
"""
