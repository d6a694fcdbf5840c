"""CachedStep against the step of the whole batch."""

import collections
import copy
import types

import pytest
import torch

import debias

LABELS, BIAS = torch.arange(22) % 4, torch.arange(22) % 3


def encoder(dropout=0.0, outputs=5):
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Dropout(dropout), torch.nn.Linear(8, outputs)).double()


def inputs(count=2):
    generator = torch.Generator().manual_seed(4)
    return torch.randn(count, 22, 6, generator=generator, dtype=torch.float64).unbind(0)


CASES = [
    (debias.SupConLoss(), 1, {"labels": LABELS}), (debias.SupConLoss(), 2, {"labels": LABELS}), (debias.SupConLoss(), 2, {}),
    (debias.FairKLLoss(), 1, {"labels": LABELS, "bias_labels": BIAS}), (debias.FairKLLoss(mode="kl"), 2, {"labels": LABELS, "bias_labels": BIAS}),
    (debias.DebiasedNegativesLoss(), 2, {}), (debias.InfoNCELoss(), 3, {}),
    (debias.InfoNCELoss(), 1, {"ids": range(22), "keys": torch.ones(30, 5).double().cumsum(0).cos(), "key_ids": [*range(22), *[-1] * 8]}),
    (debias.TwoTowerLoss(), 2, {"ids": LABELS}), (debias.TwoTowerLoss("siglip"), 2, {"logit_bias": -2.0}),
    (debias.CrossEntropyLoss(), 1, {"labels": LABELS}), (lambda a, b: (a - b).square().mean(), 2, {}),
]


@pytest.mark.parametrize("chunk", [1, 5, 64])
@pytest.mark.parametrize("loss, count, keywords", CASES)
def test_value_and_gradients_are_those_of_the_whole_batch(loss, count, keywords, chunk):
    whole, cached = encoder(), encoder()
    rows = [whole(one) for one in inputs(count)]
    supervised = type(loss).__name__ in ("SupConLoss", "FairKLLoss")
    expected = loss(rows, **keywords) if supervised and count > 1 else loss(*rows, **keywords)
    expected.backward()
    found = debias.CachedStep(encode=cached, loss=loss, chunk=chunk)(*inputs(count), **keywords)
    (2 * found).backward()  # the gradient that comes from above
    assert found.item() == pytest.approx(expected.item(), rel=1e-10)
    for got, want in zip(cached.parameters(), whole.parameters()):
        torch.testing.assert_close(got.grad, 2 * want.grad, rtol=1e-6, atol=1e-10)


def test_two_towers_with_a_learnt_scale():
    a, b = encoder(), encoder(outputs=5)
    loss = debias.TwoTowerLoss(logit_scale=torch.nn.Parameter(torch.tensor(5.0)))
    x, y = inputs()
    expected = torch.autograd.grad(loss(a(x), b(y)), [*a.parameters(), *b.parameters(), loss.logit_scale])
    step = debias.CachedStep(encode=(a, b), loss=loss, chunk=7)
    step(x, y).backward()
    for got, want in zip([*a.parameters(), *b.parameters(), loss.logit_scale], expected):
        torch.testing.assert_close(got.grad, want, rtol=1e-6, atol=1e-10)


def test_methods_of_one_module_may_encode():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.image, self.text = encoder(), encoder()

        def encode_image(self, x):
            return self.image(x)

        def encode_text(self, x):
            return self.text(x)

    model, other = Model(), Model()
    x, y = inputs()
    debias.TwoTowerLoss()(other.image(x), other.text(y)).backward()
    debias.CachedStep((model.encode_image, model.encode_text), debias.TwoTowerLoss(), chunk=8)(x, y).backward()
    for got, want in zip(model.parameters(), other.parameters()):
        torch.testing.assert_close(got.grad, want.grad, rtol=1e-6, atol=1e-10)


def test_dropout_is_the_same_in_both_passes():
    """The gradient of the value that was returned: along it, the value with the same masks falls by its square."""
    model, (x,) = encoder(dropout=0.5), inputs(1)
    step = debias.CachedStep(model, debias.SupConLoss(), chunk=6)

    def value(moved):
        torch.manual_seed(11)
        with torch.no_grad():
            return step_of(moved)(x, labels=LABELS).item()

    step_of = lambda module: debias.CachedStep(module, debias.SupConLoss(), chunk=6)
    torch.manual_seed(11)
    step(x, labels=LABELS).backward()
    size, moved, back = 1e-6, copy.deepcopy(model), copy.deepcopy(model)
    with torch.no_grad():
        for one, other, own in zip(moved.parameters(), back.parameters(), model.parameters()):
            one.add_(size * own.grad)
            other.sub_(size * own.grad)
    square = sum(parameter.grad.square().sum().item() for parameter in model.parameters())
    assert (value(moved) - value(back)) / (2 * size) == pytest.approx(square, rel=1e-5)


