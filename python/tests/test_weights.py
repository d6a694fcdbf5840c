"""Conversion of weights: what is read is written byte for byte, and what is no file of known weights is refused in one line."""

import argparse
import json
import pathlib
import pickle
import re
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


def renamed(state, *rules):
    for pattern, replacement in rules:
        state = {re.sub(pattern, replacement, key): value for key, value in state.items()}
    return state


def small(start=0):
    """A ResNet-18 of an eighth of the channels."""
    state = {}
    for i, (key, shape) in enumerate(shapes_of("torchvision_resnet18").items()):
        value = torch.tensor(start + i, dtype=torch.int64 if key.endswith("num_batches_tracked") else torch.float32)
        state[key] = value.expand([one // 8 if one >= 64 else one for one in shape]).clone() if shape else value
    return state


def after(prefix, start=0):
    return {prefix + key: value for key, value in small(start).items()}


SMALL = {"name": "resnet18", "stem": "imagenet", "width": 8}


HEAD = {"projection_head.0.weight": torch.ones(2, 2), "prototypes.weight": torch.ones(3, 2)}
# What people have: the file's object, the prefix that is taken, and a word of the notes.
CHECKPOINTS = {
    "MoCo": ({"epoch": 9, "arch": "resnet50", "state_dict": after("module.encoder_k.", start=5) | after("module.encoder_q.") |
              {"module.queue": torch.ones(128, 4)}}, "state_dict.module.encoder_q.", "state_dict.module.encoder_k."),
    "MoCo v3": ({"state_dict": after("module.momentum_encoder.", start=5) | after("module.base_encoder.")}, "state_dict.module.base_encoder.",
                "momentum_encoder"),
    "SupContrast": ({"model": after("encoder.module.") | {"head.0.weight": torch.ones(4, 4)}}, "model.encoder.module.", "head.0.weight"),
    "SwAV": (after("module.") | {f"module.{key}": value for key, value in HEAD.items()}, "module.", "projection_head"),
    "BYOL": (after("target_encoder.net.", start=5) | after("online_encoder.net."), "online_encoder.net.", "target_encoder.net."),
    "DINO": ({"student": after("module.backbone.", start=5), "teacher": after("backbone.")}, "teacher.backbone.", "student.module.backbone."),
    "VISSL": ({"classy_state_dict": {"base_model": {"model": {"trunk": after("_feature_blocks.")}}}},
              "classy_state_dict.base_model.model.trunk._feature_blocks.", ""),
    "MMPretrain": ({"meta": {"epoch": 3}, "state_dict": after("encoder_k.module.0.", start=5) | after("backbone.")}, "state_dict.backbone.",
                   "encoder_k.module.0."),
    "Lightning": ({"state_dict": after("net.model.backbone."), "hyper_parameters": {"lr": 0.1}, "callbacks": {}}, "state_dict.net.model.backbone.", ""),
    "a list of modules": (after("backbone.0.") | {"backbone.1.weight": torch.ones(3, 3)}, "backbone.0.", "backbone.1.weight"),
    "compiled": (after("_orig_mod."), "_orig_mod.", ""),
    "compiled within": (after("model._orig_mod."), "model._orig_mod.", ""),
    "compiled and parallel": (after("_orig_mod.module."), "_orig_mod.module.", ""),
    "averaged": ({"n_averaged": torch.tensor(3)} | after("module."), "module.", ""),
    "an average beside": ({"state_dict_ema": after("", start=5), "state_dict": after("")}, "state_dict.", "state_dict_ema."),
    "timm's average": ({"model_ema": after("module.", start=5), "model": after("")}, "model.", "model_ema.module."),
    "no word that anyone knows": ({"w": [{"x1": after("Trunk_7.inner.")}]}, "w.0.x1.Trunk_7.inner.", ""),
    "a segmentation network": (after("backbone.body.") | {"classifier.4.weight": torch.ones(2, 2)}, "backbone.body.", "classifier.4.weight"),
}


@pytest.mark.parametrize("case", CHECKPOINTS)
def test_a_network_is_found_after_any_prefix(case, tmp_path, capsys):
    content, prefix, word = CHECKPOINTS[case]
    torch.save(content, tmp_path / "x.pth")
    assert weights.main(["convert", str(tmp_path / "x.pth"), str(tmp_path / "f.safetensors")]) == 0
    out = capsys.readouterr().out
    assert f"the keys after '{prefix}'" in out and word in out
    assert out.endswith(f"encoder: {{name: resnet18, stem: imagenet, width: 8, weights: {tmp_path}/f.safetensors}}\n")
    found = read(tmp_path / "f.safetensors")
    assert {key: one[2] for key, one in found.items()} == {key: value.numpy().tobytes() for key, value in small().items()}


def test_wrappers_within_a_network_are_taken_off(tmp_path):
    wanted = small()
    for rules in ([(r"^(layer\d)\.", r"\1._fsdp_wrapped_module.")], [(r"^(layer\d\.\d)\.", r"\1._checkpoint_wrapped_module.")],
                  [(r"^(layer\d\.\d)\.", r"\1._orig_mod."), ("^", "module.")], [(r"^(layer\d)\.", r"\1.module.")]):
        torch.save(renamed(wanted, *rules), tmp_path / "x.pth")
        target = tmp_path / f"{len(list(tmp_path.iterdir()))}.safetensors"
        assert weights.convert(tmp_path / "x.pth", target).section == SMALL
        assert set(read(target)) == set(wanted)


def test_other_spellings_of_the_same_networks(tmp_path):
    """SupContrast's shortcuts, a Sequential of a network's children, with and without pooling, and MMPretrain's transformers."""
    resnet, vit = small(), state_of("timm_vit_small")
    trunk = {key: value for key, value in resnet.items() if not key.startswith("fc.")}
    numbers = lambda first: [(r"^conv1\.", "0."), (r"^bn1\.", "1."), *((rf"^layer{i}\.", f"{first + i}.") for i in (1, 2, 3, 4)), ("^", "backbone.")]
    mm = [(r"patch_embed\.proj", "patch_embed.projection"), (r"^blocks\.(\d+)\.norm", r"layers.\1.ln"), (r"^blocks\.", "layers."),
          (r"mlp\.fc1", "ffn.layers.0.0"), (r"mlp\.fc2", "ffn.layers.1"), (r"^norm\.", "ln1."), ("^", "backbone.")]
    for wanted, rules in ((resnet, [(r"\.downsample\.", ".shortcut.")]), (trunk, numbers(3)), (trunk, numbers(2)),
                          ({key: value for key, value in vit.items() if not key.startswith("head.")}, mm)):
        torch.save(renamed(wanted, *rules), tmp_path / "x.pth")
        target = tmp_path / f"{len(list(tmp_path.iterdir()))}.safetensors"
        weights.convert(tmp_path / "x.pth", target)
        assert {key: one[2] for key, one in read(target).items()} == {key: value.numpy().tobytes() for key, value in wanted.items()}


def test_another_network_of_the_file_can_be_chosen(tmp_path, capsys):
    torch.save(CHECKPOINTS["MoCo"][0], tmp_path / "x.pth")
    words = ["convert", str(tmp_path / "x.pth"), str(tmp_path / "f.safetensors"), "--prefix"]
    assert weights.main([*words, "encoder_x"]) == 3
    assert "no network after the prefix 'encoder_x'; give one of 'state_dict.module.encoder_q.', 'state_dict.module.encoder_k.'" in capsys.readouterr().err
    assert weights.main([*words, "encoder_k"]) == 0
    assert "after 'state_dict.module.encoder_k.'" in capsys.readouterr().out
    assert read(tmp_path / "f.safetensors")["conv1.weight"][2][:4] == struct.pack("<f", 5)


class Module:
    """In the place of a class that the reader of the file lacks."""

    def __init__(self, **state):
        self.__dict__.update(state)


def as_module(state):
    made = Module(training=True, _parameters={}, _buffers={}, _modules={})
    for key, value in state.items():
        *path, last = key.split(".")
        inner = made
        for word in path:
            inner = inner._modules.setdefault(word, Module(_parameters={}, _buffers={}, _modules={}))
        inner._parameters[last] = value
    return made


def test_whole_modules_and_options_are_read_without_their_code(tmp_path, capsys):
    """A pickled module, one within a dict, and the options of a training beside tensors. Program would print."""
    wanted = small()
    for content in (as_module(wanted), {"model": as_module({"module." + key: value for key, value in wanted.items()}), "run": Program()},
                    {"args": argparse.Namespace(lr=0.1), "best": Program(), "state_dict": wanted}):
        for zipped in (True, False):
            torch.save(content, tmp_path / "x.pth", _use_new_zipfile_serialization=zipped)
            target = tmp_path / f"{len(list(tmp_path.iterdir()))}.safetensors"
            assert weights.convert(tmp_path / "x.pth", target).section == SMALL
            assert {key: one[2] for key, one in read(target).items()} == {key: value.numpy().tobytes() for key, value in wanted.items()}
    assert capsys.readouterr().out == ""


def test_a_safetensors_file_is_converted_too(tmp_path):
    weights._write(tmp_path / "x.safetensors", after("model.encoder."))
    done = weights.convert(tmp_path / "x.safetensors", tmp_path / "f.safetensors")
    assert done.prefix == "model.encoder." and set(read(tmp_path / "f.safetensors")) == set(small())


def with_shapes(name, *changes):
    """The shapes of a golden network, with those of the keys that a pattern finds multiplied."""
    shapes = shapes_of(name)
    for pattern, factors in changes:
        for key, shape in shapes.items():
            if re.fullmatch(pattern, key):
                shapes[key] = tuple(round(one * factor) for one, factor in zip(shape, factors))
    return shapes


INNER = r"layer\d\.\d\."
UNLIKE = {
    "wide_resnet50_2": (with_shapes("torchvision_resnet50", (INNER + r"conv1\.weight", (2, 1, 1, 1)), (INNER + r"conv2\.weight", (2, 2, 1, 1)),
                                    (INNER + r"conv3\.weight", (1, 2, 1, 1)), (INNER + r"bn[12]\.(weight|bias|running.*)", (2,))),
                        "of a wide ResNet (128 channels within a bottleneck of 256)"),
    "resnext50_32x4d": (with_shapes("torchvision_resnet50", (INNER + r"conv1\.weight", (2, 1, 1, 1)), (INNER + r"conv2\.weight", (2, 1 / 16, 1, 1)),
                                    (INNER + r"conv3\.weight", (1, 2, 1, 1)), (INNER + r"bn[12]\.(weight|bias|running.*)", (2,))),
                        "of a grouped ResNet (32 groups of 4 channels"),
    "resnet101": (shapes_of("torchvision_resnet50") | {"layer3.22.conv1.weight": (256, 1024, 1, 1)}, "stages of 3, 4, 23, 3 bottlenecks"),
    "seresnet50": (shapes_of("torchvision_resnet50") | {"layer1.0.se.fc1.weight": (16, 256, 1, 1)}, "they have 'layer1.0.se.fc1.weight'"),
    "CLIP's RN50": (shapes_of("torchvision_resnet50") | {"attnpool.k_proj.weight": (2048, 2048)}, "they have 'attnpool.k_proj.weight'"),
    "vit_small_patch8": (with_shapes("timm_vit_small", (r"patch_embed\.proj\.weight", (1, 1, 0.5, 0.5))), "patches of 8 pixels"),
    "deit_small_distilled": (shapes_of("timm_vit_small") | {"dist_token": (1, 1, 384)}, "they have 'dist_token'"),
    "mobilenetv2_140": (with_shapes("timm_mobilenet_v2", (r"conv_stem\.weight", (1.5, 1, 1, 1))), "'conv_stem.weight' is [48, 3, 3, 3]"),
}


@pytest.mark.parametrize("name", UNLIKE)
def test_what_tells_other_networks_apart_is_said(name, tmp_path, capsys):
    shapes, words = UNLIKE[name]
    assert weights.section_of(shapes) is None
    torch.save({"state_dict": {"module." + key: torch.ones(()).expand(shape) for key, shape in shapes.items()}}, tmp_path / "x.pth")
    message = refusal(tmp_path, capsys)
    assert words in message and "after 'state_dict.module.'" in message and "trace the model as TorchScript" in message


def test_a_resnet_of_twice_the_channels_is_a_width():
    """SimCLR's networks: every convolution is wider, where those of wide ResNets are so within bottlenecks alone."""
    doubled = {key: tuple(2 * one if i < 2 else one for i, one in enumerate(shape)) for key, shape in shapes_of("torchvision_resnet50").items()}
    doubled["conv1.weight"] = (128, 3, 7, 7)
    assert weights.section_of(doubled) == {"name": "resnet50", "stem": "imagenet", "width": 128}


IMAGENET = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}
CLIP = {"mean": [0.48145466, 0.4578275, 0.40821073], "std": [0.26862954, 0.26130258, 0.27577711]}
UNIT = {"mean": [0.5] * 3, "std": [0.5] * 3}


def vit(prefix="", head=True):
    return {prefix + key: value for key, value in state_of("timm_vit_small").items() if head or not key.startswith("head.")}


@pytest.mark.parametrize("content, constants, words", [
    ({"teacher": vit("backbone.", False) | {"head.last_layer.weight_g": torch.ones(4, 1)}}, IMAGENET, "the keys are DINO's"),
    (vit("", False), IMAGENET, "no classifier, as in what DINO and MoCo v3 publish (timm's"),
    ({"model": vit()}, IMAGENET, "DeiT"),
    ({"state_dict": vit("module.momentum_encoder.") | vit("module.base_encoder.")}, IMAGENET, "self-supervised"),
    (vit("visual.trunk.", False) | {"logit_scale": torch.ones(()), "text.token_embedding.weight": torch.ones(2, 2)}, CLIP, "CLIP's"),
    (vit("visual.trunk.", False) | {"logit_scale": torch.ones(()), "logit_bias": torch.ones(())}, UNIT, "SigLIP's"),
    (after("visual.trunk."), CLIP, "CLIP's"),
    (after("model.") | {"normalize.mean": torch.tensor([0.1, 0.2, 0.25]).view(3, 1, 1), "normalize.std": torch.tensor([0.5, 0.25, 0.125])},
     {"mean": [0.1, 0.2, 0.25], "std": [0.5, 0.25, 0.125]}, "'normalize.mean' and 'normalize.std' have them"),
    (after("backbone.") | {"data_preprocessor.mean": torch.tensor([51.0, 102, 127.5]), "data_preprocessor.std": torch.tensor([51.0, 51, 51])},
     {"mean": [0.2, 0.4, 0.5], "std": [0.2, 0.2, 0.2]}, "data_preprocessor"),
    (vit(), {}, "no key shows the normalisation"),
    (after(""), {}, ""),
])
def test_mean_and_std_are_those_that_the_keys_show(content, constants, words, tmp_path, capsys):
    torch.save(content, tmp_path / "x.pth")
    assert weights.main(["convert", str(tmp_path / "x.pth"), str(tmp_path / "f.safetensors")]) == 0
    *notes, last = capsys.readouterr().out.split("weights: ")[0].splitlines()
    assert ("mean" in last) == bool(constants) and words in "\n".join(notes)
    for key, value in constants.items():
        assert f"{key}: {value}" in last


@pytest.mark.parametrize("content, words", [(b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\n", "is a pointer of Git LFS, not a file of weights; git lfs pull"),
                                            (b"<html>", "is an HTML page, not a file of weights"), (None, "it is a zip archive of other files .readme.txt., not one of torch.save")])
def test_files_in_the_place_of_weights_are_named(tmp_path, content, words):
    import zipfile
    file = tmp_path / "w.pth"
    if content is None:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("readme.txt", "hello")
    else:
        file.write_bytes(content)
    with pytest.raises(ValueError, match=words):
        weights.convert(file, tmp_path / "out.safetensors")
