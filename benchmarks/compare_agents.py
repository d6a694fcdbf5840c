#!/usr/bin/env python3
"""benchmarks/compare_agents.py environment|update [--rounds R] [--threads T] [--timer PROGRAM]: agents of ours against Python's, in turn.

environment: control steps without pictures, and steps of an agent with one of 84 x 84, a task a line, against dm_control (env.step, and
physics.render after each action). Wants dm_control 1.0.14 (the environment that scripts/check_control.sh makes: build/control-env/bin/python).
update: one update of critic, actor, temperature, target and encoder, batch 128 and 512, against the same in PyTorch with fused Adam,
passes without gradient where none is needed, gradients of a step's own parameters alone, and gradients set to none. Wants torch 2.11
(make test-python).
Prints medians of R rounds taken in turn, and their ratio. Build the target agent_timer first.
"""

import argparse
import math
import os
import statistics
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TASKS = {"finger_spin": ("finger", "spin", 2), "cartpole_swingup": ("cartpole", "swingup", 8), "reacher_easy": ("reacher", "easy", 4),
         "cheetah_run": ("cheetah", "run", 4), "walker_walk": ("walker", "walk", 2), "ball_in_cup_catch": ("ball_in_cup", "catch", 4)}
PHYSICS_STEPS, PICTURES = 1000, 100


