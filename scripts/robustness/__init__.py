"""The parts of scripts/robustness.py: noise, made-up languages, training and scoring, cost, the page of results."""
