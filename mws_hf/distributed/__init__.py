"""Count and encode text on a cluster: `partitions` works with any engine, and `spark` is for Apache Spark."""
