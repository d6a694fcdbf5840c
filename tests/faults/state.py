"""Class 6: run folders that somebody touched: recipe, metrics, checkpoints, removed files, leftovers of a killed process."""

import json
import os
import shutil
import time

from .command import DATA, USAGE, NotTried, require, short, wait_until
from .runs import Safetensors, checkpoint, read, require_nothing_half_written, require_same_run, require_untouched, snapshot, write

TITLE = "touched state"
KEPT = ("train.log", "times.jsonl", ".lock")
COUNTS = ("epoch", "batch", "step", "metrics_bytes", "best_epoch", "substituted", "threads")
IMPOSSIBLE = ("-1", "4611686018427387904", "18446744073709551615", "1.5", "1e999", '"x"', "null", "[]")
OTHERS = ("loss_sum", "grad_norm_sum", "best_value", "finished", "instruction_set", "format", "diagnostics", "estimates", "failed_evaluations")


def refused(damage, *exits):
    """Resuming what was damaged is refused, and the run stays as it is, to be mended."""
    def body(place, random):
        run = place.cut()
        damage(run, random)
        before = snapshot(run, KEPT)
        words = random.choice((["train", run, "--resume"], place.training(run, "--resume")))
        place.run(*words).expect(*exits)
        require_untouched(before, run, KEPT)
    return body


def made_up_for(damage):
    """The damage is mended or does not matter: the run ends with the undisturbed run's bytes."""
    def body(place, random):
        run = place.cut()
        damage(run, random)
        place.require_finishes(run)
    return body


def config_emptied(run, random):
    write("", run, "config.yaml")


