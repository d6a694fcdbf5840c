"""gather_distributed=True in 2 and 3 processes over Gloo: value and parameters' gradients are those of one process with the whole batch."""

import pathlib
import subprocess
import sys

import pytest
import torch

import debias

WORKER = pathlib.Path(__file__).with_name("distributed_worker.py")


def run_processes(shares, what, folder):
    words = [",".join(map(str, shares)), what]
    workers = [subprocess.Popen([sys.executable, "-B", str(WORKER), str(folder), str(rank), *words], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, cwd=WORKER.parent) for rank in range(len(shares))]
    outputs = [worker.communicate(timeout=600)[0] for worker in workers]
    for worker, output in zip(workers, outputs):
        assert worker.returncode == 0 and "all as in one process" in output, "\n".join(outputs)


@pytest.mark.parametrize("shares", [[5, 4], [3, 5, 2]])
def test_processes_compute_the_loss_of_one(shares, tmp_path):
    run_processes(shares, "losses", tmp_path)


@pytest.mark.parametrize("shares", [[5, 4], [3, 5, 2]])
def test_processes_gather_and_refuse_and_end_by_themselves(shares, tmp_path):
    run_processes(shares, "gather", tmp_path)


def test_one_process_gathers_nothing():
    z0, z1 = torch.randn(4, 3), torch.randn(4, 3)
    alone = debias.InfoNCELoss()(z0, z1).item()  # of a small batch, which is added up in another order
    assert debias.InfoNCELoss(gather_distributed=True)(z0, z1).item() == pytest.approx(alone, rel=1e-6)
    assert debias.gather(z0) is z0
