"""Writes interface_submodule.pt: a module that knows its submodule by an interface only.

LibTorch cannot make such a module from C++. Run in this folder, with PyTorch 2.
"""

import torch


@torch.jit.interface
class Stage(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass


class Doubled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = torch.nn.Parameter(torch.tensor([0.5, -1.0, 2.0]).reshape(1, 3, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2.0 * x + self.shift


class Network(torch.nn.Module):
    stage: Stage

    def __init__(self):
        super().__init__()
        self.stage = Doubled()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.stage.forward(x)) - self.stage.forward(-x)


torch.jit.script(Network().eval()).save("interface_submodule.pt")
