"""bulk.py, corpus.py, blocks.py and `mws encode`: the files of an encoded corpus."""

from __future__ import annotations

import contextlib
import json
import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mws_hf import EncodedCorpus, encode_corpus
from mws_hf.corpus.blocks import PADDING, block_of, line_offsets
from mws_hf.encode import bulk
from mws_hf.encode.bulk import checksum
from mws_hf.encode.corpus import MANIFEST
from mws_hf.errors import MwSError
from tests.encode_cases import EOS, TRICKY, make_backend, random_merges, rust_ids, save_directory
from tests.examples import examples
from tests.in_process import mws


@pytest.fixture(scope="module")
def backend():
    return make_backend(random_merges(6, 150))


@pytest.fixture(autouse=True)
def kernels(monkeypatch):
    """Encode even short texts with the kernels, so that the ids without kernels can be compared with these."""
    monkeypatch.setattr(bulk, "MAX_BYTES_WITHOUT_KERNELS", -1)


@pytest.mark.parametrize("separator", ["eos", None])
def test_a_short_text_is_encoded_without_kernels_to_the_same_files(backend, tmp_path, monkeypatch, separator):
    directory, path = save_directory(backend, tmp_path / "tok"), tmp_path / "text.txt"
    path.write_bytes("\n".join([*TRICKY, f"а{EOS}б", *LINES]).replace("\0", "").encode())
    encode_corpus(directory, path, tmp_path / "kernels", separator=separator)
    monkeypatch.setattr(bulk, "MAX_BYTES_WITHOUT_KERNELS", path.stat().st_size)
    encode_corpus(directory, path, tmp_path / "little", separator=separator)
    files = sorted(file.name for file in (tmp_path / "kernels").iterdir())
    assert files == sorted(file.name for file in (tmp_path / "little").iterdir())
    for name in files:
        assert (tmp_path / "kernels" / name).read_bytes() == (tmp_path / "little" / name).read_bytes(), name


@pytest.mark.parametrize("most", [-1, 1 << 20], ids=["kernels", "little"])
def test_text_that_is_not_utf8_gets_one_message(backend, tmp_path, monkeypatch, most):
    monkeypatch.setattr(bulk, "MAX_BYTES_WITHOUT_KERNELS", most)
    (tmp_path / "text.txt").write_bytes(b"one\ntwo \xff\n")
    with pytest.raises(MwSError, match=r"text\.txt:2: the text"):
        encode_corpus(backend, tmp_path / "text.txt", tmp_path / "out", separator=EOS)
    assert not (tmp_path / "out").exists()


LINES = [f"абв {k} гдаб ab’c {'ё' * (k % 5)}." + ("\n", "\r\n")[k % 7 == 0] for k in range(500)] + ["последняя"]


