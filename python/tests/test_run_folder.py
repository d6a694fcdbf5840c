"""A run folder, opened without the program: recipe, metrics, evaluations, weights. The folder is written by hand."""

import json
import math

import pytest
import torch

import debias
from debias import _safetensors, _yaml

CONFIG = """name: by-hand
seed: 7
data:
  train: {name: glyphs, train_count: 1e3, root: ""}
objective:
  - name: infonce
    on: projection
    temperature: 5e-1
    epsilon: .inf
    drop: no
    base: ~
encoder: {name: simple_convnet}
version: "1.0"
"""


def write_safetensors(path, tensors, metadata=None):
    names = {torch.float16: "F16", torch.float32: "F32", torch.float64: "F64", torch.int64: "I64", torch.bfloat16: "BF16", torch.bool: "BOOL"}
    header, body = {} if metadata is None else {"__metadata__": metadata}, b""
    for name, tensor in tensors.items():
        data = tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes()
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "first"
    (path / "evaluation" / "epoch-1").mkdir(parents=True)
    (path / "checkpoints").mkdir()
    (path / "config.yaml").write_text(CONFIG)
    (path / "classes.json").write_text('{"classes": ["cat", "dog"], "biases": ["in", "out"]}')
    (path / "metrics.jsonl").write_text('{"epoch":1,"step":10,"loss":2.5}\n{"epoch":1,"train_loss":2.25,"test.knn_acc1":0.5}\n'
                                        '{"epoch":2,"step":20,"loss":1.5}\n{"epoch":2,"train_loss":1.25}\n{"epoch":3,"st')
    evaluation = {"protocol": "groups", "metrics": {"test.acc1": 0.75, "test.worst_group_acc": None}, "options": {"k": 5},
                  "intervals": {"test.acc1": [0.5, None]}}
    (path / "evaluation" / "groups.json").write_text(json.dumps(evaluation))
    (path / "evaluation" / "epoch-1" / "knn.json").write_text(json.dumps({"protocol": "knn", "metrics": {"test.knn_acc1": 0.5}}))
    tensors = {"encoder.fc.weight": torch.arange(6.0).reshape(2, 3), "encoder.steps": torch.tensor(9), "head.fc1.bias": torch.ones(4)}
    write_safetensors(path / "checkpoints" / "last.safetensors", tensors, {"format": "pt"})
    return path


def test_a_recipe_is_read_as_the_program_reads_it(folder):
    recipe = debias.Run(folder).recipe
    assert recipe["data"]["train"] == {"name": "glyphs", "train_count": 1000.0, "root": ""} and recipe["seed"] == 7 and recipe["version"] == "1.0"
    assert recipe["objective"] == [{"name": "infonce", "on": "projection", "temperature": 0.5, "epsilon": math.inf, "drop": "no", "base": None}]


@pytest.mark.parametrize("value", [None, True, 3, -2.5, 1e-8, math.inf, "yes", "a: b", 'quo"te\n', "", ["x", 1], {"a b": {"c": [True, "1"]}}])
def test_values_survive_being_written_in_flow_style(value):
    again = _yaml.parsed(_yaml.flow(value), "text")
    assert again == ("none" if value is None else value) and (value is None or type(again) is type(value))


def test_metrics_leave_out_a_line_that_is_being_written(folder):
    run = debias.Run(folder)
    assert [line["epoch"] for line in run.metrics] == [1, 2] and [line["loss"] for line in run.steps] == [2.5, 1.5]
    assert run.last == {"epoch": 2, "train_loss": 1.25, "test.knn_acc1": 0.5}
    (folder / "metrics.jsonl").write_text('{"epoch":1,"train_loss":2.25}\nnonsense\n')
    with pytest.raises(ValueError, match="line 2: expected a JSON object"):
        run.metrics


def test_evaluations_have_metrics_intervals_and_nan(folder):
    run = debias.Run(folder)
    groups = run.evaluations["groups"]
    assert groups.metrics["test.acc1"] == 0.75 and math.isnan(groups.metrics["test.worst_group_acc"]) and groups.options == {"k": 5}
    assert groups.intervals["test.acc1"][0] == 0.5 and math.isnan(groups.intervals["test.acc1"][1])
    assert run.evaluations_at(1)["knn"].metrics == {"test.knn_acc1": 0.5} and list(run.evaluations) == ["groups"]
    with pytest.raises(KeyError, match="no evaluation of epoch 4; kept are 1"):
        run.evaluations_at(4)
    assert "<td>0.7500</td>" in run.evaluations._repr_html_() and "train_loss" in run._repr_html_()


def test_frames_have_a_row_for_each_epoch_and_metric(folder):
    pytest.importorskip("pandas")
    run = debias.Run(folder)
    assert list(run.frame()["epoch"]) == [1, 2] and len(run.frame(steps=True)) == 2
    assert list(run.evaluations.frame()["metric"]) == ["test.acc1", "test.worst_group_acc"]


