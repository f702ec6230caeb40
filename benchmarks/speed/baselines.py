"""What a user would pick instead of ours: transformers' GPT-2 and BERT, torch.nn's encoder.

All have the shape they are given and no dropout; each returns its loss. They are trained by the
plain loop that documentations show: forward, backward, clip, step. `Trainee` is what they and ours
share as contestants.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional as F

from tlcourse import device
from tlcourse.bpe import EOS, PAD
from tlcourse.memory import training_memory
from tlcourse.transformer import Config

transformers.logging.set_verbosity_error()  # its remarks do not concern speed
IGNORED = -100  # a target that is none, for PyTorch and transformers


@dataclass(frozen=True)
class Form:
    """How a library's model runs: precision, attention ("sdpa" or "eager"), compiled or not."""

    precision: torch.dtype
    attention: str
    compiled: bool = False

    def __str__(self) -> str:
        words = [str(self.precision).removeprefix("torch."), f"{self.attention} attention"]
        return ", ".join(words + ["compiled"] * self.compiled)


class Trainee:
    """A contestant: a model on its device, AdamW for its trained parameters, a step's figures."""

    def __init__(self, model: nn.Module, compute: device.Compute, learning_rate: float):
        self.compute, self.learning_rate = compute, learning_rate
        self.model = model.to(compute.device).train()
        self.optimizer = self.new_optimizer()

    def new_optimizer(self) -> torch.optim.Optimizer:
        """The same for all contestants."""
        trained = [p for p in self.model.parameters() if p.requires_grad]
        return torch.optim.AdamW(trained, lr=self.learning_rate, fused=True)

    def figures(self, loss: Callable[[], Tensor]) -> dict:
        """Parameters, those that are trained, and the bytes that a step with this loss needs."""

        def forward() -> Tensor:
            with self.compute.autocast():
                return loss()

        memory = training_memory(self.model.train(), [self.new_optimizer()], forward)
        sizes = [(p.numel(), p.requires_grad) for p in self.model.parameters()]
        return {
            "parameters": sum(size for size, _ in sizes),
            "trained": sum(size for size, trained in sizes if trained),
            "memory": memory.total,
            "memory_parts": asdict(memory),
        }


def plain_step(
    model: nn.Module,
    batch: Mapping[str, Tensor],
    optimizer: torch.optim.Optimizer,
    compute: device.Compute,
) -> None:
    """One step of a model that returns its loss."""
    with compute.autocast():
        loss = model(**batch)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def _gpt2(config: Config, attention: str, **more) -> transformers.GPT2Config:
    """The shape in transformers' words, without dropout."""
    return transformers.GPT2Config(
        vocab_size=config.vocabulary_size, n_positions=config.max_length, n_embd=config.width,
        n_layer=config.layers, n_head=config.heads, n_inner=config.feed_forward,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=EOS, eos_token_id=EOS,
        pad_token_id=PAD, attn_implementation=attention, **more,
    )  # fmt: skip


def _bert(config: Config, attention: str, **more) -> transformers.BertConfig:
    """The shape in transformers' words, without dropout."""
    return transformers.BertConfig(
        vocab_size=config.vocabulary_size, max_position_embeddings=config.max_length,
        hidden_size=config.width, num_hidden_layers=config.layers,
        num_attention_heads=config.heads, intermediate_size=config.feed_forward,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, pad_token_id=PAD,
        attn_implementation=attention, **more,
    )  # fmt: skip


class GPT2(nn.Module):
    """transformers' GPT-2 and its own loss."""

    def __init__(self, config: Config, attention: str):
        super().__init__()
        self.model = transformers.GPT2LMHeadModel(_gpt2(config, attention))

    def forward(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Targets come shifted, so that the last position of a window has one, too."""
        return self.model(inputs, labels=targets, shift_labels=targets, use_cache=False).loss


class Bert(nn.Module):
    """transformers' BERT and its own loss, which projects every position, target or not."""

    def __init__(self, config: Config, attention: str):
        super().__init__()
        self.model = transformers.BertForMaskedLM(_bert(config, attention))

    def forward(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Mean nats a target."""
        return self.model(inputs, labels=targets).loss


class _Classifier(nn.Module):
    """A model of transformers for sequences of tokens with a label each."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> Tensor:
        """Mean nats a label; tokens and mask are (batch, length), labels (batch,)."""
        return self.model(input_ids, attention_mask=attention_mask, labels=labels).loss


class GPT2Classifier(_Classifier):
    """transformers' GPT-2, which reads the label off the last token."""

    def __init__(self, config: Config, attention: str, labels: int):
        super().__init__()
        shape = _gpt2(config, attention, num_labels=labels)
        self.model = transformers.GPT2ForSequenceClassification(shape)


class BertClassifier(_Classifier):
    """transformers' BERT, which reads the label off the first token."""

    def __init__(self, config: Config, attention: str, labels: int):
        super().__init__()
        shape = _bert(config, attention, num_labels=labels)
        self.model = transformers.BertForSequenceClassification(shape)


class Encoder(nn.Module):
    """torch.nn.TransformerEncoder between an embedding and a head that is tied to it."""

    def __init__(self, config: Config, attention: str):
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            config.width, config.heads, config.feed_forward, dropout=0.0, activation="gelu",
            batch_first=True, norm_first=True,
        )  # fmt: skip
        norm = nn.LayerNorm(config.width)
        self.causal, self.embedding = (
            config.causal,
            nn.Embedding(config.vocabulary_size, config.width),
        )
        self.positions = nn.Embedding(config.max_length, config.width)
        self.body = nn.TransformerEncoder(layer, config.layers, norm, enable_nested_tensor=False)
        for table in (self.embedding, self.positions):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Mean nats a target; every position is projected, as in the libraries above."""
        length = inputs.shape[1]
        mask = None
        if self.causal:
            mask = nn.Transformer.generate_square_subsequent_mask(length, inputs.device)
        x = self.embedding(inputs) + self.positions.weight[:length]
        logits = F.linear(self.body(x, mask, is_causal=self.causal), self.embedding.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED)
