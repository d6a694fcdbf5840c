// What every command refuses, by the rows of refusals.txt: the exit code, one line that says why, no result, and every file as it was.
#include "tests/apps/command.h"
#include "tests/fix/gaussian_table.h"
#include "tests/report/run_fixture.h"
#include "tests/support/small_corpus.h"

namespace debias::refusals_test {

struct Refusal {
  size_t row = 0;  // of the file
  int exit = 0;
  Words words;
  std::string line;       // a part of it
  bool has_more = false;  // lines before it: notes of what was found until then
};

struct Section {
  std::string name;
  std::vector<Refusal> refusals;
};
void PrintTo(const Section& section, std::ostream* out) { *out << section.name; }

// Separated by spaces; 'a b' is one, and so is ''. $NAME stands for the words of the line NAME= before it.
Words words_of(const std::string& text, const std::map<std::string, Words>& names) {
  Words words;
  for (size_t at = text.find_first_not_of(' '); at != std::string::npos; at = text.find_first_not_of(' ', at)) {
    const bool quoted = text[at] == '\'';
    const size_t end = std::min(text.find(quoted ? '\'' : ' ', at + 1), text.size());
    const std::string word = text.substr(at + quoted, end - at - quoted);
    if (const auto named = names.find(word); named != names.end()) {
      words = with(words, named->second);
    } else {
      words.push_back(word);
    }
    at = end + quoted;
  }
  return words;
}

// "## NAME" begins a section, "# ..." is a comment, "EXIT WORDS | LINE" a row; "| ... LINE" has more lines before it.
std::vector<Section> sections() {
  std::vector<Section> all;
  std::map<std::string, Words> names;
  std::ifstream file(golden_folder("../apps") + "/refusals.txt");
  size_t row = 0;
  for (std::string line; std::getline(file, line);) {
    ++row;
    const size_t equals = line.find("= "), bar = line.find(" | ");
    if (line.starts_with("## ")) {
      all.push_back({line.substr(3), {}});
    } else if (line.empty() || line.starts_with("# ")) {
      continue;
    } else if (bar == std::string::npos) {
      names["$" + line.substr(0, equals)] = words_of(line.substr(equals + 2), names);
    } else {
      std::string said = line.substr(bar + 3);
      const bool has_more = said.starts_with("... ");
      if (has_more) said.erase(0, 4);
      all.back().refusals.push_back(
          {row, std::stoi(line), words_of(line.substr(line.find(' '), bar - line.find(' ')), names), said, has_more});
    }
  }
  return all;
}

void write_doubles(const std::string& name, const std::vector<double>& values, const std::vector<int64_t>& shape) {
  write_npy(name, DType::kFloat64, shape, values.data());
}
void write_integers(const std::string& name, const std::vector<int64_t>& values) {
  write_npy(name, DType::kInt64, {std::ssize(values)}, values.data());
}
void write(const std::string& name, const std::string& text) { write_text(name, text); }

class Refusals : public InSharedFolder<Refusals>, public testing::WithParamInterface<Section> {
 public:
  static void fill() {
    of_losses();
    of_tables();
    of_images();
    of_other_formats();
    of_runs();
    of_sentences();
  }

