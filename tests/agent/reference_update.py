#!/usr/bin/env python3
"""tests/agent/reference_update.py OUT.json: two updates of an agent in plain PyTorch and double precision, as CURL's authors order them.

Written from the description of the algorithm alone, without sharing passes: what agent_update_test.cpp holds the C++ agent to. Weights and
batches come from a linear congruential generator that both sides have. Of each weight the file holds two products with known numbers.
"""

import json
import math
import sys

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
B, CHANNELS, CROP, FILTERS, FEATURES, HIDDEN, ACTIONS, POSITIVES, TAU = 4, 9, 20, 4, 6, 8, 2, 2, 0.1
SIDE = 3
RATE, DISCOUNT, HEAD_RATE, ENCODER_RATE = 1e-3, 0.99, 0.01, 0.05


def numbers(name, count):
    state = 1
    for character in name:
        state = (state * 31 + ord(character)) % 2**31
    values = []
    for _ in range(count):
        state = (1103515245 * state + 12345) % 2**31
        values.append(state / 2**31)
    return torch.tensor(values)


def weight(name, shape):
    values = (numbers(name, math.prod(shape)).reshape(shape) - 0.5) * 0.6
    return values + 1 if name.endswith("norm.weight") else values


def linear(prefix, inputs, outputs):
    return {f"{prefix}.weight": (outputs, inputs), f"{prefix}.bias": (outputs,)}


def features(prefix):
    return {**linear(f"{prefix}.linear", FILTERS * SIDE * SIDE, FEATURES), f"{prefix}.norm.weight": (FEATURES,), f"{prefix}.norm.bias": (FEATURES,)}


def layers(prefix, inputs, outputs):
    return {**linear(f"{prefix}.first", inputs, HIDDEN), **linear(f"{prefix}.second", HIDDEN, HIDDEN), **linear(f"{prefix}.last", HIDDEN, outputs)}


def critic_shapes(prefix):
    shapes = {}
    for i in range(1, 5):
        shapes[f"{prefix}.convolutions.conv{i}.weight"] = (FILTERS, CHANNELS if i == 1 else FILTERS, 3, 3)
        shapes[f"{prefix}.convolutions.conv{i}.bias"] = (FILTERS,)
    return {**shapes, **features(f"{prefix}.features"), **layers(f"{prefix}.first", FEATURES + ACTIONS, 1), **layers(f"{prefix}.second", FEATURES + ACTIONS, 1)}


SHAPES = {**critic_shapes("critic"), **critic_shapes("target"), **features("actor.features"), **layers("actor.policy", FEATURES, 2 * ACTIONS), "bilinear": (FEATURES, FEATURES)}
w = {name: weight(name, shape) for name, shape in SHAPES.items()}
w["log_temperature"] = torch.tensor(math.log(0.1))
for name, tensor in w.items():
    tensor.requires_grad_(not name.startswith("target."))


def convolve(prefix, pictures):
    x = pictures / 255
    for i in range(1, 5):
        x = F.relu(F.conv2d(x, w[f"{prefix}.convolutions.conv{i}.weight"], w[f"{prefix}.convolutions.conv{i}.bias"], stride=2 if i == 1 else 1))
    return x.flatten(1)


def describe(prefix, convolved):
    x = F.linear(convolved, w[f"{prefix}.features.linear.weight"], w[f"{prefix}.features.linear.bias"])
    return F.layer_norm(x, (FEATURES,), w[f"{prefix}.features.norm.weight"], w[f"{prefix}.features.norm.bias"])


def mlp(prefix, x):
    x = F.relu(F.linear(x, w[f"{prefix}.first.weight"], w[f"{prefix}.first.bias"]))
    x = F.relu(F.linear(x, w[f"{prefix}.second.weight"], w[f"{prefix}.second.bias"]))
    return F.linear(x, w[f"{prefix}.last.weight"], w[f"{prefix}.last.bias"])


def q_values(prefix, convolved, action):
    x = torch.cat([describe(prefix, convolved), action], 1)
    return mlp(f"{prefix}.first", x)[:, 0], mlp(f"{prefix}.second", x)[:, 0]


def policy(convolved, noise):
    mean, log_deviation = mlp("actor.policy", describe("actor", convolved)).chunk(2, 1)
    log_deviation = -10 + 0.5 * (2 + 10) * (torch.tanh(log_deviation) + 1)
    action = torch.tanh(mean + noise * log_deviation.exp())
    likelihood = (-0.5 * noise**2 - log_deviation).sum(1) - 0.5 * ACTIONS * math.log(2 * math.pi)
    return action, likelihood - torch.log(F.relu(1 - action**2) + 1e-6).sum(1)


