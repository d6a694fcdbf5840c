"""A driver file without a device: what the program says before it trains on the CPU, and when it is asked for a GPU.

A library that is loaded before the program makes it find /dev/nvidiactl. With DEBIAS_WHOLE_TORCH, a folder of the whole torch, libtorch's CUDA
library loads and finds no device; without it, that library lacks others."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("DEBIAS_BINARY", str(ROOT / "build/release/bin/debias"))
WHOLE_TORCH = os.environ.get("DEBIAS_WHOLE_TORCH")
SHIM = """
#include <dlfcn.h>
#include <string.h>
int access(const char* path, int mode) {
  if (strcmp(path, "/dev/nvidiactl") == 0) return 0;
  return ((int (*)(const char*, int))dlsym(RTLD_NEXT, "access"))(path, mode);
}
"""


@unittest.skipIf(os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/dxg"), "a driver is loaded")
class StubDriver(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "shim.c").write_text(SHIM)
        shim = self.folder / "shim.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", shim, self.folder / "shim.c", "-ldl"], check=True)
        self.environment = {**os.environ, "LD_PRELOAD": str(shim), "NO_COLOR": "1"}
        if WHOLE_TORCH:
            self.environment["LD_LIBRARY_PATH"] = WHOLE_TORCH + "/lib"

    def train(self, device):
        command = [BINARY, "train", str(ROOT / "recipes/demo/infonce.yaml"), "train.epochs=1", "data.train.train_count=64", "train.batch_size=32",
                   "evaluate.protocols=[]", "train.device=" + device, f"output={self.folder}/run"]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=300)

    def reason(self):
        return "the NVIDIA driver reports no usable device, or is older than CUDA 13 (580)" if WHOLE_TORCH else " was not found (install torch"

    def test_the_log_says_why_the_cpu_trains(self):
        done = self.train("auto")
        self.assertEqual(done.returncode, 0, done.stderr)
        log = (self.folder / "run/train.log").read_text()
        line = next(line for line in log.splitlines() if "device: " in line)
        self.assertIn("warning", line)
        self.assertIn("device: cpu, since ", line)
        self.assertIn(self.reason(), line)
        self.assertIn(line.split("warning: ")[1], done.stderr)

    def test_a_gpu_that_was_asked_for_is_an_error(self):
        done = self.train("cuda")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("device cuda: CUDA is not available: ", done.stderr)
        self.assertIn(self.reason(), done.stderr)
        self.assertFalse((self.folder / "run").exists())


if __name__ == "__main__":
    unittest.main()