def test_running_statistics_are_updated_once_and_the_generator_moves_once():
    model = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.1)).double()
    other, (x,) = copy.deepcopy(model), inputs(1)
    torch.manual_seed(0)
    loss = debias.CachedStep(model, debias.SupConLoss(), chunk=11)(x, labels=LABELS)
    after_forward = torch.get_rng_state()
    loss.backward()
    assert torch.equal(torch.get_rng_state(), after_forward)
    torch.manual_seed(0)
    for chunk in x.split(11):
        other(chunk)
    for got, want in zip(model.buffers(), other.buffers()):
        assert torch.equal(got, want)


def test_only_rows_and_one_chunk_are_held():
    """Activations that autograd stores, counted by hooks on what it saves."""
    class Counting(torch.nn.Module):
        largest = 0

        def __init__(self):
            super().__init__()
            self.inner = encoder()

        def forward(self, x):
            Counting.largest = max(Counting.largest, len(x))
            return self.inner(x)

    debias.CachedStep(Counting(), debias.SupConLoss(), chunk=4)(*inputs(1), labels=LABELS).backward()
    assert Counting.largest == 4


@pytest.mark.parametrize("chunk, passes", [(21, 4), (22, 1), (64, 1)])
def test_a_batch_of_one_chunk_is_encoded_once(chunk, passes):
    model = encoder()
    calls = []
    model.register_forward_hook(lambda *_: calls.append(1))
    debias.CachedStep(model, debias.SupConLoss(), chunk=chunk)(*inputs(1), labels=LABELS).backward()
    assert len(calls) == passes


