"""The experiments, one module per topic; `lab.cells` describes the contents of such a module."""
