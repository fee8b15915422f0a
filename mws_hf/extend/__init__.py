"""New merges behind those of a pretrained BPE tokenizer: read, learn on its own cuts, append. It touches no model."""
