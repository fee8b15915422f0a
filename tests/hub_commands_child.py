"""What `test_hub.py` runs with HF_ENDPOINT set before huggingface_hub is imported: a command a line of stdin."""

import json
import sys

from mws_hf.tokenizer.opened import open_tokenizer
from tests.in_process import mws


def main() -> None:
    assert open_tokenizer("user/small").name == "user/small"
    for line in sys.stdin:
        done = mws(*json.loads(line))
        print(json.dumps(done))


if __name__ == "__main__":
    main()