def test_parameters_that_share_a_gradient_keep_their_own():
    """Autograd hands one tensor to both summands."""
    class Shifted(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = (torch.nn.Parameter(torch.full((1, 5), value)) for value in (0.1, 0.2))

        def forward(self, x):
            return x[:, :5] + (self.first + self.second)

    whole, cached = Shifted(), Shifted()
    x, = inputs(1)
    debias.SupConLoss()(whole(x), labels=LABELS).backward()
    debias.CachedStep(cached, debias.SupConLoss(), chunk=5)(x, labels=LABELS).backward()
    for one, other in zip(whole.parameters(), cached.parameters()):
        torch.testing.assert_close(other.grad, one.grad.to(other.grad.dtype))


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("sizes", [(22, 22), (22, 5), (5, 22)])
def test_autocast_keeps_the_gradients(sizes, inside):
    """In torch before 2.15, weights that autocast has cast without a graph are used again where one is needed."""
    whole, cached = encoder().float(), encoder().float()
    x, y = (one[:size].float() for one, size in zip(inputs(), sizes))
    loss = lambda a, b: a.float().square().mean() + (b.float() - 1).square().mean()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss(whole(x), whole(y)).backward()
        value = debias.CachedStep(cached, loss, chunk=6)(x, y)
        after = torch.autograd.grad(cached(x).float().sum(), list(cached.parameters()))
        if inside:
            value.backward()
    if not inside:
        value.backward()
    assert all(one.abs().sum() > 0 for one in after)
    for got, want in zip(cached.parameters(), whole.parameters()):
        torch.testing.assert_close(got.grad, want.grad, rtol=2e-2, atol=2e-3)


def test_a_step_without_autocast_is_repeated_without_it():
    model, types_seen = encoder().float(), set()
    model.register_forward_hook(lambda module, given, rows: types_seen.add(rows.dtype))
    value = debias.CachedStep(model, lambda a: a.square().mean(), chunk=6)(inputs()[0].float())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value.backward()
    assert types_seen == {torch.float32}


class OfKeys(torch.nn.Module):
    """An encoder of dicts, as those of texts are."""

    def __init__(self):
        super().__init__()
        self.inner, self.seen = encoder(), []

    def forward(self, given):
        self.seen.append(type(given))
        if isinstance(given, tuple):
            x, (mask, words) = given.x, given.more
        else:
            x, mask, words = given["x"], given["more"]["mask"], given["more"]["words"]
            assert given["scale"] == 2 and given["nothing"] is None and given["one"].shape == ()
        assert len(x) == len(mask) == len(words) and all(word == f"w{int(one)}" for word, one in zip(words, mask[:, 0]))
        return self.inner(x * mask[:, 1:])


Pair = collections.namedtuple("Pair", "x more")


@pytest.mark.parametrize("kind", [dict, collections.OrderedDict, collections.UserDict, types.MappingProxyType])
def test_dicts_are_split_key_by_key(kind):
    x = inputs(1)[0]
    mask = torch.stack([torch.arange(22.0), torch.arange(22) % 2], 1).double()
    words = [f"w{i}" for i in range(22)]
    given = kind({"x": x, "more": {"mask": mask, "words": words}, "scale": 2, "nothing": None, "one": torch.tensor(3.0)})
    whole, cached = OfKeys(), OfKeys()
    debias.SupConLoss()(whole(given), labels=LABELS).backward()
    debias.CachedStep(cached, debias.SupConLoss(), chunk=5)(given, labels=LABELS).backward()
    assert set(cached.seen) == {dict if kind is types.MappingProxyType else kind} and len(cached.seen) == 10
    assert len(given["x"]) == 22
    pair = OfKeys()
    debias.CachedStep(pair, debias.SupConLoss(), chunk=5)(Pair(x, (mask, words)), labels=LABELS).backward()
    for step in (cached, pair):
        for got, want in zip(step.parameters(), whole.parameters()):
            torch.testing.assert_close(got.grad, want.grad, rtol=1e-6, atol=1e-10)


def test_the_encodings_of_a_tokenizer_are_split():
    encodings = pytest.importorskip("transformers").BatchEncoding

    class Texts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = torch.nn.Embedding(9, 5)

        def forward(self, given):
            assert isinstance(given, encodings) and given.input_ids.shape == given["attention_mask"].shape
            return (self.words(given.input_ids) * given.attention_mask[..., None]).sum(1)

    given = encodings({"input_ids": torch.arange(66).view(22, 3) % 9, "attention_mask": torch.ones(22, 3)})
    model = Texts()
    expected = torch.autograd.grad(debias.SupConLoss()(model(given), labels=LABELS), model.words.weight)[0]
    debias.CachedStep(model, debias.SupConLoss(), chunk=4)(given, labels=LABELS).backward()
    torch.testing.assert_close(model.words.weight.grad, expected, rtol=1e-4, atol=1e-6)


class FullyShardedDataParallel(torch.nn.Sequential):
    """In the place of the wrapper, which needs a process group."""


def ddp_inside(wrap):
    made = torch.nn.parallel.DistributedDataParallel.__new__(torch.nn.parallel.DistributedDataParallel)
    torch.nn.Module.__init__(made)
    made.module = encoder()
    return wrap(made)


KEYS = lambda **given: {"x": torch.ones(22, 6), **given}


@pytest.mark.parametrize("make, error, words", [
    (lambda: debias.CachedStep(OfKeys(), debias.SupConLoss())(KEYS(y=torch.ones(21))), ValueError,
     r"input 0\['y'\]: expected 22 samples as in \['x'\], got 21"),
    (lambda: debias.CachedStep(OfKeys(), debias.SupConLoss())(KEYS(y={"z": ["a"]})), ValueError, r"input 0\['y'\]\['z'\]: expected 22 samples"),
    (lambda: debias.CachedStep(OfKeys(), debias.SupConLoss())(KEYS(y=torch.ones(22, requires_grad=True))), ValueError, r"\['y'\]: .*no gradient"),
    (lambda: debias.CachedStep(OfKeys(), debias.SupConLoss())({}), TypeError, "got dict; or a dict of such tensors"),
    (lambda: debias.CachedStep(FullyShardedDataParallel(encoder()), debias.SupConLoss()), TypeError, "got FullyShardedDataParallel, which shards"),
    (lambda: debias.CachedStep(torch.nn.Sequential(FullyShardedDataParallel(encoder())), debias.SupConLoss()), TypeError, "DataParallel at '0'"),
    (lambda: debias.CachedStep(ddp_inside(torch.nn.Sequential), debias.SupConLoss()), TypeError, "around the whole encoder, got it within at '0'"),
    (lambda: debias.CachedStep(ddp_inside(torch.compile), debias.SupConLoss()), TypeError, "got it within at '_orig_mod'; give Distributed"),
    (lambda: debias.CachedStep(lambda x: x, debias.SupConLoss()), TypeError, "encode: expected a torch.nn.Module or a method of one, got function"),
    (lambda: debias.CachedStep(encoder(), debias.SupConLoss(), chunk=0), ValueError, "chunk: expected a number of samples, at least 1, got 0"),
    (lambda: debias.CachedStep(encoder(), "supcon"), TypeError, "loss: expected a module or a function, got str"),
    (lambda: debias.CachedStep((encoder(),) * 2, debias.TwoTowerLoss())(inputs(1)[0]), TypeError, "expected 2 inputs, got 1"),
    (lambda: debias.CachedStep(encoder(), debias.SupConLoss())([1, 2]), TypeError, r"input 0: expected a non-empty tensor \[B, ...\], got list"),
    (lambda: debias.CachedStep(encoder(), debias.SupConLoss())(inputs(1)[0].clone().requires_grad_()), ValueError, "asks for no gradient"),
    (lambda: debias.CachedStep(torch.nn.Flatten(0), debias.SupConLoss())(inputs(1)[0]), ValueError, "encode: expected a tensor of 22 rows"),
])
def test_refusals_name_argument_expected_and_got(make, error, words):
    with pytest.raises(error, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)
