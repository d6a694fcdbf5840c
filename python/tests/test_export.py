"""What `debias export` writes, in the hands of the programs that it is for: onnxruntime and safetensors."""

import json
import os
import pathlib
import subprocess

import numpy
import pytest

onnxruntime = pytest.importorskip("onnxruntime")
load_file = pytest.importorskip("safetensors.numpy").load_file

BINARY = os.environ.get("DEBIAS_BINARY", str(pathlib.Path(__file__).parents[2] / "build/release/bin/debias"))
RECIPE = """
seed: 3
data:
  train: {name: glyphs, size: 24, train_count: 96}
  test: {name: glyphs, size: 24, test_count: 40, split: test}
views: {preset: none, count: 1}
encoder: ENCODER
objective: {name: supcon}
evaluate: {every: 1, protocols: []}
train: {epochs: 2, batch_size: 32, device: cpu, threads: 1}
"""
ENCODERS = {
    "resnet18": "{name: resnet18, width: 8}",
    "resnet34_tanh": "{name: resnet34, width: 8, activation: tanh}",
    "resnet50_imagenet": "{name: resnet50, width: 8, stem: imagenet}",
}


def debias(*words):
    done = subprocess.run([BINARY, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=ENCODERS)
def exported(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "recipe.yaml").write_text(RECIPE.replace("ENCODER", ENCODERS[request.param]))
    debias("train", folder / "recipe.yaml", f"output={folder / 'run'}")
    debias("export", folder / "run")
    debias("embed", folder / "run", "--out", folder / "embedded.npy")
    debias("data", "export", "glyphs", "size=24", "test_count=40", "split=test", "--out", folder / "pixels.npy")
    return folder


def prepared(folder):
    """The test images as preprocess.json says: [N, C, H, W]."""
    preprocess = json.loads((folder / "run/exported/preprocess.json").read_text())
    pixels = numpy.load(folder / "pixels.npy")
    assert preprocess["size"] == list(pixels.shape[1:3]) and preprocess["resize"] is None
    mean, std = (numpy.array(preprocess[name], dtype=numpy.float64) for name in ("mean", "std"))
    return ((pixels / 255 - mean) / std).astype(numpy.float32).transpose(0, 3, 1, 2)


def session(folder):
    return onnxruntime.InferenceSession(str(folder / "run/exported/encoder.onnx"), providers=["CPUExecutionProvider"])


def test_onnxruntime_computes_what_embed_writes(exported):
    images, expected = prepared(exported), numpy.load(exported / "embedded.npy")
    (found,) = session(exported).run(["features"], {"images": images})
    assert found.shape == expected.shape
    scale = max(1.0, float(numpy.abs(expected).max()))
    assert numpy.abs(expected).max() > 1e-2
    assert numpy.abs(found - expected).max() <= 1e-5 * scale


def test_batches_and_images_of_any_size_are_taken(exported):
    images = prepared(exported)
    model = session(exported)
    (all_of_them,) = model.run(None, {"images": images})
    (one,) = model.run(None, {"images": images[:1]})
    assert numpy.abs(one - all_of_them[:1]).max() <= 1e-5 * max(1.0, float(numpy.abs(one).max()))
    (wide,) = model.run(None, {"images": numpy.pad(images[:2], ((0, 0), (0, 0), (4, 9), (0, 21)))})
    assert wide.shape == (2, all_of_them.shape[1])


def test_weights_have_torchvisions_keys(exported):
    weights = load_file(exported / "run/exported/encoder.safetensors")
    assert {"conv1.weight", "bn1.running_var", "layer1.0.bn1.num_batches_tracked", "layer2.0.downsample.0.weight"} <= set(weights)
    assert weights["bn1.num_batches_tracked"].shape == ()
    assert not any(name.startswith("encoder.") for name in weights)
