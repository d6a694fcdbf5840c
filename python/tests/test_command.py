"""The package and the command, two implementations: value, losses of anchors and gradient. Skipped where the command is not built."""

import json
import os
import pathlib
import subprocess

import numpy
import pytest
import torch

from debias import plain
from settings import KEYED, NAMES, SETTINGS, TABLE, cases, given, keyed, loss_of

BINARY = os.environ.get("DEBIAS_BINARY", str(pathlib.Path(__file__).parents[2] / "build/release/bin/debias"))
pytestmark = pytest.mark.skipif(not os.access(BINARY, os.X_OK), reason="the command is not built")


def test_the_table_of_objectives_is_the_commands():
    """To write it anew: debias list objectives --json, its list, each objective by json.dumps on a line of its own."""
    listed = json.loads(subprocess.run([BINARY, "list", "objectives", "--json"], capture_output=True, text=True, check=True).stdout)
    assert listed["objectives"] == list(TABLE.values())


def words_of(options):
    spoken = lambda value: str(value).lower() if isinstance(value, bool) else ".inf" if value == float("inf") else str(value)
    return [word for name, value in options.items() for word in ("--set", f"{name}={spoken(value)}")]


def by_command(folder, name, options, tensors):
    """value, losses of anchors and gradient; of the dense engine, whose formulas are the definition."""
    command = [BINARY, "loss", "--objective", name, "--json", "--normalize", "false", "--engine", "dense", "--threads", "1",
               "--grad-out", folder / "g.npy", "--per-anchor-out", folder / "a.npy", *words_of(options)]
    for what, tensor in tensors.items():
        if tensor is not None:
            numpy.save(folder / f"{what}.npy", tensor.detach().numpy())
            command += [f"--{what}", folder / f"{what}.npy"]
    precision = "fp64" if tensors["embeddings"].dtype == torch.float64 else "fp32"
    done = subprocess.run([*map(str, command), "--precision", precision], capture_output=True, text=True)
    assert done.returncode == 0, (options, done.stderr)
    return json.loads(done.stdout)["loss"], *(torch.from_numpy(numpy.load(folder / file)) for file in ("a.npy", "g.npy"))


def compare(folder, name, options, values, keys=None, dtype=torch.float64):
    """options are given resolved, so that no default is left to either."""
    options = loss_of(name, **options).options
    if name == "eps_supinfonce" and options["form"] == "d":
        return
    z = values["z"].to(dtype).requires_grad_()
    weights = values.get("weights")
    weights = weights if weights is None else weights.to(dtype)
    own = {} if keys is None else {what: None if tensor is None or what == "positives" else tensor.to(dtype) if tensor.is_floating_point()
                                   else tensor for what, tensor in keys.items()}
    result = plain.evaluated(TABLE[name], options, plain.Call(z, values["labels"], values["bias"], weights, engine="auto", **own))
    gradient = torch.autograd.grad(result.value, z)[0] if result.value.requires_grad else torch.zeros_like(z)
    given_to = {"embeddings": z, "labels": values["labels"], "bias": values["bias"], "weights": weights}
    given_to.update({what.replace("_", "-"): tensor for what, tensor in own.items()})
    value, losses, expected = by_command(folder, name, options, given_to)
    close = {"rtol": 1e-10, "atol": 1e-10} if dtype == torch.float64 else {"rtol": 1e-5, "atol": 2e-5}
    assert result.value.item() == pytest.approx(value, rel=close["rtol"], abs=close["atol"]), options
    torch.testing.assert_close(result.per_anchor.detach().double(), losses, equal_nan=True, msg=lambda text: f"{options}: {text}", **close)
    torch.testing.assert_close(gradient.double(), expected.double(), msg=lambda text: f"{options}: {text}",
                               rtol=10 * close["rtol"], atol=10 * close["atol"])


@pytest.mark.parametrize("name", NAMES)
def test_the_command_computes_the_same(name, tmp_path):
    *few, all_of_them = cases(name)
    for views in (*few, all_of_them):
        for options in SETTINGS[name] if views == all_of_them else SETTINGS[name][:2]:
            compare(tmp_path, name, options, given(name, views))


@pytest.mark.parametrize("name", NAMES)
def test_the_command_computes_the_same_in_single_precision(name, tmp_path):
    compare(tmp_path, name, {}, given(name, cases(name)[-1]), dtype=torch.float32)


@pytest.mark.parametrize("name", KEYED)
def test_the_command_computes_the_same_with_keys(name, tmp_path):
    for options in SETTINGS[name][::3]:
        if options.get("form") != "d":
            compare(tmp_path, name, options, given(name, 1, 6), keyed(6, False))
