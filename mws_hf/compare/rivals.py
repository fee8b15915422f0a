"""Former module `mws_hf.compare.rivals`: its names are in `mws_hf.compare.baselines`, some of them changed."""

import warnings

from mws_hf.compare.baselines import BASELINE_SYSTEMS as RIVALS
from mws_hf.compare.baselines import Baseline as System
from mws_hf.compare.baselines import TrainedBaseline as Rival
from mws_hf.compare.baselines import saved, train

__all__ = ["RIVALS", "Rival", "System", "saved", "train"]

warnings.warn(
    "mws_hf.compare.rivals is called mws_hf.compare.baselines, with BASELINE_SYSTEMS, Baseline and TrainedBaseline "
    "instead of RIVALS, System and Rival",
    DeprecationWarning,
    stacklevel=2,
)