 protected:
  // Four samples of two views; keys, labels and weights that fit them or do not.
  static void of_losses() {
    std::vector<double> rows;
    for (const double degrees : {0, 12, 41, 66, 133, 118, 205, 240}) {
      rows.insert(rows.end(), {std::cos(degrees * M_PI / 180), std::sin(degrees * M_PI / 180)});
    }
    write_doubles("z.npy", rows, {4, 2, 2});
    write_doubles("one.npy", rows, {8, 2});
    write_doubles("flat.npy", rows, {16});
    write_doubles("empty.npy", {}, {0, 2, 2});
    rows[14] = 1.5;
    write_doubles("long.npy", rows, {4, 2, 2});
    rows[14] = NAN;
    write_doubles("nan.npy", rows, {4, 2, 2});
    write_doubles("w.npy", {1, 2, 3}, {3, 1});
    write_doubles("keys.npy", {1, 0, 0, 1, 1, 0}, {3, 2});
    write_doubles("wide.npy", {1, 0, 0}, {1, 3});
    write_integers("y.npy", {0, 0, 1, 1});
    write_integers("b.npy", {0, 1, 0, 1});
    write_integers("short.npy", {0, 1, 2});
    write_integers("two.npy", {0, 1});
    fs::create_hard_link("z.npy", "same-z.npy");
  }
  // Features with a CSV file of their rows, what debias fix makes of them, and files that do not fit.
  static void of_tables() {
    const GaussianTable table({.train = 600, .test = 300});
    fs::copy_file(table.vectors(), "f.npy");
    fs::copy_file(table.csv(), "f.csv");
    std::string rows = file_text("f.csv");
    write("unbiased.csv", "path,label,x,split" + rows.substr(rows.find('\n')));
    write("trian.csv", std::string(rows).replace(rows.find(",train"), 6, ",trian"));
    for (size_t at = rows.find(",test"); at != std::string::npos; at = rows.find(",test")) rows.replace(at, 5, ",train");
    write("train.csv", rows);
    write_npy("equal.npy", DType::kFloat32, {900, 24}, std::vector<float>(900 * 24).data());
    write_npy("narrow.npy", DType::kFloat32, {4, 5}, std::vector<float>(20, 1.0f).data());
    done({"fix", "--embeddings", "f.npy", "--csv", "f.csv", "--out", "fixed", "--method", "erase"});
    fs::create_hard_link("fixed/layer.safetensors", "layer.npy");
  }
  // Two classes and two colours in folders; others that are empty, narrow, damaged or of something else.
  static void of_images() {
    std::string rows = "path,label,bias\n";
    for (int i = 0; i < 24; ++i) {
      for (const std::string kind : {"ape", "zebra"}) {
        const std::string name = kind + "/" + std::to_string(i) + (i % 2 == 0 ? ".jpg" : ".png");
        fs::create_directories("photos/" + kind);
        fs::copy_file(golden_folder("images") + (i % 2 == 0 ? "/colour.jpg" : "/grey.png"), "photos/" + name);
        rows += name + "," + kind + "," + ((kind == "ape") == (i % 4 != 0) ? "red" : "blue") + "\n";
      }
    }
    write("colours.csv", rows);
    write("paints.csv", rows.replace(rows.find("bias"), 4, "paint"));
    write("elsewhere.csv", "path,label\nelsewhere.jpg,cat\n");
    write("text.png", "no picture");
    write("torn/cat/notes.txt", "no image");
    for (const char* name : {"there", "frost", "page.html"}) fs::create_directory(name);
  }
  // MNIST's four files, the same with a cut one, and weights of another program.
  static void of_other_formats() {
    for (const auto& [prefix, count] : {std::pair{"train", 20}, std::pair{"t10k", 10}}) {
      const auto word = [](int value) { return std::string{'\0', '\0', static_cast<char>(value >> 8), static_cast<char>(value)}; };
      std::string labels = word(0x801) + word(count);
      for (int i = 0; i < count; ++i) labels += static_cast<char>(i % 10);
      write(fmt::format("mnist/{}-images-idx3-ubyte", prefix),
            word(0x803) + word(count) + word(28) + word(28) + std::string(static_cast<size_t>(784 * count), '\x55'));
      write(fmt::format("mnist/{}-labels-idx1-ubyte", prefix), labels);
    }
    fs::copy("mnist", "cut-mnist");
    fs::resize_file("cut-mnist/t10k-images-idx3-ubyte", 100);
    write("foreign.pth", "PK\x03\x04" + std::string(100, 'x'));
  }
  // Of glyphs, of the images above, and one that was not finished.
  static void of_runs() {
    write("small.yaml", small_recipe({"data.test={name: glyphs, size: 16, test_count: 40, split: test}", "train.epochs=1"}));
    done({"train", "small.yaml", "output=run"});
    const std::string section = "{name: image_folder, root: photos, labels: colours.csv}";
    write("photos.yaml", small_recipe({"data={train: " + section + ", test: " + section + "}", "train.epochs=1"}));
    done({"train", "photos.yaml", "output=photo-run"});
    fs::create_symlink("photo-run/checkpoints/last.safetensors", "link.csv");
    fs::create_hard_link("photo-run/checkpoints/last.safetensors", "same.npy");
    fs::create_directories("photo-run/evaluation");
    fs::copy_file("colours.csv", "photo-run/evaluation/knn.csv");
    done({"export", "run", "--format", "safetensors", "--out", "weights"});
    write("sweep.yaml", "base: small.yaml\noutput: swept\n");
    write("misspelt-sweep.yaml", "base: small.yaml\ngrid: {encoder.widht: [8]}\noutput: swept\n");
    write("single/config.yaml", "seed: 1\n");
    write("begun/sweep.json", R"({"metric": "", "grid": [], "runs": []})");
    for (const int64_t seed : {1, 2}) {
      write_run(fmt::format("plain-{}", seed), {.seed = seed, .objective = "infonce", .accuracy = 0.4});
      write_run(fmt::format("debiased-{}", seed), {.seed = seed, .accuracy = 0.5});
    }
    write_run("other-1");
    std::string other = file_text("other-1/config.yaml");
    write("other-1/config.yaml", other.replace(other.find("correlation: 0.1, split"), 16, "correlation: 0.3"));
    write("nothing.yaml", "");
    write("comment.yaml", "# nothing yet\n");
    write("braces.yaml", "{}\n");
  }
  // A run on made-up books, and texts, vectors and sets that do not fit it.
  static void of_sentences() {
    write_small_corpus(".");
    const std::string books = small_corpus_section(".");
    write("novels.yaml", "data: {train: " + books + ", test: " + books +
                             "}\nseed: 3\nmethod: quick_thoughts\nencoder: {name: bag_of_words, features: 8}\n"
                             "objective: {name: debiased_negatives, temperature: 1, tau_plus: 0.01, clamp: positive}\n"
                             "train: {epochs: 1, batch_size: 10, device: cpu, threads: 1}\n");
    done({"train", "novels.yaml", "output=novels"});
    fs::copy("novels", "cut", fs::copy_options::recursive);
    write("cut/vocabulary.txt", "<unk>\nw1\n");
    const std::vector<std::pair<std::string, std::string>> files = {{"fine.txt", "w1 w2.\n"},
                                                                    {"blank.txt", "w1\n\nw2\n"},
                                                                    {"binary.txt", std::string("w1\nw\0x\n", 7)},
                                                                    {"empty.txt", ""},
                                                                    {"latin.txt", "w1\ncaf\xe9\n"},
                                                                    {"nounk.txt", "w1\nw2\n"},
                                                                    {"foreign.txt", "zebra 1 2\n"},
                                                                    {"few.txt", "w1 1 2 3\nw2 4 5 7\nzebra 1 2 3\n"},
                                                                    {"parallel.txt", "w1 1 2\nw2 2 4\nw3 -1 -2\n"},
                                                                    {"uneven.txt", "w1 1 2\nzebra 1 2 3\n"},
                                                                    {"infinite.txt", "w1 1 2\nw2 1 inf\n"},
                                                                    {"letters.txt", "w1 0.5 -1\nw2 x 0\n"},
                                                                    {"sets/custrev.pos", "w1\nw2\n"},
                                                                    {"sets/custrev.neg", "w3\nw4\n"},
                                                                    {"trec/TREC.train", "HUM:ind Who ?\nno label\n"},
                                                                    {"trec/TREC.test", "HUM:ind Who ?\n"}};
    for (const auto& [name, text] : files) write(name, text);
    std::string words = file_text("vocab.txt");  // of the same size
    write("other.txt", words.replace(words.find("w4\n"), 2, "v4"));
    fs::create_directories("library");  // a folder of one link, to that in which the books lie one folder further down
    fs::create_directories("annex");
    fs::copy("books", "annex/deep", fs::copy_options::recursive);
    fs::create_directory_symlink(fs::absolute("annex"), "library/all");
  }

