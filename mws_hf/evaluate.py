"""Former package `mws_hf.evaluate`: its modules are in `mws_hf.scoring`."""

from mws_hf.former_package import stand_in
from mws_hf.scoring.evaluation import evaluate

stand_in(__name__, evaluate, "mws_hf.scoring", {"ngram_bits": "ngram_model"})
