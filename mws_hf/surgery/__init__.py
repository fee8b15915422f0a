"""Change the vocabulary of a pretrained tokenizer, and make its model fit. Import what you need by module.

`extension.extend` learns new merges on the base's own segmentation and appends them, `trim.trim` drops entries that
texts do not use, `embeddings.transplant` gives each new id an embedding made of old ones.
"""