def named(prefix):
    return [tensor for name, tensor in w.items() if name.startswith(prefix)]


encoder = named("critic.convolutions.") + named("critic.features.")
critic_optimizer = torch.optim.Adam(named("critic."), lr=RATE)
actor_optimizer = torch.optim.Adam(named("actor."), lr=RATE)
temperature_optimizer = torch.optim.Adam([w["log_temperature"]], lr=1e-4, betas=(0.5, 0.999))
encoder_optimizer = torch.optim.Adam(encoder, lr=RATE)
contrastive_optimizer = torch.optim.Adam(encoder + [w["bilinear"]], lr=RATE)


def pictures(name):
    return torch.floor(numbers(name, B * CHANNELS * CROP * CROP) * 256).reshape(B, CHANNELS, CROP, CROP)


def contrast(batch):
    z = describe("critic", convolve("critic", batch["seen"]))
    with torch.no_grad():
        keys = [describe("target", convolve("target", batch[f"positive{p}"])) for p in range(POSITIVES)]
    scores = z @ w["bilinear"] @ keys[0].T
    own = torch.stack([(z @ w["bilinear"] * key).sum(1) for key in keys], 1)
    top = torch.cat([scores, own], 1).max(1, keepdim=True).values.detach()
    e, e_own = (scores - top).exp(), (own - top).exp()
    positive = e.diagonal()
    negatives = e.sum(1) - positive
    estimate = torch.clamp((negatives - TAU * (B - 1) * e_own.mean(1)) / (1 - TAU), min=0)
    losses = torch.log(positive + estimate) - (scores.diagonal() - top[:, 0])
    return losses.mean(), float((estimate == 0).double().mean())


def update(batch, step):
    report = {}
    with torch.no_grad():
        action, likelihood = policy(convolve("critic", batch["next"]), batch["noise_next"])
        first, second = q_values("target", convolve("target", batch["next"]), action)
        wanted = batch["rewards"] + DISCOUNT * (torch.min(first, second) - w["log_temperature"].exp() * likelihood)
    first, second = q_values("critic", convolve("critic", batch["seen"]), batch["actions"])
    loss = F.mse_loss(first, wanted) + F.mse_loss(second, wanted)
    report["critic_loss"] = loss.item()
    critic_optimizer.zero_grad()
    loss.backward()
    critic_optimizer.step()
    if step % 2 == 0:
        convolved = convolve("critic", batch["seen"]).detach()
        action, likelihood = policy(convolved, batch["noise"])
        first, second = q_values("critic", convolved, action)
        loss = (w["log_temperature"].exp().detach() * likelihood - torch.min(first, second)).mean()
        report["actor_loss"] = loss.item()
        report["entropy"] = -likelihood.mean().item()
        actor_optimizer.zero_grad()
        loss.backward()
        actor_optimizer.step()
        temperature_optimizer.zero_grad()
        (w["log_temperature"].exp() * (-likelihood - -ACTIONS).detach()).mean().backward()
        temperature_optimizer.step()
        with torch.no_grad():
            for name in w:
                if name.startswith("target."):
                    rate = ENCODER_RATE if name.startswith(("target.convolutions.", "target.features.")) else HEAD_RATE
                    w[name].mul_(1 - rate).add_(w["critic." + name[7:]], alpha=rate)
    loss, report["clamped"] = contrast(batch)
    report["contrastive_loss"] = loss.item()
    encoder_optimizer.zero_grad()
    contrastive_optimizer.zero_grad()
    loss.backward()
    encoder_optimizer.step()
    contrastive_optimizer.step()
    return report


def batch_of(step):
    batch = {name: pictures(f"{name}{step}") for name in ("seen", "next", "positive0", "positive1")}
    for name in ("actions", "noise_next", "noise"):
        batch[name] = (numbers(f"{name}{step}", B * ACTIONS).reshape(B, ACTIONS) - 0.5) * 2
    batch["rewards"] = numbers(f"rewards{step}", B)
    return batch


reports = [update(batch_of(step), step) for step in range(2)]
sums = {}
for name, tensor in w.items():
    flat = tensor.detach().reshape(-1)
    sums[name] = [float(flat @ numbers("first sum", flat.numel())), float(flat @ numbers("second sum", flat.numel()))]
json.dump({"reports": reports, "sums": sums}, open(sys.argv[1], "w"), indent=1)
