"""Encoders of a run as modules of torchvision."""

from typing import Any, Dict

import torch

_BLOCKS = {"resnet18": ("BasicBlock", (2, 2, 2, 2)), "resnet34": ("BasicBlock", (3, 4, 6, 3)), "resnet50": ("Bottleneck", (3, 4, 6, 3))}
_USE = "use Run.state_dict(), which returns the weights by name"


def _resnet(name: str, stem: str, width: int, stem_width: int, channels: int) -> torch.nn.Module:
    try:
        from torchvision.models import resnet
    except ImportError:
        raise ImportError("debias: Run.encoder makes a network of torchvision, which is not installed; pip install torchvision, or "
                          + _USE) from None
    block, counts = _BLOCKS[name]

    class ResNet(resnet.ResNet):
        """A ResNet with width, 2 width, ... channels instead of 64, 128, ..."""

        def _make_layer(self, block: Any, planes: int, *rest: Any, **named: Any) -> torch.nn.Sequential:
            if planes == 64:
                self.inplanes = stem_width
            return super()._make_layer(block, planes * width // 64, *rest, **named)

    network = ResNet(getattr(resnet, block), list(counts))
    network.conv1 = torch.nn.Conv2d(channels, stem_width, 3 if stem == "cifar" else 7, 1 if stem == "cifar" else 2, 1 if stem == "cifar" else 3, bias=False)
    network.bn1 = torch.nn.BatchNorm2d(stem_width)
    if stem == "cifar":
        network.maxpool = torch.nn.Identity()
    network.fc = torch.nn.Identity()
    return network


def encoder(recipe: Dict[str, Any], weights: Dict[str, torch.Tensor], source: str) -> torch.nn.Module:
    """The encoder of a recipe with these weights. Raises ValueError if torchvision has no such network."""
    options = recipe.get("encoder")
    name = options.get("name") if isinstance(options, dict) else options
    if name not in _BLOCKS or "conv1.weight" not in weights:
        parts = sorted({key.split(".")[0] for key in weights})
        found = f"encoder {name}" if name not in _BLOCKS else f"encoder {name} in {', '.join(parts[:4])}"
        raise ValueError(f"{source}: torchvision has no network for {found}; {_USE}")
    options = options if isinstance(options, dict) else {}
    if options.get("activation", "relu") != "relu":
        raise ValueError(f"{source}: torchvision's {name} ends with ReLU, this encoder with {options['activation']}; {_USE}")
    width = int(options.get("width", 64))
    stem_width = options.get("stem_width")
    network = _resnet(name, str(options.get("stem", "cifar")), width, width if stem_width in (None, "auto") else int(stem_width),
                      weights["conv1.weight"].shape[1])
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"{source}: the weights do not fit the recipe's {name}: {str(error).splitlines()[-1].strip()}") from None
    return network.eval()
