"""The check of names refuses those that two sources of a unit share, and accepts what stands side by side."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_unity_names.py"


def check(files):
    """Runs the script on a tree of {path: text}; returns its exit status and what it printed."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            file = pathlib.Path(root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


def own(text):
    return "namespace debias {\nnamespace {\n\n" + text + "\n}  // namespace\n}  // namespace debias\n"


class CheckUnityNames(unittest.TestCase):
    def assert_refused(self, name, first, second):
        status, output = check({"debias/train/a.cpp": own(first), "debias/train/b.cpp": own("\n" + second)})
        self.assertEqual((status, output.splitlines()[0]), (1, f"{name}: debias/train/a.cpp:4, debias/train/b.cpp:5"), output)

    def assert_accepted(self, first, second, other="debias/train/b.cpp", **more):
        status, output = check({"debias/train/a.cpp": own(first), other: own(second), **more})
        self.assertEqual(status, 0, output)

    def test_refuses_constants(self):
        self.assert_refused("kSize", "constexpr int64_t kSize = 3;", "constexpr size_t kSize = 4;  // of a list")
        self.assert_refused("kNames", "constexpr std::array<const char*, 2> kNames = {\"a;\", \"b{\"};", "const char* kNames[] = {\"c\"};")
        self.assert_refused("kBraced", "constexpr std::string_view kBraced{\"a\"};", "constexpr int kBraced{1};")

    def test_refuses_types(self):
        self.assert_refused("Names", "struct Names {\n  int a = 0;\n};", "class Names final : public Base {\n};")
        self.assert_refused("Side", "enum class Side { kA };", "template <class T>\nstruct Side {};")

    def test_refuses_functions_of_the_same_parameters(self):
        self.assert_refused("read", "int read(const Config& node, int depth = 0) { return 1; }", "double read(const Config& other, int) { return 2; }")
        self.assert_refused("as", "template <class T>\nT as(const T& value) { return value; }", "template <class U, class T>\nU as(const T& v) { return v; }")
        self.assert_refused("Own", "struct Own {};", "int Own(int a) { return a; }")

    def test_accepts_overloads_and_equal_aliases(self):
        self.assert_accepted("int read(const Config& node) { return 1; }", "int read(const std::string& node) { return 1; }")
        self.assert_accepted("using Json = nlohmann::json;", "using Json =  nlohmann::json;")
        self.assert_refused("Json", "using Json = nlohmann::json;", "using Json = nlohmann::ordered_json;")

    def test_accepts_what_is_not_of_an_unnamed_namespace_or_not_of_it_alone(self):
        self.assert_accepted("int f() {\n  int inner = 1;\n  struct Inner {};\n  return inner;\n}", "int g() {\n  int inner = 1;\n  struct Inner {};\n  return 1;\n}")
        self.assert_accepted("// struct Names {};\nint a = 1;", '#define NAMES struct Names {}; \\\n  int a;\nconst char* b = "int a = 1;";')
        status, output = check({f"debias/train/{name}.cpp": "namespace debias {\nstruct Names {};\n}\n" for name in "ab"})
        self.assertEqual(status, 0, output)

    def test_accepts_the_same_name_in_another_library(self):
        self.assert_accepted("constexpr int kSize = 3;", "constexpr int kSize = 3;", other="debias/optim/b.cpp")

    def test_accepts_sources_that_are_compiled_apart(self):
        lists = "debias_library(train)\nset_source_files_properties(c.cpp b.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)\n"
        self.assert_accepted("constexpr int kSize = 3;", "constexpr int kSize = 3;", **{"debias/train/CMakeLists.txt": lists})


if __name__ == "__main__":
    unittest.main()
