"""The parts that compiled loops share: compilation itself, the scanner of text, the only hash tables and heap.

`jit` compiles; `instructions` are processor instructions; `arrays` names the types of arrays; `scanner` and `windows`
read text; `tables` has the hash tables, `interning` numbers pairs and words, `heap` is the priority queue. Nothing here
knows of merges, counts or files.
"""
