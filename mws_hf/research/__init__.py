"""Is it any good? Language models, rivals and comparisons: who only uses or mends the tokenizer can ignore this room.

Nothing outside imports it, except `mws compare` and the names that its parts had before: `mws_hf.lm`,
`mws_hf.baselines`, `mws_hf.compare` (`research.names`).
"""