class Timer:
    """Ours: a process that answers each line with seconds."""

    def __init__(self, program, *words):
        self.process = subprocess.Popen([program, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self):
        print("go", file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compared(ours, theirs, rounds):
    ours(), seconds(theirs)  # warm
    pairs = [(ours(), seconds(theirs)) for _ in range(rounds)]
    return [statistics.median(times) for times in zip(*pairs)]


def compare_environments(arguments):
    os.environ.setdefault("MUJOCO_GL", "egl")
    import numpy as np
    from dm_control import suite

    print("task: ours, dm_control (control steps a second); ours, dm_control (pictures a second); ratios")
    for name, (domain, task, repeat) in TASKS.items():
        env = suite.load(domain, task, task_kwargs={"random": 1})
        draws = np.random.RandomState(1)
        shape = env.action_spec().shape

        def physics():
            env.reset()
            for _ in range(PHYSICS_STEPS):
                env.step(draws.uniform(-1, 1, shape))

        def pictures():
            env.reset()
            for _ in range(PICTURES):
                action = draws.uniform(-1, 1, shape)
                for _ in range(repeat):
                    env.step(action)
                env.physics.render(height=84, width=84, camera_id=0)

        rates = []
        for words, work, count in ((("physics", name, PHYSICS_STEPS), physics, PHYSICS_STEPS), (("pixels", name, PICTURES, 84), pictures, PICTURES)):
            timer = Timer(arguments.timer, *words)
            rates.append([count / taken for taken in compared(timer, work, arguments.rounds)])
            timer.close()
        (a, b), (c, d) = rates
        print(f"{name}: {a:.0f} {b:.0f}; {c:.1f} {d:.1f}; physics {a / b:.2f}, pictures {c / d:.2f}", flush=True)


def pytorch_update(batch, crop=84, filters=32, features=50, hidden=1024, actions=1):
    import torch
    import torch.nn.functional as F
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self, convolutions=None):
            super().__init__()
            self.convolutions = convolutions or nn.Sequential(
                nn.Conv2d(9, filters, 3, 2), nn.ReLU(), nn.Conv2d(filters, filters, 3), nn.ReLU(), nn.Conv2d(filters, filters, 3), nn.ReLU(),
                nn.Conv2d(filters, filters, 3), nn.ReLU(), nn.Flatten())
            self.head = nn.Sequential(nn.Linear(filters * ((crop - 3) // 2 - 5) ** 2, features), nn.LayerNorm(features))

        def forward(self, x, detach=False):
            x = self.convolutions(x)
            return self.head(x.detach() if detach else x)

    def layers(inputs, outputs):
        return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, outputs))

    class Critic(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = Encoder()
            self.first, self.second = layers(features + actions, 1), layers(features + actions, 1)

        def forward(self, x, action, detach=False):
            x = torch.cat([self.encoder(x, detach), action], 1)
            return self.first(x), self.second(x)

    critic, target = Critic(), Critic()
    actor_head, policy = Encoder(critic.encoder.convolutions), layers(features, 2 * actions)
    bilinear, log_temperature = nn.Parameter(torch.rand(features, features)), nn.Parameter(torch.tensor(math.log(0.1)))
    adam = lambda parameters, **more: torch.optim.Adam(parameters, lr=1e-3, fused=True, **more)
    encoder = list(critic.encoder.parameters())
    critic_adam, actor_adam = adam(critic.parameters()), adam([*actor_head.head.parameters(), *policy.parameters()])
    temperature_adam, encoder_adam, contrastive_adam = adam([log_temperature], betas=(0.5, 0.999)), adam(encoder), adam([*encoder, bilinear])

    def picture():
        return torch.randint(0, 256, (batch, 9, crop, crop), dtype=torch.uint8)

    seen, following, positive = picture(), picture(), picture()
    action, reward = torch.rand(batch, actions), torch.rand(batch, 1)

    def act(x, detach=False):
        mean, log_deviation = policy(actor_head(x, detach)).chunk(2, 1)
        log_deviation = -10 + 6 * (torch.tanh(log_deviation) + 1)
        noise = torch.randn_like(mean)
        drawn = torch.tanh(mean + noise * log_deviation.exp())
        likelihood = (-0.5 * noise**2 - log_deviation).sum(1, keepdim=True) - 0.5 * actions * math.log(2 * math.pi)
        return drawn, likelihood - torch.log(F.relu(1 - drawn**2) + 1e-6).sum(1, keepdim=True)

    def step(optimizer, loss):
        optimizer.zero_grad(set_to_none=True)
        loss.backward(inputs=[parameter for group in optimizer.param_groups for parameter in group["params"]])
        optimizer.step()

    def update():
        x, y, z = (pictures.float().div_(255) for pictures in (seen, following, positive))
        with torch.no_grad():
            drawn, likelihood = act(y)
            wanted = reward + 0.99 * (torch.min(*target(y, drawn)) - log_temperature.exp() * likelihood)
        first, second = critic(x, action)
        step(critic_adam, F.mse_loss(first, wanted) + F.mse_loss(second, wanted))
        drawn, likelihood = act(x, detach=True)
        step(actor_adam, (log_temperature.exp().detach() * likelihood - torch.min(*critic(x, drawn, detach=True))).mean())
        step(temperature_adam, (log_temperature.exp() * (-likelihood + actions).detach()).mean())
        with torch.no_grad():
            for to, of in zip(target.parameters(), critic.parameters()):
                to.lerp_(of, 0.05)
        anchors = critic.encoder(x) @ bilinear
        with torch.no_grad():
            keys = target.encoder(z)
        scores = anchors @ keys.T
        scores = (scores - scores.max(1, keepdim=True).values.detach())
        exponentials = scores.exp()
        own = exponentials.diagonal()
        estimate = torch.clamp((exponentials.sum(1) - own - 0.1 * (batch - 1) * own) / 0.9, min=0)
        loss = (torch.log(own + estimate) - scores.diagonal()).mean()
        encoder_adam.zero_grad(set_to_none=True)
        step(contrastive_adam, loss)
        encoder_adam.step()

    return update


def compare_updates(arguments):
    import torch

    torch.set_num_threads(arguments.threads)
    for batch in (128, 512):
        timer = Timer(arguments.timer, "update", batch, 84, 32, 1024, arguments.threads)
        ours, theirs = compared(timer, pytorch_update(batch), arguments.rounds)
        timer.close()
        print(f"update, batch {batch}: ours {ours:.3f} s, PyTorch {theirs:.3f} s, ratio {theirs / ours:.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["environment", "update"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--timer", default=str(ROOT / "build/release/bin/agent_timer"))
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    os.environ.setdefault("LP_NUM_THREADS", "0")
    compare_environments(arguments) if arguments.part == "environment" else compare_updates(arguments)


if __name__ == "__main__":
    main()
