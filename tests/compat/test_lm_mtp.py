"""Multi-token prediction: losses by hand, both forms save and load, and drafting never changes greedy output."""

# ruff: noqa: E402  (without torch the tests are skipped before anything that needs it is imported)

import pytest

torch = pytest.importorskip("torch")

from lm.config import MultiToken
from lm.data import IGNORED
from lm.evaluation import (
    draft_tokens,
    evaluate_run,
    generate,
    greedy,
    held_out_acceptance,
    open_run,
    prompt_ids,
    speculative,
)
from lm.model import MultiTokenConfig, MultiTokenModel
from lm.training import pretrain
from transformers import LlamaConfig, LlamaForCausalLM

from mws_hf.errors import MwSError
from tests.small_language import sentences, small_run, tokenizer_dir, write_corpus

FORMS = ("parallel", "sequential")


def stock(size=50):
    torch.manual_seed(1)
    options = {"vocab_size": size, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2}
    return LlamaForCausalLM(LlamaConfig(**options, num_attention_heads=2, tie_word_embeddings=True)).eval()


@pytest.mark.parametrize("form", FORMS)
def test_the_loss_is_main_plus_weighted_mean_of_the_heads(form):
    model = MultiTokenModel.around(stock(), form, horizon=3, extra_weight=0.5).eval()
    ids = torch.randint(0, 50, (2, 9))
    labels = ids.clone()
    labels[:, 0] = labels[1, 6:] = IGNORED
    with torch.no_grad():
        by_horizon = []
        for horizon in (1, 2, 3):
            model.active_horizon = horizon
            by_horizon.append(float(model(input_ids=ids, labels=labels).loss))
        plain = float(model.lm(input_ids=ids, labels=labels).loss)
        hidden, _ = model.trunk(ids)
        second = model.step(0, hidden[:, :8], ids[:, 1:])
        log_p = model.logits(second).log_softmax(-1)
        wanted = [(row, place) for row in range(2) for place in range(7) if labels[row, place + 2] != IGNORED]
        nats = -sum(float(log_p[row, place, labels[row, place + 2]]) for row, place in wanted)
    assert by_horizon[0] == pytest.approx(plain, rel=1e-5)
    assert by_horizon[1] == pytest.approx(plain + 0.5 * nats / int((labels[:, 1:] != IGNORED).sum()), rel=1e-5)
    assert by_horizon[2] != pytest.approx(by_horizon[1], rel=1e-6)


