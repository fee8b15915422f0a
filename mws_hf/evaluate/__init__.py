"""How well a tokenizer cuts: boundary scores against gold, and measures on running text. It trains nothing."""
