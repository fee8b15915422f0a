"""Is it any good? Rivals and comparisons: who only uses or mends the tokenizer can ignore this room.

Nothing outside imports it, except `mws compare`. Small language models are in `scripts/lm`.
"""