@pytest.fixture
def corpus_file(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes("".join(LINES).encode())
    return path


def expected_rows(backend, documents):
    return [ids + [backend.token_to_id(EOS)] for ids in rust_ids(backend, documents)]


def rows(corpus):
    return [corpus[k].tolist() for k in range(len(corpus))]


def test_lines_of_a_file(backend, corpus_file, tmp_path):
    directory = save_directory(backend, tmp_path / "tok")
    corpus = encode_corpus(directory, corpus_file, tmp_path / "out", shard_size=3000)
    assert rows(corpus) == expected_rows(backend, LINES)
    assert corpus.n_bytes == corpus_file.stat().st_size
    assert corpus.n_tokens == sum(map(len, rows(corpus)))
    assert [corpus.document_bytes(k) for k in (0, -1)] == [len(LINES[0].encode()), len("последняя".encode())]
    text = "".join(
        backend.decode(ids.tolist(), skip_special_tokens=True) for ids in map(corpus.__getitem__, range(501))
    )
    assert text == "".join(LINES)
    with pytest.raises(IndexError):
        corpus[501]


@pytest.mark.parametrize("separator", ["eos", "а", None])
def test_datasets_reads_the_same_rows(backend, corpus_file, tmp_path, separator):
    datasets = pytest.importorskip("datasets")
    corpus = encode_corpus(save_directory(backend, tmp_path / "t"), corpus_file, tmp_path / "out", separator=separator)
    loaded = datasets.load_from_disk(str(tmp_path / "out"))
    assert loaded["input_ids"][:] == rows(corpus)
    assert sum(loaded["n_bytes"][:]) == corpus.n_bytes
    tail = [] if separator is None else [backend.token_to_id(EOS if separator == "eos" else separator)]
    assert loaded[3]["input_ids"] == rust_ids(backend, [LINES[3]])[0] + tail
    assert loaded.shuffle(seed=0).select(range(5)).num_rows == 5


def test_datasets_maps_a_replaced_corpus_again(backend, tmp_path):
    """`datasets` caches results of `map` next to the corpus, by its fingerprint, which depends on every shard."""
    datasets = pytest.importorskip("datasets")
    for first in ("чита", "читатель и ещё слово"):
        encode_corpus(backend, [[first, *LINES]], tmp_path / "out", separator=EOS, shard_size=2000, force=True)
        loaded = datasets.load_from_disk(str(tmp_path / "out"))
        mapped = loaded.map(lambda row: {"length": len(row["input_ids"])})
        assert list(mapped["length"]) == list(map(len, loaded["input_ids"]))


def directory_bytes(path):
    return {file.name: file.read_bytes() for file in sorted(path.iterdir())}


def test_output_does_not_depend_on_workers(backend, corpus_file, tmp_path):
    for workers in (1, 3):
        encode_corpus(backend, corpus_file, tmp_path / f"{workers}", separator=EOS, workers=workers, shard_size=2000)
    one, three = directory_bytes(tmp_path / "1"), directory_bytes(tmp_path / "3")
    assert one == three
    assert len(one) > 6


def test_tokenizers_off_the_fast_path_write_the_same_format(tmp_path):
    other = make_backend(random_merges(6, 150), pattern=r"\s+|\S+")
    corpus = encode_corpus(other, iter(LINES), tmp_path / "out", separator=EOS)
    assert corpus.manifest["fast_path"] is False
    assert rows(corpus) == expected_rows(other, LINES)


def test_user_errors_name_the_problem_and_its_position(backend, tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_text("аб\n", encoding="utf-8")
    with pytest.raises(MwSError, match="separator=0 is not a token; give its text, not its id"):
        encode_corpus(backend, bad, tmp_path / "3", separator=0)
    with pytest.raises(MwSError, match="no end-of-sequence"):
        encode_corpus(backend, bad, tmp_path / "3")
    with pytest.raises(MwSError, match="is not an encoded corpus"):
        EncodedCorpus.open(tmp_path)
    (tmp_path / "6").mkdir()
    (tmp_path / "6" / "data.arrow").touch()
    with pytest.raises(MwSError, match="choose another output"):
        encode_corpus(backend, bad, tmp_path / "6", separator=EOS)


def test_stream_access_and_blocks(backend, corpus_file, tmp_path):
    torch = pytest.importorskip("torch")
    from mws_hf import BlockDataset

    corpus = encode_corpus(backend, corpus_file, tmp_path / "out", separator=EOS, shard_size=2000)
    stream = np.concatenate(corpus.ids)
    assert len(corpus.ids) > 3
    end = len(stream)
    for start, stop in [(0, 0), (0, end), (5, 900), (end - 3, end), (700, 700), (end, end), np.array([3, 9], "uint8")]:
        assert corpus.tokens(start, stop).tolist() == stream[start:stop].tolist()
    with pytest.raises(IndexError):
        corpus.tokens(0, len(stream) + 1)
    blocks = BlockDataset(pickle.loads(pickle.dumps(corpus)), 64)
    with contextlib.chdir(corpus.directory.parent):
        relative = EncodedCorpus.open(corpus.directory.name)
    assert rows(pickle.loads(pickle.dumps(relative))) == rows(corpus)
    assert repr(relative) == f"<EncodedCorpus of {len(corpus):,} documents, {len(stream):,} tokens, in 'out'>"
    assert list(map(list, corpus[-2:])) == rows(corpus)[-2:] and corpus[:0] == []
    with pytest.raises(TypeError, match="integer"):
        corpus[[0]]
    assert isinstance(blocks, torch.utils.data.Dataset)
    assert len(blocks) == len(stream) // 64
    assert torch.equal(blocks[-1]["labels"], torch.from_numpy(stream.astype(np.int64))[: len(blocks) * 64][-64:])
    batches = list(torch.utils.data.DataLoader(blocks, batch_size=4, num_workers=2))
    assert batches[0]["input_ids"].shape == (4, 64)
    with pytest.raises(MwSError, match="fewer than one block"):
        BlockDataset(corpus, len(stream) + 1)
    with pytest.raises(MwSError, match="block_size='64' must be a whole number"):
        BlockDataset(corpus, "64")
    with pytest.raises(MwSError, match="is not an EncodedCorpus"):
        BlockDataset(str(corpus.directory), 64)


def test_a_corpus_without_ids_has_an_empty_range(backend, tmp_path):
    corpus = encode_corpus(backend, iter(["", ""]), tmp_path / "out", separator=None)
    assert len(corpus) == 2 and corpus.n_tokens == 0 and corpus.tokens(0, 0).dtype == corpus[1].dtype


def test_a_pickled_corpus_does_not_become_the_one_that_replaced_it(backend, tmp_path):
    """An example is a worker of a DataLoader, whose process opens the corpus again."""
    pickled = pickle.dumps(encode_corpus(backend, LINES, tmp_path / "out", separator=EOS))
    assert rows(pickle.loads(pickled)) == expected_rows(backend, LINES)
    encode_corpus(backend, LINES[::-1], tmp_path / "out", separator=EOS, force=True)
    with pytest.raises(MwSError, match="replaced by another corpus"):
        pickle.loads(pickled)


@examples(100)
@given(st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"\x0b", "я".encode(), b"12345678"]), max_size=60))
def test_line_offsets(pieces):
    data = b"".join(pieces)
    offsets = line_offsets(bytearray(data + b"\n" * PADDING), len(data)).tolist()
    lines = [data[a:b] for a, b in pairwise(offsets)]
    assert lines == [line for line in data.split(b"\n") for line in [line + b"\n"]][:-1] + (
        [data.rsplit(b"\n", 1)[-1]] if data and not data.endswith(b"\n") else []
    )


