"""The include check refuses what it must and accepts what it may."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_includes.py"


def check(files):
    """Runs the script on a tree of {path: text}; returns its exit status and what it printed."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            file = pathlib.Path(root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


class CheckIncludes(unittest.TestCase):
    def assert_refused(self, path, text, *words):
        status, output = check({path: text})
        self.assertEqual(status, 1, output)
        for word in words:
            self.assertIn(word, output)

    def assert_accepted(self, path, text):
        status, output = check({path: text})
        self.assertEqual(status, 0, output)

    def test_refuses_an_edge_that_points_back_and_names_file_and_line(self):
        self.assert_refused("debias/data/a.cpp", '#include <vector>\n#include "debias/loader/loader.h"\n', "debias/data/a.cpp:2:", "debias/loader")

    def test_refuses_an_edge_between_train_and_evaluate_except_of_recipes(self):
        self.assert_refused("debias/train/a.h", '#include "debias/evaluate/protocols/knn.h"\n', "debias/train/a.h:1:")
        self.assert_refused("debias/train/loop/a.cpp", '#include "debias/evaluate/protocol.h"\n', "debias/train/loop/a.cpp:1:")
        self.assert_accepted("debias/train/recipe/a.h", '#include "debias/evaluate/protocol.h"\n')
        self.assert_refused("debias/evaluate/a.h", "#  include <debias/train/loop.h>\n", "debias/evaluate/a.h:1:")

    def test_accepts_every_allowed_kind_of_edge(self):
        self.assert_accepted("debias/train/a.cpp", '#include "debias/losses/objective.h"\n#include "debias/core/error.h"\n#include "debias/train/loop.h"\n')
        self.assert_accepted("debias/evaluate/a.cpp", '#include "debias/kernels/top_k.h"\n')
        self.assert_accepted("apps/debias/a.cpp", '#include "debias/train/loop.h"\n#include "apps/debias/verbs.h"\n')

    def test_keeps_what_a_build_may_be_without_out_of_the_program(self):
        include = '#include "debias/agent/agent_plan.h"\n'
        self.assert_refused("apps/debias/metric_text.cpp", include, "apps/debias/metric_text.cpp:1:", "without MuJoCo")
        self.assert_refused("benchmarks/a.cpp", '#include "debias/control/task.h"\n', "without MuJoCo")
        self.assert_accepted("apps/debias/control/agent_runs.cpp", include)
        self.assert_accepted("tests/agent/a.cpp", include)

    def test_lets_a_registry_include_rooms_of_its_folder_but_no_interface(self):
        include = '#include "debias/data/readers/mnist.h"\n'
        self.assert_accepted("debias/data/dataset_registry.cpp", include)
        self.assert_refused("debias/data/dataset.h", include, "debias/data/dataset.h:1:", "a header of debias/data", "debias/data/readers")
        self.assert_refused("debias/data/hold_out.h", '#include "debias/data/builders/corruptions/plane.h"\n', "debias/data/builders/corruptions")

    def test_holds_rooms_to_their_order(self):
        self.assert_accepted("debias/data/readers/a.h", '#include "debias/data/dataset.h"\n#include "debias/image/image.h"\n')
        self.assert_accepted("debias/data/builders/a.cpp", '#include "debias/data/readers/mnist.h"\n')
        self.assert_refused("debias/data/readers/a.cpp", '#include "debias/data/builders/glyphs.h"\n', "debias/data/readers", "debias/data/builders")
        self.assert_refused("debias/evaluate/neighbours/a.h", '#include "debias/evaluate/protocols/knn.h"\n', "debias/evaluate/protocols")
        self.assert_refused("debias/data/readers/a.h", '#include "debias/augment/view_steps.h"\n', "debias/augment")
        self.assert_accepted("debias/loader/a.cpp", '#include "debias/data/readers/mnist.h"\n')

    def test_refuses_torch_where_the_folder_does_without(self):
        for folder in ("core", "image", "data", "data/readers", "augment", "results", "kernels", "report"):
            for header in ("torch/types.h", "ATen/ATen.h", "c10/util/Half.h"):
                self.assert_refused(f"debias/{folder}/a.cpp", f"#include <{header}>\n", f"debias/{folder}/a.cpp:1:")
        self.assert_accepted("debias/losses/a.cpp", "#include <ATen/ATen.h>\n")

    def test_refuses_all_of_torch_in_any_header_but_not_in_a_source(self):
        for header in ("torch/torch.h", "torch/all.h", "torch/extension.h"):
            self.assert_refused("tests/train/a.h", f"#include <{header}>\n", "tests/train/a.h:1:", header)
        self.assert_accepted("debias/train/a.cpp", "#include <torch/torch.h>\n")

    def test_refuses_a_path_that_is_not_from_the_root(self):
        self.assert_refused("debias/core/a.cpp", '#include "error.h"\n', "error.h")

    def test_refuses_names_that_say_nothing(self):
        for name in ("utils.h", "string_helpers.cpp", "common.h", "misc.cpp", "run_manager.h"):
            self.assert_refused(f"debias/core/{name}", "", f"debias/core/{name}:1:")
        self.assert_accepted("debias/losses/common_options.h", "")

    def test_refuses_a_folder_that_is_not_in_the_architecture(self):
        self.assert_refused("debias/extras/a.cpp", "#include <ATen/ATen.h>\n", "debias/extras")


if __name__ == "__main__":
    unittest.main()
