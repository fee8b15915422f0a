"""Language models on any tokenizer directory (extra `mws-hf[lm]`); nothing else in the package imports this."""
