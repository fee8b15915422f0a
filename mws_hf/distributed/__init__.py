"""Counting and encoding, the two steps that grow with the corpus, on Spark and Ray by the kernels of one machine.

Nothing is imported here: `mws_hf.distributed.spark` needs ``mws-hf[spark]``, `mws_hf.distributed.ray_data` needs
``mws-hf[ray]``. Workers need `mws_hf` of the same version; ``mws warmup``, run in their image, compiles its kernels.
"""