def test_checksum_sees_text_and_boundaries():
    variants = [[b"ab", b"c"], [b"a", b"bc"], [b"abc"], [b"ab", b"d"], [b"ab", b"c", b""], [b"c", b"ab"]]
    assert len({checksum(block_of(documents, str)) for documents in variants}) == len(variants)
    block = block_of([b"12345678", b"123"], str)
    assert checksum(block) == checksum(replace(block, buffer=block.buffer[:11] + b"\xff" * 45))


@pytest.mark.parametrize("complete", [True, False])
def test_a_corpus_of_an_earlier_version_is_read_and_not_compared(backend, corpus_file, tmp_path, complete):
    first = encode_corpus(backend, corpus_file, tmp_path / "ids", separator=None)
    manifest = json.loads((tmp_path / "ids" / MANIFEST).read_text(encoding="utf-8"))
    manifest["complete"] = complete
    for shard in manifest["shards"]:
        shard["checksum"] *= 2  # 16 digits, as in earlier versions
    (tmp_path / "ids" / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    if complete:
        assert EncodedCorpus.open(tmp_path / "ids").n_tokens == first.n_tokens
    with pytest.raises(MwSError, match="has the checksum of an earlier mws_hf.*; .*choose another output"):
        encode_corpus(backend, corpus_file, tmp_path / "ids", separator=None)
    again = encode_corpus(backend, corpus_file, tmp_path / "ids", separator=None, resume=False, force=True)
    assert again.n_tokens == first.n_tokens


def test_command(backend, corpus_file, tmp_path):
    tokenizer = str(save_directory(backend, tmp_path / "tok"))
    arguments = ["encode", tokenizer, str(corpus_file), "--output", str(tmp_path / "out")]
    result = mws(*arguments, "--json", "--quiet", "--separator", "none")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert (report["documents"], report["dtype"], report["fast_path"]) == (501, "uint16", True)
    assert rows(EncodedCorpus.open(tmp_path / "out")) == rust_ids(backend, LINES)
    again = mws(*arguments, "--force")
    assert "501 documents" in again.stdout
    corpus_file.write_bytes("".join(LINES).replace("’", "'").replace("ё", "е").encode("cp1251"))
    options = ["--force", "--encoding", "cp1251", "--quiet", "--json"]
    assert json.loads(mws(*arguments, *options).stdout)["documents"] == 501
    assert "б" in backend.decode(EncodedCorpus.open(tmp_path / "out")[0].tolist())
    assert mws(*arguments, "--force", "--errors", "replace").returncode == 0
    missing = mws("encode", tokenizer, "absent/", "-o", tmp_path / "out2").stderr
    assert missing == "error: absent/: no such file, because there is no folder absent; check the path\n"
