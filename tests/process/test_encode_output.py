"""The output of `encode_corpus` and `mws encode` if something goes wrong; hostile manifests.

Modules: commands/encode.py.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from mws_hf import EncodedCorpus, encode_corpus
from mws_hf.atomic import output_lock
from mws_hf.errors import MwSError
from tests.encode_cases import EOS, make_backend, random_merges, rust_ids, save_directory
from tests.examples import examples, thorough
from tests.in_process import mws
from tests.processes import files_of, one_line, start, tree, wait_for
from tests.processes import mws as process

BACKEND = make_backend(random_merges(6, 150))
LINES = [f"абв {k} гдаб ab’c\n" for k in range(300)]
MEGABYTE = "".join(f"{k} абв гдаб ab\n" for k in range(50_000)).encode()
SHARD = 500_000
"""Bytes of a shard where there are to be several."""
BIG = MEGABYTE * 14
"""Over four blocks: with one worker, one is written while the others wait."""
ONE_THREAD = {**os.environ, "MWS_NUM_THREADS": "1"}


@pytest.fixture
def finished(tmp_path):
    """A folder with a finished corpus `out`, the tokenizer `tok`, and the text that was encoded."""
    (tmp_path / "text.txt").write_text("".join(LINES), encoding="utf-8")
    save_directory(BACKEND, tmp_path / "tok")
    encode_corpus(tmp_path / "tok", tmp_path / "text.txt", tmp_path / "out")
    return tmp_path


def encode(home, *arguments, run=mws, **options):
    return run("encode", home / "tok", *arguments, "-o", home / "out", **options)


def error_of(home, *arguments):
    done = encode(home, *arguments)
    assert one_line(done)
    return done.stderr


def files(home):
    (home / "other.txt").write_text("другой\n" * 100, encoding="utf-8")
    (home / "latin1.txt").write_bytes("caf\xe9\n".encode("latin-1"))
    (home / "a.jsonl").write_text('{"words": "абв"}\n', encoding="utf-8")
    (home / "empty.txt").touch()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["other.txt"], "different corpus"),
        (["text.txt", "other.txt"], "a shorter corpus"),
        (["absent.txt"], "no such file"),
        (["absent.txt", "--force"], "no such file"),
        (["text.txt", "absent.txt", "--force"], "no such file"),
        (["a.jsonl"], "which field"),
        (["a.jsonl", "--force"], "--column"),
        (["text.txt", "a.jsonl", "--column", "body", "--force"], "body"),
        (["latin1.txt", "--force"], "latin1.txt:1: the text: byte 3 is not utf-8"),
        (["empty.txt", "--force", "-q"], "no documents"),
        (["text.txt", "--separator", "<no>", "--force"], "not in the vocabulary"),
        (["text.txt", "--document", "page", "--force"], "'line' or a 'file'"),
        (["text.txt", "--shard-size", "0", "--force"], "--shard-size"),
        (["text.txt", "--separator", "none"], r"separator ('<|endoftext|>', now None); give --force"),
        (["text.txt", "--shard-size", "7"], "shard size (67108864, now 7); give --force"),
        (["text.txt", "--document", "file"], "document ('line', now 'file'); give --force"),
    ],
)
def test_a_failed_run_leaves_a_finished_corpus_exactly_as_it_was(finished, arguments, says):
    files(finished)
    before = tree(finished / "out")
    named = [str(finished / a) if a.endswith((".txt", ".jsonl")) else a for a in arguments]
    assert says in error_of(finished, *named)
    assert tree(finished / "out") == before
    assert ".out.lock" not in os.listdir(finished)


def test_another_tokenizer_needs_force_and_replaces_all(finished):
    other = make_backend(random_merges(7))
    save_directory(other, finished / "tok")
    (finished / "out" / "mine.txt").write_text("kept", encoding="utf-8")
    before = tree(finished / "out")
    assert "a different tokenizer or dropout; give --force" in error_of(finished, finished / "text.txt")
    assert tree(finished / "out") == before
    done = encode(finished, finished / "text.txt", "--force", "--shard-size", 4000)
    assert done.returncode == 0, done.stderr
    corpus = EncodedCorpus.open(finished / "out")
    assert [row[:-1] for row in map(list, corpus)] == rust_ids(other, LINES)
    fresh = encode_corpus(finished / "tok", finished / "text.txt", finished / "fresh", shard_size=4000)
    kept = {name: content for name, (content, *_) in tree(finished / "out").items()}
    assert kept.pop("mine.txt") == b"kept"
    assert kept == {name: content for name, (content, *_) in tree(fresh.directory).items()}
    assert not (finished / "out" / ".replacement").exists()


@thorough
def test_an_error_late_in_a_replacement_keeps_the_old_corpus(finished):
    before = tree(finished / "out")

    def damaged():
        yield from LINES
        yield "\ud800"

    options = {"shard_size": 1, "force": True}
    for resume in (True, False):
        with pytest.raises(MwSError, match="lone surrogate"):
            encode_corpus(BACKEND, damaged(), finished / "out", separator=EOS, resume=resume, **options)
        assert {name: tree(finished / "out")[name] for name in before} == before
    assert list(map(list, EncodedCorpus.open(finished / "out")))


def test_the_finished_corpus_itself_is_only_compared(finished):
    before = tree(finished / "out")
    assert encode(finished, finished / "text.txt").returncode == 0
    assert tree(finished / "out") == before
    (finished / "out" / "state.json").unlink()  # as version 0.1 wrote it
    assert encode(finished, finished / "text.txt").returncode == 0
    assert {name: row[0] for name, row in tree(finished / "out").items()} == {n: row[0] for n, row in before.items()}


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_truncated_and_missing_shards(finished, damage):
    shard = finished / "out" / "shard-00000.arrow"
    whole = shard.read_bytes()
    shard.write_bytes(whole[: len(whole) // 2]) if damage == "cut" else shard.unlink()
    says = f"shard-00000.arrow: {'is truncated' if damage == 'cut' else 'is missing'}"
    with pytest.raises(MwSError, match=says):
        EncodedCorpus.open(finished / "out")
    assert says in (error := error_of(finished, finished / "text.txt")) and "--force" in error
    assert encode(finished, finished / "text.txt", "--force").returncode == 0
    assert shard.read_bytes() == whole


def test_a_shard_that_a_crash_truncated_is_encoded_again(tmp_path):
    options = {"separator": EOS, "shard_size": 5000}
    encode_corpus(BACKEND, iter(LINES * 10), tmp_path / "whole", **options)
    encode_corpus(BACKEND, iter(LINES * 10), tmp_path / "out", **options)
    manifest = json.loads((tmp_path / "out" / "corpus.json").read_text(encoding="utf-8"))
    assert len(manifest["shards"]) > 3
    (tmp_path / "out" / "corpus.json").write_text(json.dumps({**manifest, "complete": False}), encoding="utf-8")
    os.truncate(tmp_path / "out" / "shard-00001.arrow", 100)
    first = (tmp_path / "out" / "shard-00000.arrow").stat().st_mtime_ns
    encode_corpus(BACKEND, iter(LINES * 10), tmp_path / "out", **options)
    assert {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()} == {
        p.name: p.read_bytes() for p in (tmp_path / "whole").iterdir()
    }
    assert (tmp_path / "out" / "shard-00000.arrow").stat().st_mtime_ns == first


HOSTILE = [
    {"file": "../victim.txt"},
    {"file": "/etc/hostname"},
    {"file": "victim.txt"},
    {"file": "shard-00000.arrow\n"},
    {"file": "shard-٠٠٠٠٠.arrow"},
    {"file": "shard-00001.arrow"},
    {"file": "sub/../shard-00000.arrow"},
    {"file": 3},
    {"file": None},
    {"tokens": -1},
    {"tokens": "many"},
    {"tokens": 1.5},
    {"tokens": 10**30},
    {"documents": 10**15},
    {"ids_at": True},
    {"ids_at": -8},
    {"checksum": None},
    {"more": 1},
]
WHOLE = [
    *({"dtype": value} for value in ("O", "float64", None, ["uint16"])),
    *({"shards": value} for value in (None, {}, "shard", [None], [[]])),
    *({key: ["x"]} for key in ("complete", "tokenizer", "separator", "separator_id", "document", "shard_size")),
    *({"format": value} for value in ("1", None, 7, [])),
]


def rewritten(directory, change, shard):
    path = directory / "corpus.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    (manifest["shards"][0] if shard else manifest).update(change)
    path.write_text(json.dumps(manifest), encoding="utf-8")


@pytest.mark.parametrize(("change", "shard"), [(c, True) for c in HOSTILE] + [(c, False) for c in WHOLE])
def test_a_hostile_manifest_is_one_error_and_touches_nothing(finished, change, shard):
    for place in (finished / "victim.txt", finished / "out" / "victim.txt"):
        place.write_bytes(bytes(100_000))
    rewritten(finished / "out", change, shard)
    before = tree(finished)
    with pytest.raises(MwSError):
        EncodedCorpus.open(finished / "out")
    big = any(isinstance(value, int) and value > 10**9 for value in change.values()) and "format" not in change
    for options in ({}, {"resume": False}, {"force": True, "resume": False}):
        if big and options:
            continue  # this manifest is well-formed, so the corpus may be replaced
        with pytest.raises(MwSError):
            encode_corpus(BACKEND, finished / "text.txt", finished / "out", separator=EOS, **options)
    assert tree(finished) == before


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@examples(150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_json_in_a_manifest_opens_or_is_one_error(finished, data):
    out = finished / "out"
    original = (out / "corpus.json").read_bytes()
    manifest = json.loads(original)
    place = data.draw(st.sampled_from([manifest, manifest["shards"][0]]))
    place[data.draw(st.sampled_from(sorted(place)))] = data.draw(JSON)
    content = json.dumps(data.draw(st.just(manifest) | JSON))
    try:
        (out / "corpus.json").write_text(content, encoding="utf-8")
        try:
            len(EncodedCorpus.open(out))
        except MwSError:
            pass
    finally:
        (out / "corpus.json").write_bytes(original)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 200_000, b"null", b"1" * 10_000])
def test_a_damaged_manifest_is_one_error(finished, content):
    (finished / "out" / "corpus.json").write_bytes(content)
    before = tree(finished)
    for arguments in ([], ["--force"]):
        assert "corpus.json" in error_of(finished, finished / "text.txt", *arguments)
    assert tree(finished) == before


def test_links_out_of_the_folder_are_not_followed(finished):
    shard = finished / "out" / "shard-00000.arrow"
    shard.rename(finished / "elsewhere")
    content = (finished / "elsewhere").read_bytes()
    shard.symlink_to(finished / "elsewhere")
    with pytest.raises(MwSError, match="a file outside of the corpus"):
        EncodedCorpus.open(finished / "out")
    assert encode(finished, finished / "text.txt", "--force").returncode == 0
    assert not shard.is_symlink() and shard.read_bytes() == content == (finished / "elsewhere").read_bytes()
    (finished / "precious").mkdir()
    (finished / "precious" / "shard-00000.arrow").write_text("precious")
    (finished / "out" / ".replacement").symlink_to(finished / "precious")
    assert ".replacement" in error_of(finished, finished / "text.txt", "--force")
    assert (finished / "precious" / "shard-00000.arrow").read_text() == "precious"


def test_a_corpus_of_links_as_in_the_hubs_cache_is_read(finished):
    shutil.copytree(finished / "out", finished / "blobs")
    (finished / "snapshot").mkdir()
    for path in (finished / "blobs").iterdir():
        (finished / "snapshot" / path.name).symlink_to(path)
    linked, plain = (EncodedCorpus.open(finished / name) for name in ("snapshot", "out"))
    assert list(map(list, linked)) == list(map(list, plain))


def first_shard(home):
    return lambda: (home / "out" / "corpus.json").exists() and '"file"' in (home / "out" / "corpus.json").read_text()


def fed(home):
    """Start `mws encode` on standard input; it has written a shard and waits for more text."""
    running = start("encode", home / "tok", "-", "-o", home / "out", "--shard-size", SHARD, env=ONE_THREAD)
    running.stdin.write(BIG)
    running.stdin.flush()
    wait_for(first_shard(home), running)
    return running


def whole_and_interrupted(home):
    """Write the text to a file and encode it without interruption; return the files of that corpus and of `out`."""
    (home / "big.txt").write_bytes(BIG)
    encode_corpus(home / "tok", home / "big.txt", home / "undisturbed", shard_size=SHARD)
    return [{n: row[0] for n, row in tree(home / name).items()} for name in ("undisturbed", "out")]


def test_kill_9_in_the_middle_and_the_same_command_again(tmp_path):
    save_directory(BACKEND, tmp_path / "tok")
    for _ in range(2):
        killed = fed(tmp_path)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        (tmp_path / "out" / ".shard-00001.arrow.deadbeef.tmp").write_bytes(b"half")
    with pytest.raises(MwSError, match="interrupted"):
        EncodedCorpus.open(tmp_path / "out")
    (tmp_path / "big.txt").write_bytes(BIG)
    done = encode(tmp_path, tmp_path / "big.txt", "--shard-size", SHARD)
    assert done.returncode == 0, done.stderr
    undisturbed, resumed = whole_and_interrupted(tmp_path)
    assert resumed == undisturbed
    assert ".out.lock" not in os.listdir(tmp_path)


def test_a_run_that_was_killed_at_its_end_leaves_nothing_behind(finished):
    before, manifest = tree(finished / "out"), finished / "out" / "corpus.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"complete": False}))
    (finished / "out" / "state.json").unlink()
    (finished / "out" / ".state.json.deadbeef.tmp").write_text("{")
    assert encode(finished, finished / "text.txt").returncode == 0
    after = tree(finished / "out")
    assert {name: row[0] for name, row in after.items()} == {name: row[0] for name, row in before.items()}


def test_kill_9_in_a_replacement_keeps_the_old_corpus(finished):
    before = tree(finished / "out")
    running = start(
        "encode", finished / "tok", "-", "-o", finished / "out", "--shard-size", SHARD, "--force", env=ONE_THREAD
    )
    running.stdin.write(BIG)
    running.stdin.flush()
    wait_for((finished / "out" / ".replacement" / "shard-00000.arrow").exists, running)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    assert {name: tree(finished / "out")[name] for name in before} == before
    EncodedCorpus.open(finished / "out")
    (finished / "big.txt").write_bytes(BIG)
    assert encode(finished, finished / "big.txt", "--shard-size", SHARD, "--force").returncode == 0
    undisturbed, replaced = whole_and_interrupted(finished)
    assert replaced == undisturbed


@pytest.mark.parametrize("prefix", ["", "абв "], ids=["the second shard", "the first shard"])
def test_force_encodes_an_unfinished_corpus_of_another_text_again_from_the_first_other_shard(prefix, tmp_path):
    save_directory(BACKEND, tmp_path / "tok")
    killed = fed(tmp_path)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    (tmp_path / "other.txt").write_bytes(prefix.encode() + MEGABYTE[:600_000] + b"other text\n" * 100_000)
    arguments = (tmp_path / "other.txt", "--shard-size", SHARD)
    assert "from a different corpus, field or column; choose another output, or give --force" in error_of(
        tmp_path, *arguments
    )
    assert encode(tmp_path, *arguments, "--force").returncode == 0
    encode_corpus(tmp_path / "tok", tmp_path / "other.txt", tmp_path / "undisturbed", shard_size=SHARD)
    undisturbed, again = ({n: row[0] for n, row in tree(tmp_path / n).items()} for n in ("undisturbed", "out"))
    assert again == undisturbed


@pytest.mark.skipif(signal.getsignal(signal.SIGINT) is signal.SIG_IGN, reason="Ctrl-C is ignored here, as under nohup")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_after_ctrl_c_or_sigterm_the_message_is_to_run_the_command_again(tmp_path, number, code):
    save_directory(BACKEND, tmp_path / "tok")
    running = fed(tmp_path)
    running.send_signal(number)
    output, errors = running.communicate(timeout=60)
    assert (running.returncode, output) == (code, b"")
    assert (
        b"run the same command again to resume" in errors and b"Traceback" not in errors and b"\n" not in errors.strip()
    )
    assert sorted(os.listdir(tmp_path)) == ["out", "tok"]


def test_a_second_run_into_the_same_directory_is_rejected_at_once(tmp_path):
    save_directory(BACKEND, tmp_path / "tok")
    (tmp_path / "text.txt").write_text("".join(LINES), encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "out")
    running = fed(tmp_path)
    before = tree(tmp_path / "out")
    for name, more in (("out", []), ("link", ["--force"])):
        second = mws("encode", tmp_path / "tok", tmp_path / "text.txt", "-o", tmp_path / name, *more)
        assert one_line(second) and "another run is writing there" in second.stderr
    assert "another run" in error_of(tmp_path, tmp_path / "text.txt", "--force")
    assert tree(tmp_path / "out") == before
    running.communicate(timeout=60)
    assert running.returncode == 0
    undisturbed, out = whole_and_interrupted(tmp_path)
    assert out == undisturbed


def test_a_full_disk_is_reported_in_one_line_and_the_run_can_be_resumed(finished):
    (finished / "big.txt").write_bytes(MEGABYTE)
    before = tree(finished / "out")
    done = encode(finished, finished / "big.txt", "--force", run=process, preexec_fn=files_of(30_000))
    assert one_line(done) and "cannot be written" in done.stderr and "File too large" in done.stderr, done.stderr
    assert {name: tree(finished / "out")[name] for name in before} == before
    arguments = ("encode", finished / "tok", finished / "big.txt", "-o", finished / "new")
    done = process(*arguments, preexec_fn=files_of(30_000))
    assert one_line(done) and "File too large" in done.stderr
    assert [path.name for path in (finished / "new").iterdir()] == ["corpus.json"]
    with pytest.raises(MwSError, match="interrupted"):
        EncodedCorpus.open(finished / "new")
    assert mws(*arguments).returncode == 0


def test_the_lock_of_a_library_call_is_the_same(finished):
    with output_lock(finished / "out"):
        done = encode(finished, finished / "text.txt", run=process)
        with ThreadPoolExecutor() as pool, pytest.raises(MwSError, match="another run"):
            pool.submit(encode_corpus, BACKEND, iter(LINES), finished / "out").result()
    assert one_line(done) and "another run" in done.stderr
