"""The parts that compiled loops share: `jit` compiles, `scanner` reads text, `containers` hold, `interning` numbers.

Nothing here knows of merges, counts or files.
"""
