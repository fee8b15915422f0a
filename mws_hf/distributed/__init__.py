"""Counting and encoding, the two steps that grow with the corpus, on a cluster by the kernels of one machine.

Nothing is imported here: `mws_hf.distributed.spark` needs pyspark; ``docs/terabyte.md`` has an example for
Ray. Workers need `mws_hf` of the same version; ``mws warmup``, run in their image, compiles its kernels.
"""