def test_weights_come_by_part(folder):
    run = debias.Run(folder)
    state = run.state_dict()
    assert state["fc.weight"].tolist() == [[0, 1, 2], [3, 4, 5]] and state["steps"].item() == 9 and set(state) == {"fc.weight", "steps"}
    assert run.state_dict(part="head")["fc1.bias"].tolist() == [1, 1, 1, 1]
    with pytest.raises(KeyError, match="no part 'heads'; there are encoder, head"):
        run.state_dict(part="heads")
    with pytest.raises(KeyError, match="no checkpoint 'best'; there is last"):
        run.state_dict("best")


def test_an_encoder_that_torchvision_lacks_is_named(folder):
    with pytest.raises(ValueError, match="torchvision has no network for encoder simple_convnet; use Run.state_dict"):
        debias.Run(folder).encoder()


@pytest.mark.parametrize("name, stem, width", [("resnet18", "imagenet", 64), ("resnet50", "imagenet", 64), ("resnet34", "cifar", 16)])
def test_a_resnet_is_torchvisions(folder, name, stem, width):
    models = pytest.importorskip("torchvision").models
    torch.manual_seed(0)
    from debias import _networks
    expected = getattr(models, name)() if width == 64 else _networks._resnet(name, stem, width, width, 3)
    expected.fc = torch.nn.Identity()
    write_safetensors(folder / "checkpoints" / "last.safetensors", {f"encoder.{key}": value for key, value in expected.state_dict().items()})
    (folder / "config.yaml").write_text(f"encoder: {{name: {name}, stem: {stem}, width: {width}, stem_width: auto}}\n")
    own, images = debias.Run(folder).encoder(), torch.randn(2, 3, 32, 32)
    assert not own.training
    torch.testing.assert_close(own(images), expected.eval()(images), rtol=0, atol=0)
    assert own(images).shape == (2, (32 if name == "resnet50" else 8) * width)
    (folder / "config.yaml").write_text(f"encoder: {{name: {name}, stem: {stem}, width: 8}}\n")
    with pytest.raises(ValueError, match=f"the weights do not fit the recipe's {name}"):
        debias.Run(folder).encoder()
    (folder / "config.yaml").write_text(f"encoder: {{name: {name}, activation: tanh}}\n")
    with pytest.raises(ValueError, match="ends with ReLU, this encoder with tanh"):
        debias.Run(folder).encoder()


def test_tensors_of_every_size_are_read(tmp_path):
    tensors = {"empty": torch.empty(3, 0), "half": torch.tensor([1.5, -2], dtype=torch.bfloat16), "flags": torch.tensor([True, False])}
    write_safetensors(tmp_path / "t.safetensors", tensors)
    for name, tensor in _safetensors.read(tmp_path / "t.safetensors").items():
        torch.testing.assert_close(tensor, tensors[name])


@pytest.mark.parametrize("damage, words", [(lambda data: data[:-1], "the file is damaged"), (lambda data: data[:5], "without a whole header"),
                                           (lambda data: b"\xff" * 8 + data[8:], "without a whole header"),
                                           (lambda data: data[:8] + b"!" + data[9:], "expected a JSON header"),
                                           (lambda data: data.replace(b'"F32"', b'"F33"'), "type, shape or place cannot be read"),
                                           (lambda data: data.replace(b"[4]", b"[5]"), "do not hold F32 of shape")])
def test_damaged_weights_are_refused(tmp_path, damage, words):
    file = tmp_path / "t.safetensors"
    write_safetensors(file, {"a": torch.ones(4)})
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(ValueError, match=words):
        _safetensors.read(file)


def test_a_path_that_is_no_run_is_refused_with_what_is_near(folder):
    with pytest.raises(FileNotFoundError, match="no such run folder; did you mean '.*first'"):
        debias.Run(folder.parent / "frist")
    with pytest.raises(ValueError, match="found no config.yaml in it; it contains 1 runs, such as '.*first'"):
        debias.Run(folder.parent)
    (folder / "config.yaml").write_text("a: [1\n")
    with pytest.raises(ValueError, match="config.yaml: line 2: expected YAML"):
        debias.Run(folder).recipe


def test_embeddings_of_the_folder(folder):
    numpy = pytest.importorskip("numpy")
    with pytest.raises(FileNotFoundError, match="found none"):
        debias.Run(folder).embeddings()
    numpy.save(folder / "z.npy", numpy.eye(3, dtype=numpy.float32))
    (folder / "z.csv").write_text("filenames,labels\na,1\nb,0\nc,-1\n")
    (folder / "z.names.csv").write_text("filenames,labels,class,bias,bias_name\na,1,dog,0,in\nb,0,cat,1,\nc,-1,,-1,\n")
    table = debias.Run(folder).embeddings()
    assert table.paths == ["a", "b", "c"] and table.labels == ["dog", "cat", None] and table.columns == {"bias": ["in", "1", None]}
    assert table.vectors.tolist() == numpy.eye(3).tolist()
