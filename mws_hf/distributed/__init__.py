"""Counting and encoding on Spark and Ray: the two steps that grow with the corpus, by the same kernels as on one machine.

Nothing is imported here: `mws_hf.distributed.spark` needs ``mws-hf[spark]``, `mws_hf.distributed.ray_data` needs
``mws-hf[ray]``. Workers need `mws_hf` of the same version installed (``mws warmup`` in their image compiles its kernels).
"""
