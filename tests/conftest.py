"""What pytest must not collect by itself."""

collect_ignore = ["transformers_mixin_cases.py"]  # run by test_transformers_mixin.py in a process of its own
