"""The number of threads: argument, environment, affinity, cgroup quota; memory does not grow with it.

Modules: kernels/threads.py.
"""

import os
import sys

import pytest

from mws_hf.errors import MwSError
from mws_hf.kernels.threads import available_processors, cgroup_quota, thread_count
from tests.examples import thorough
from tests.processes import python


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in ("MWS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)


def test_the_argument_has_priority_over_the_environment_and_that_over_the_machine(monkeypatch):
    assert thread_count() == available_processors()
    monkeypatch.setenv("OMP_NUM_THREADS", "5,2")
    assert thread_count() == 5
    monkeypatch.setenv("MWS_NUM_THREADS", "7")
    assert thread_count() == 7
    assert thread_count(3) == 3


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5"])
def test_an_impossible_number_is_named(monkeypatch, value):
    monkeypatch.setenv("MWS_NUM_THREADS", value)
    with pytest.raises(MwSError, match="MWS_NUM_THREADS"):
        thread_count()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux alone lets a process choose its processors")
def test_a_process_bound_to_one_processor_uses_one():
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    code += "from mws_hf.kernels.threads import available_processors; print(available_processors())"
    assert python(code, check=True).stdout == "1\n"


@pytest.mark.parametrize(
    ("files", "memberships", "quota"),
    [
        ({"cpu.max": "150000 100000\n"}, "0::/\n", 1.5),
        ({"jobs/cpu.max": "max 100000\n", "cpu.max": "400000 100000"}, "0::/jobs/one\n", 4.0),
        ({"jobs/one/cpu.max": "50000 100000", "jobs/cpu.max": "300000 100000"}, "0::/jobs/one\n", 0.5),
        ({"cpu.max": "nonsense"}, "0::/\n", None),
        ({}, "0::/../..\n", None),
    ],
)  # fmt: skip
def test_quotas_of_control_groups(tmp_path, files, memberships, quota):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert cgroup_quota(tmp_path, memberships) == quota


LEARN = """
from mws_hf import MwSTrainer, WordCounts
from mws_hf.text.pattern import DEFAULT_PATTERN
from tests.agglutinative import make_language
words = dict.fromkeys((" " + word for word in make_language(n_stems=3000)), 1)
MwSTrainer(vocab_size=1000, show_progress=False).learn(WordCounts.from_mapping(words, pattern=DEFAULT_PATTERN))
with open("/proc/self/status") as status:
    print(next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) >> 10)
"""


@thorough
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_the_number_of_threads():
    peaks = []
    for threads in ("2", "2", "32"):  # the first run may have to compile
        peaks.append(int(python(LEARN, adding={"MWS_NUM_THREADS": threads}, check=True).stdout))
    # in MB; separate counts for each thread would take 24 bytes per entry, which is 150 MB here
    assert peaks[2] < peaks[1] + 80
