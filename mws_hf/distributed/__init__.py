"""Counting and encoding on a cluster, by the kernels of one machine; `spark` needs pyspark, `partitions` no engine."""
