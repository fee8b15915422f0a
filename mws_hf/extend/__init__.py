"""New merges behind those of a pretrained BPE tokenizer: read it, learn on its own cuts, append. No model is touched."""
