"""The experiments, a module each; `lab.cells` says what such a module holds."""