def test_parallel_heads_read_what_the_last_layer_reads():
    model = MultiTokenModel.around(stock(), "parallel", horizon=2).eval()
    model.heads[0].load_state_dict(model.lm.model.layers[-1].state_dict())
    ids = torch.randint(0, 50, (1, 7))
    with torch.no_grad():
        hidden, _ = model.trunk(ids)
        assert torch.allclose(model.logits(model.step(0, hidden, ids)), model.lm(input_ids=ids).logits, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_no_head_sees_what_it_predicts(form):
    model = MultiTokenModel.around(stock(), form, horizon=3).eval()
    ids = torch.randint(0, 50, (1, 10))
    changed = ids.clone()
    changed[0, 6] = (changed[0, 6] + 1) % 50
    with torch.no_grad():
        for before, after in zip(_heads(model, ids), _heads(model, changed), strict=True):
            head, states = before
            # position i of head h predicts token i + h + 2 and may see tokens up to i + h + 1
            assert torch.allclose(states[:, : 6 - head - 1], after[1][:, : 6 - head - 1], atol=1e-5)


def _heads(model, ids):
    hidden, _ = model.trunk(ids)
    for head in range(2):
        states = model.step(head, hidden[:, : 10 - head - 1], ids[:, head + 1 :])
        yield head, states
        hidden = hidden if model.config.form == "parallel" else states


@pytest.mark.parametrize("form", FORMS)
def test_saves_and_loads(form, tmp_path):
    model = MultiTokenModel.around(stock(), form, horizon=3).eval()
    model.save_pretrained(tmp_path)
    again = MultiTokenModel.from_pretrained(tmp_path).eval()
    assert again.config.form == form and len(again.heads) == 2
    assert again.lm.lm_head.weight is again.lm.model.embed_tokens.weight
    ids = torch.randint(0, 50, (2, 8))
    with torch.no_grad():
        assert torch.equal(model(input_ids=ids, labels=ids).loss, again(input_ids=ids, labels=ids).loss)
    assert {name for name, _ in model.named_parameters()} == {name for name, _ in again.named_parameters()}


@pytest.mark.parametrize("form", FORMS)
def test_drafting_does_not_change_greedy_output(form):
    model = MultiTokenModel.around(stock(), form, horizon=4).eval()
    lengths = torch.ones(50, dtype=torch.int64).numpy()
    for seed in range(6):
        prompt = torch.randint(0, 50, (3,), generator=torch.Generator().manual_seed(seed)).tolist()
        for budget in (0, 1, 5, 24):
            plain = greedy(model.lm, prompt, budget, stop=seed)
            drafted, statistics = speculative(model, prompt, budget, seed, lengths)
            assert drafted == plain
            assert statistics.tokens == len(plain) - 3 == statistics.n_bytes


@pytest.fixture(scope="module", params=FORMS)
def trained(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    multi = {"form": request.param, "horizon": 3, "start": 0.1, "full": 0.3}
    tokenizer = tokenizer_dir(folder, "characters")
    pretrain(small_run(tokenizer, write_corpus(folder), train_bytes=40_000, multi_token=multi), folder / "run")
    return folder / "run"


def test_drafting_saves_passes_of_the_model_and_is_reported(trained):
    model, codec = open_run(trained)
    found = []
    for prompt in [sentence[:5] for sentence in sentences(6, seed=5)]:
        start = prompt_ids(codec, prompt)
        text, statistics = generate(model, codec, prompt, 20)
        plain = greedy(model.lm, start, 20, codec.separator)
        assert codec.decode([torch.tensor(plain).numpy()])[0] == text
        assert statistics.tokens == len(plain) - len(start)
        found.append(statistics)
    assert sum(each.steps for each in found) < sum(each.tokens for each in found)
    assert all(each.drafted[0] >= each.drafted[1] > 0 for each in found)
    report = evaluate_run(trained)["held_out_speculation"]
    assert 1 < report["tokens_per_step"] <= 3 and len(report["acceptance"]) == 2
    assert report["drafted_bytes_per_step"] < report["bytes_per_step"]
    assert type(model.lm).__name__ == "LlamaForCausalLM"


def test_acceptance_along_a_text_is_what_drafting_from_each_beginning_finds(trained):
    model, codec = open_run(trained)
    texts, right, steps, n_bytes = sentences(5, seed=3), [0, 0], 0, 0
    with torch.inference_mode():
        for text in texts:
            ids = torch.tensor([prompt_ids(codec, text)])
            said = model(input_ids=ids).logits[0, :, : len(codec.lengths)].argmax(-1).tolist()
            for end in range(1, ids.shape[1] - 1):
                read = ids[:, :end]
                drafts = draft_tokens(model, model.trunk(read)[0], read, int(ids[0, end]), len(codec.lengths))
                steps, n_bytes = steps + 1, n_bytes + int(codec.lengths[ids[0, end]])
                right[0] += drafts[0] == said[end]
                right[1] += drafts == said[end : end + 2]
    found = held_out_acceptance(model, codec, texts, 1000, batch_size=2)
    assert 0 < right[0] < steps == found.steps
    assert found.accepted[0] == right[0] and found.n_bytes - found.drafted_bytes == n_bytes
    # heads of the other form read the text, and not the tokens that were drafted before
    if model.config.form == "parallel":
        assert found.accepted[1] == right[1]
    assert held_out_acceptance(model, codec, ["a"], 40).to_dict()["acceptance"] == [0.0, 0.0]
    in_windows = held_out_acceptance(model, codec, [" ".join(texts)], 40)
    assert in_windows.steps > 10 and len(in_windows.to_dict()["acceptance"]) == 2


def test_the_curriculum_begins_with_one_token_and_ends_with_all():
    horizons = [MultiToken(horizon=4, start=0.2, full=0.8).active(step / 100) for step in range(101)]
    assert horizons[0] == 1 and horizons[-1] == 4 and horizons == sorted(horizons)
    assert set(horizons) == {1, 2, 3, 4}


def test_other_forms_are_rejected():
    with pytest.raises(MwSError, match="parallel"):
        MultiTokenConfig(form="diagonal")
