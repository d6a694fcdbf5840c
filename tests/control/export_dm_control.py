#!/usr/bin/env python3
"""tests/control/export_dm_control.py OUT [--steps 50] [--seed 1]: what dm_control does with seeded actions, a record a task in the JSON file OUT.

It wants mujoco==2.3.7, dm_control==1.0.14 and numpy<2 (an environment of their own; scripts/check_control.sh makes one). That of 50 steps is
tests/golden/control.json; DEBIAS_CONTROL_GOLDEN=OUT has control_test read another, of 1,000 steps say. Each record holds the first state,
actions, states and rewards after each control step, and the SHA-256 of the last step's picture at 84 and 100 pixels ([3, n, n], RGB), and
of every 100th step's, with the renderer that drew them. Tasks in which random actions are paid nothing have a second record, `paying`, from a
state that is paid.
"""

import argparse
import hashlib
import json
import os
import pathlib

os.environ.setdefault("MUJOCO_GL", "egl")

import dm_control  # noqa: E402,F401
import mujoco  # noqa: E402
import numpy as np  # noqa: E402
from dm_control import suite  # noqa: E402

TASKS = [("finger", "spin"), ("cartpole", "swingup"), ("reacher", "easy"), ("cheetah", "run"), ("walker", "walk"), ("ball_in_cup", "catch")]
PICTURE_EVERY = 100
PAYING_STEPS = 60  # of which some are paid and some are not


def renderer(physics):
    from OpenGL import GL

    with physics.contexts.gl.make_current() as context:
        words = [context.call(GL.glGetString, name).decode() for name in (GL.GL_RENDERER, GL.GL_VERSION)]
    return ", ".join(words)


def picture_hashes(physics):
    hashes = {}
    for pixels in (84, 100):
        frame = physics.render(height=pixels, width=pixels, camera_id=0)
        hashes[str(pixels)] = hashlib.sha256(np.ascontiguousarray(frame.transpose(2, 0, 1)).tobytes()).hexdigest()
    return hashes


def spin(physics):
    physics.named.data.qvel["hinge"] = -20


def touch(physics):
    """Brings the target to the tip."""
    to_target = physics.named.data.geom_xpos["finger"] - physics.named.data.geom_xpos["target"]
    physics.named.model.geom_pos["target"] += to_target


def catch(physics):
    """Brings the ball into the cup."""
    to_target = physics.named.data.site_xpos["target"] - physics.named.data.xpos["ball"]
    physics.named.data.qpos["ball_x"] += to_target[0]
    physics.named.data.qpos["ball_z"] += to_target[2]


PAID = {("finger", "spin"): spin, ("reacher", "easy"): touch, ("ball_in_cup", "catch"): catch}


def first_state(physics):
    return {
        "qpos": physics.data.qpos.tolist(),
        "qvel": physics.data.qvel.tolist(),
        "qacc_warmstart": physics.data.qacc_warmstart.tolist(),
        "geom_pos": physics.model.geom_pos.ravel().tolist(),
    }


def recorded(domain, task, steps, seed):
    env = suite.load(domain, task, task_kwargs={"random": seed})
    env.reset()
    physics = env.physics
    first = first_state(physics)
    draws = np.random.RandomState(seed)
    actions, states, rewards, between = [], [], [], {}
    for step in range(1, steps + 1):
        action = draws.uniform(-1, 1, env.action_spec().shape).astype(np.float32)
        actions.append([float(a) for a in action])
        rewards.append(float(env.step(action).reward))
        states.append(np.concatenate([physics.data.qpos, physics.data.qvel]).tolist())
        if step % PICTURE_EVERY == 0:
            between[str(step)] = picture_hashes(physics)
    record = {"task": f"{domain}_{task}", "mujoco": mujoco.__version__, "first": first, "actions": actions, "states": states,
            "rewards": rewards, "frames": picture_hashes(physics), "frames_between": between, "renderer": renderer(physics)}
    if (domain, task) in PAID:
        record["paying"] = recorded_paying(domain, task, seed)
    return record


def recorded_paying(domain, task, seed):
    env = suite.load(domain, task, task_kwargs={"random": seed})
    env.reset()
    physics = env.physics
    qpos, qvel = physics.data.qpos.copy(), physics.data.qvel.copy()
    with physics.reset_context():
        physics.data.qpos[:], physics.data.qvel[:] = qpos, qvel
        physics.forward()
        PAID[domain, task](physics)
    first = first_state(physics)
    draws = np.random.RandomState(seed)
    actions, states, rewards = [], [], []
    for _ in range(PAYING_STEPS):
        action = draws.uniform(-1, 1, env.action_spec().shape).astype(np.float32)
        actions.append([float(a) for a in action])
        rewards.append(float(env.step(action).reward))
        states.append(np.concatenate([physics.data.qpos, physics.data.qvel]).tolist())
    return {"first": first, "actions": actions, "states": states, "rewards": rewards}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    records = {}
    for domain, task in sorted(TASKS):
        record = recorded(domain, task, arguments.steps, arguments.seed)
        records[record["task"]] = record
        print(f"{record['task']}: {arguments.steps} steps, return {sum(record['rewards']):.3f}")
    arguments.out.write_text("{" + ",\n".join(f'"{task}": {json.dumps(record)}' for task, record in records.items()) + "}\n")


if __name__ == "__main__":
    main()
