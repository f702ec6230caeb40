import pytest
import torch

from tlcourse.pretraining.muon import Muon

SHAPES = [(8, 8), (16, 8), (8, 16), (8, 8)]


def trained(kind, precision=None, steps: int = 4) -> list[torch.Tensor]:
    torch.manual_seed(0)
    matrices = [torch.nn.Parameter(torch.randn(shape)) for shape in SHAPES]
    if kind is Muon:
        optimizer = Muon(matrices, 0.02, precision)
    else:
        optimizer = kind(matrices, lr=0.02, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    for step in range(steps):
        for matrix in matrices:
            matrix.grad = torch.randn(matrix.shape)
        if step == 2:
            matrices[1].grad = None  # must stay, with its momentum
        optimizer.step()
    return [matrix.detach() for matrix in matrices]


def test_in_bfloat16_it_is_pytorch_s():
    ours, theirs = trained(Muon, torch.bfloat16), trained(torch.optim.Muon)
    for mine, right in zip(ours, theirs, strict=True):
        assert torch.equal(mine, right)


@pytest.mark.parametrize("precision", [torch.float32, torch.float16])
def test_else_it_is_pytorch_s_up_to_the_rounding_of_bfloat16(precision):
    ours, theirs, start = trained(Muon, precision), trained(torch.optim.Muon), trained(Muon, 0, 0)
    for mine, right, old in zip(ours, theirs, start, strict=True):
        assert (mine - right).norm() < 0.02 * (right - old).norm()


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float32])
def test_a_closure_gives_the_gradients_and_its_loss_comes_back(precision):
    matrix = torch.nn.Parameter(torch.eye(8))

    def closure() -> torch.Tensor:
        loss = (matrix**2).sum()
        loss.backward()
        return loss

    loss = Muon([matrix], 0.02, precision).step(closure)
    assert loss.item() == 8.0 and (matrix**2).sum() < 8.0
