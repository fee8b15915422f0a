"""Former package `mws_hf.extend`: its modules are in `mws_hf.surgery`."""

from mws_hf.former_package import stand_in
from mws_hf.surgery.extension import extend

stand_in(__name__, extend, "mws_hf.surgery")
