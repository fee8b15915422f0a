"""Nothing here is needed: this is the stock class of transformers under its own name.

transformers 5.10 and later replace the tokenizer next to a config.json of some model types (qwen2, qwen3_5, siglip2,
...) by that model's class, with wrong ids, unless tokenizer_config.json names an "auto_map". Without
trust_remote_code=True this file is never read; with it, it gives the same tokenizer.
"""

import transformers


class PreTrainedTokenizerFast(transformers.PreTrainedTokenizerFast):
    """transformers.PreTrainedTokenizerFast, so that saving again writes a name every version knows."""
