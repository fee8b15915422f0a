"""Surgery on pretrained BPE tokenizers: trim, extend, map; and on their models' rows. Import what you need by module.

`extension.extend` learns new merges on the base's own cuts and appends them, `trim.trim` drops entries that texts do
not use, `token_map` tells how two tokenizers spell each other's tokens, `rows` which old row belongs to which new id.
"""