def config_cut(run, random):
    text = read(run, "config.yaml")
    write(text[:random.randrange(1, len(text) * 9 // 10)], run, "config.yaml")


def config_edited(run, random):
    text = read(run, "config.yaml").decode()
    key, then, now = random.choice((("learning_rate", "0.01", "0.02"), ("tau_plus", "0.1", "0.2"), ("batch_size", "16", "32"),
                                    ("seed", "3", "4"), ("width", "8", "16"), ("epochs", "3", "4")))
    require(f"{key}: {then}" in text, f"config.yaml has no '{key}: {then}'")
    write(text.replace(f"{key}: {then}", f"{key}: {now}", 1), run, "config.yaml")


def config_of_noise(run, random):
    write(random.randbytes(random.randrange(1, 2000)), run, "config.yaml")


def config_removed(run, random):
    os.remove(os.path.join(run, "config.yaml"))


def metrics_cut(run, random):
    state = Safetensors(checkpoint(run)).state()
    write(read(run, "metrics.jsonl")[:random.randrange(state["metrics_bytes"])], run, "metrics.jsonl")


def metrics_edited(run, random):
    text = bytearray(read(run, "metrics.jsonl"))
    digits = [i for i in range(Safetensors(checkpoint(run)).state()["metrics_bytes"]) if chr(text[i]).isdigit()]
    at = random.choice(digits)
    text[at] = ord("0") + (text[at] - ord("0") + random.randrange(1, 10)) % 10
    write(bytes(text), run, "metrics.jsonl")


def metrics_removed(run, random):
    os.remove(os.path.join(run, "metrics.jsonl"))


def metrics_longer(run, random):
    write(read(run, "metrics.jsonl") + b'{"epoch":99,"train_loss":1}\n{"half', run, "metrics.jsonl")


def table_edited(run, random):
    write(read(run, "metrics.csv")[:random.randrange(50)] + b"x,y\n", run, "metrics.csv")


def table_removed(run, random):
    os.remove(os.path.join(run, "metrics.csv"))


def small_files_removed(run, random):
    for name in ("environment.json", "classes.json"):
        os.remove(os.path.join(run, name))
    shutil.rmtree(os.path.join(run, "evaluation"))
    shutil.rmtree(os.path.join(run, "exported"))


def leftovers(run, random):
    """Temporaries of a process that is no more."""
    gone = os.fork()
    if gone == 0:
        os._exit(0)
    os.waitpid(gone, 0)
    for name in (f"checkpoints/next.safetensors.tmp-{gone}-0", f"config.yaml.tmp-{gone}-3", f"evaluation/knn.json.tmp-{gone}-12"):
        write(random.randbytes(1000), run, name)


def damaged_last(how):
    """`last` is damaged; training goes on from `previous`, and ends with the same bytes."""
    def damage(run, random):
        shutil.copy(checkpoint(run), checkpoint(run, "previous"))
        damage_file(how, checkpoint(run), random)
    return damage


def damage_file(how, path, random):
    content = bytearray(read(path))
    if how == "flipped":
        at = random.randrange(len(content))
        content[at] ^= 1 << random.randrange(8)
        write(bytes(content), path)
    elif how == "cut":
        write(bytes(content[:random.randrange(len(content))]), path)
    elif how == "emptied":
        write("", path)
    elif how == "of noise":
        write(random.randbytes(len(content)), path)
    else:
        os.remove(path)


def both_damaged(how):
    def damage(run, random):
        shutil.copy(checkpoint(run), checkpoint(run, "previous"))
        for name in ("last", "previous"):
            damage_file(how, checkpoint(run, name), random)
    return damage


def stored(key, value):
    """A training state with another value at `key`, under a right checksum."""
    def damage(run, random):
        file = Safetensors(checkpoint(run))
        state = {**file.state(), key: "changed here"}
        file.write_with_state(json.dumps(state).replace('"changed here"', value))
    return damage


def never_internal(damage):
    """Taken or refused, in one line with the exit code of data."""
    def body(place, random):
        run = place.cut()
        damage(run, random)
        result = place.run("train", run, "--resume")
        result.expect(0, DATA)
        require_nothing_half_written(run)
    return body


def while_training(act):
    """Files that go away during a run are noticed at the next commit."""
    def body(place, random):
        more = ("train.epochs=12",)
        whole = place.whole("plain", *more, name="whole-plain-12")
        for attempt in range(3):
            run = place / f"run{attempt}"
            process = place.command.start(place.training(run, *more))
            target = os.path.join(run, "metrics.jsonl")
            wait_until(lambda: os.path.exists(target) and os.path.getsize(target) > 0, process, "the first commit")
            time.sleep(random.uniform(0, 0.2))
            act(run, random)
            ended = process.poll() is not None
            result = place.command.finish(process)
            if not ended and "epoch 12/12" in result.err:
                break
        else:
            raise NotTried("training ended three times before the file was gone")
        result.expect(0)
        require("metrics" in result.err or "checkpoint" in result.err, f"nothing is said: {short(result.err)}")
        require_same_run(run, whole)
    return body


def metrics_gone(run, random):
    os.remove(os.path.join(run, "metrics.jsonl"))


def metrics_cut_meanwhile(run, random):
    size = os.path.getsize(os.path.join(run, "metrics.jsonl"))
    os.truncate(os.path.join(run, "metrics.jsonl"), random.randrange(size))


def cases(long):
    repeats = range(1, 11) if long else (1,)
    for i in repeats:
        for damage in (config_emptied, config_cut, config_edited, config_of_noise, config_removed):
            yield f"{damage.__name__} {i}", refused(damage, USAGE, DATA)
        for damage in (metrics_cut, metrics_edited, metrics_removed):
            yield f"{damage.__name__} {i}", refused(damage, DATA)
        for damage in (metrics_longer, table_edited, table_removed, small_files_removed, leftovers):
            if long or damage in (metrics_longer, leftovers):
                yield f"{damage.__name__} {i}", made_up_for(damage)
        for how in ("flipped", "cut", "emptied", "of noise", "removed"):
            if long or how in ("flipped", "removed"):
                yield f"last {how} {i}", made_up_for(damaged_last(how))
            if how != "removed" and (long or how == "cut"):
                yield f"last and previous {how} {i}", refused(both_damaged(how), DATA)
        for act in (metrics_gone, metrics_cut_meanwhile):
            if i <= 5 and (long or act is metrics_gone):
                yield f"{act.__name__} {i}", while_training(act)
    for key in COUNTS:
        for value in IMPOSSIBLE if long else IMPOSSIBLE[:2] if key in ("epoch", "metrics_bytes") else IMPOSSIBLE[:1]:
            if (key, value) not in (("threads", "4611686018427387904"), ("substituted", "4611686018427387904")):
                yield f"state {key}={value}", refused(stored(key, value), DATA)
    for key in OTHERS:
        for value in IMPOSSIBLE if long else IMPOSSIBLE[4:5] if key in ("loss_sum", "diagnostics", "best_value") else ():
            yield f"state {key}={value}", never_internal(stored(key, value))
    yield "state epoch=99", refused(stored("epoch", "99"), DATA)
    yield "state step=1", never_internal(stored("step", "1"))
    yield "state batch=99", refused(stored("batch", "99"), DATA)
