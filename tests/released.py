"""Tiny released models, made by Transformers with random weights: a BERT, a GPT-2, a Llama."""

from pathlib import Path

import tokenizers
import torch
import transformers

WORDS = "who ran where is the cat sat on mat when did it rain how many".split()  # noqa: SIM905
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def word_pieces() -> tokenizers.Tokenizer:
    """A WordPiece vocabulary as BERT's: letters, some words, BERT's template."""
    letters = "abcdefghijklmnopqrstuvwxyz?."
    entries = [*SPECIALS, *letters, *(f"##{letter}" for letter in letters), *WORDS]
    ids = {entry: number for number, entry in enumerate(entries)}
    library = tokenizers.Tokenizer(tokenizers.models.WordPiece(ids, unk_token="[UNK]"))
    library.normalizer = tokenizers.normalizers.BertNormalizer()
    library.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    library.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, ids[name]) for name in ("[CLS]", "[SEP]")],
    )
    library.add_special_tokens(list(SPECIALS))
    return library


def save_bert(folder: Path, kind: str = "BertModel", **changes) -> transformers.PreTrainedModel:
    """Writes a BERT of 2 layers and its tokenizer as Transformers does; returns the model."""
    library = word_pieces()
    library.enable_truncation(7)  # released files hold such settings, which are not for us
    library.enable_padding(length=7)
    shape = dict(vocab_size=library.get_vocab_size(), hidden_size=32, num_hidden_layers=2)
    shape |= dict(num_attention_heads=4, intermediate_size=48, max_position_embeddings=24)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = getattr(transformers, kind)(transformers.BertConfig(**shape | changes)).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.05)
    model.save_pretrained(folder)
    names = dict(zip(("pad", "unk", "cls", "sep", "mask"), SPECIALS, strict=True))
    transformers.BertTokenizer(
        tokenizer_object=library, **{f"{role}_token": name for role, name in names.items()}
    ).save_pretrained(folder)
    library.save(str(folder / "tokenizer.json"))
    return model


def save_gpt2(folder: Path) -> transformers.PreTrainedModel:
    """Writes a GPT-2 of 2 layers and a byte-level vocabulary without merges; returns the model."""
    ids = {s: n for n, s in enumerate(sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()))}
    library = tokenizers.Tokenizer(tokenizers.models.BPE(ids | {"<|endoftext|>": 256}, []))
    library.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = tokenizers.decoders.ByteLevel()
    library.add_special_tokens(["<|endoftext|>"])
    shape = dict(vocab_size=257, n_positions=40, n_embd=32, n_layer=2, n_head=4)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.GPT2LMHeadModel(
            transformers.GPT2Config(**shape, bos_token_id=256, eos_token_id=256)
        ).eval()
    model.save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=library, eos_token="<|endoftext|>"
    ).save_pretrained(folder)
    return model


def save_llama(folder: Path) -> transformers.PreTrainedModel:
    """Writes a Llama of 2 layers with the tokenizer of `save_gpt2`; returns the model."""
    save_gpt2(folder)
    shape = dict(vocab_size=257, hidden_size=24, intermediate_size=40, num_hidden_layers=2)
    heads = dict(num_attention_heads=6, num_key_value_heads=2, tie_word_embeddings=True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = transformers.LlamaConfig(**shape, **heads, bos_token_id=256, eos_token_id=256)
        model = transformers.LlamaForCausalLM(config).eval()
    model.save_pretrained(folder)
    return model