  // Every file with its size and the time when it was written.
  static std::string state() {
    std::set<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(".")) {
      files.insert(
          entry.path().string() +
          (entry.is_regular_file() ? fmt::format(" {} {}", entry.file_size(), entry.last_write_time().time_since_epoch().count()) : ""));
    }
    return fmt::format("{}", fmt::join(files, "\n"));
  }
};

TEST_P(Refusals, AreOneLineThatSaysWhyAndChangeNothing) {
  const std::string before = state();
  for (const Refusal& refusal : GetParam().refusals) {
    SCOPED_TRACE(fmt::format("refusals.txt:{}: {}", refusal.row, fmt::join(refusal.words, " ")));
    const ProcessResult result = run_debias(refusal.words);
    EXPECT_EQ(result.exit, refusal.exit) << result.err;
    EXPECT_EQ(result.out, "");
    const size_t begin = ("\n" + result.err).find("\ndebias: ");
    ASSERT_NE(begin, std::string::npos) << result.err;
    EXPECT_THAT(result.err.substr(begin), HasSubstr(refusal.line)) << result.err;
    EXPECT_EQ(times("\n", result.err.substr(begin)), 1u) << result.err;
    EXPECT_EQ(begin > 0, refusal.has_more) << result.err;
  }
  EXPECT_EQ(state(), before);
}

INSTANTIATE_TEST_SUITE_P(, Refusals, testing::ValuesIn(sections()), [](const auto& tested) { return tested.param.name; });

}  // namespace debias::refusals_test
