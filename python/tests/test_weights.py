"""Conversion of weights: what is read is written byte for byte, and what is no file of known weights is refused in one line."""

import json
import pathlib
import pickle
import struct

import pytest
import torch

from debias import weights

GOLDEN = json.loads((pathlib.Path(__file__).parents[2] / "tests/golden/backbones.json").read_text())
NAMES = sorted(GOLDEN)


def shapes_of(name):
    return {key: tuple(shape) for key, shape in GOLDEN[name]["keys"].items()}


def state_of(name, start=0):
    """Tensors of the golden shapes; those of more than a few elements are one value, expanded."""
    state = {}
    for i, (key, shape) in enumerate(shapes_of(name).items()):
        value = torch.tensor(start + i, dtype=torch.int64 if key.endswith("num_batches_tracked") else torch.float32)
        state[key] = value.expand(shape) if shape else value
    return state


def read(path):
    """A reader of its own: {key: (type, shape, bytes)}."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    assert header.pop("__metadata__") == {"format": "pt"}
    body = data[8 + length:]
    assert sum(entry["data_offsets"][1] - entry["data_offsets"][0] for entry in header.values()) == len(body)
    return {key: (entry["dtype"], tuple(entry["shape"]), body[slice(*entry["data_offsets"])]) for key, entry in header.items()}


@pytest.mark.parametrize("name", NAMES)
def test_the_network_is_recognised_by_keys(name):
    expected = GOLDEN[name]["section"].strip("{}").split(", ")
    found = [f"{key}: {value}" for key, value in weights.section_of(shapes_of(name)).items()]
    assert found == [word for word in expected if not word.startswith("origin")]


@pytest.mark.parametrize("wrap", [lambda s: s, lambda s: {"epoch": 3, "state_dict": {"module." + k: v for k, v in s.items()}},
                                  lambda s: {"teacher": {"backbone." + k: v for k, v in s.items()} | {"head.mlp.0.weight": torch.ones(2)}}])
def test_bytes_stay(tmp_path, wrap):
    state = {key: value.clone() for key, value in state_of("torchvision_mobilenet_v2").items()}
    state["features.0.0.weight"] = torch.randn(32, 3, 3, 3).to(torch.float16)
    torch.save(wrap(state), tmp_path / "x.pth")
    done = weights.convert(tmp_path / "x.pth", tmp_path / "f.safetensors")
    assert done == weights.Converted({"name": "mobilenet_v2"}, len(state))
    found = read(tmp_path / "f.safetensors")
    assert list(found) == list(state)
    for key, value in state.items():
        assert found[key] == (weights._TYPES[value.dtype], tuple(value.shape), value.numpy().tobytes()), key


def test_the_command_prints_the_section(tmp_path, capsys):
    torch.save(state_of("timm_vit_small"), tmp_path / "x.pth")
    assert weights.main(["convert", str(tmp_path / "x.pth"), str(tmp_path / "f.safetensors")]) == 0
    out = capsys.readouterr().out
    assert out.endswith(f"encoder: {{name: vit_small, size: 64, weights: {tmp_path}/f.safetensors}}\n")


class Program:
    def __reduce__(self):
        return print, ("ran",)


def refusal(tmp_path, capsys, target="f.safetensors"):
    assert weights.main(["convert", str(tmp_path / "x.pth"), str(tmp_path / target)]) == 3
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert list(tmp_path.glob(".weights-*")) == []
    return captured.err


def test_a_pickle_is_not_run(tmp_path, capsys):
    (tmp_path / "x.pth").write_bytes(pickle.dumps({"features.0.0.weight": Program()}, protocol=2))
    assert "x.pth" in refusal(tmp_path, capsys)
    torch.save({"a": Program()}, tmp_path / "x.pth")
    assert "it contains objects other than tensors, which are not opened; save model.state_dict()" in refusal(tmp_path, capsys)
    assert not (tmp_path / "f.safetensors").exists()


def test_what_is_no_file_of_weights_is_refused(tmp_path, capsys):
    source = tmp_path / "x.pth"
    assert "no such file" in refusal(tmp_path, capsys)
    source.write_bytes(b"not a file of torch")
    assert "x.pth" in refusal(tmp_path, capsys)
    torch.save(state_of("torchvision_resnet18"), source)
    source.write_bytes(source.read_bytes()[:-4000])
    assert "not a readable file of torch.save" in refusal(tmp_path, capsys)
    torch.save({"layers.0.weight": torch.ones(2)}, source)
    assert "its keys ('layers.0.weight', ...) match none of" in refusal(tmp_path, capsys)
    torch.save([1, 2], source)
    assert "it has no tensors by name" in refusal(tmp_path, capsys)
    state = state_of("torchvision_resnet18")
    state["bn1.weight"] = torch.full((64,), float("nan"))
    torch.save(state, source)
    assert "key 'bn1.weight' has values that are not finite" in refusal(tmp_path, capsys)


def test_no_file_is_overwritten(tmp_path, capsys):
    torch.save(state_of("torchvision_resnet18"), tmp_path / "x.pth")
    (tmp_path / "f.safetensors").write_text("mine")
    assert "it exists, and nothing is overwritten" in refusal(tmp_path, capsys)
    assert (tmp_path / "f.safetensors").read_text() == "mine"
    assert "ends in .safetensors" in refusal(tmp_path, capsys, "f.bin")


def test_networks_that_only_look_alike_are_refused():
    resnet101 = shapes_of("torchvision_resnet50") | {"layer3.22.conv1.weight": (256, 1024, 1, 1)}
    assert weights.section_of(resnet101) is None
    assert weights.section_of(shapes_of("timm_efficientnet_lite0") | {"blocks.0.0.se.conv_reduce.weight": (8, 32, 1, 1)}) is None
    assert weights.section_of(shapes_of("timm_vit_small") | {"blocks.0.ls1.gamma": (384,)}) is None
