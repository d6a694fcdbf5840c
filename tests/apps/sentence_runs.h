// A run trained on sentences of made-up words, and two sentence sets to evaluate it by.
#pragma once

#include "tests/apps/command.h"
#include "tests/support/small_corpus.h"

namespace debias {

// A trained run, and two sentence sets of made-up words.
class SentenceRuns : public InSharedFolder<SentenceRuns> {
 public:
  static void fill() {
    write_small_corpus(".");
    write("small.yaml", "data: {train: " + small_corpus_section(".") + ", test: " + small_corpus_section(".") +
                            "}\nseed: 3\nmethod: quick_thoughts\nencoder: {name: bag_of_words, features: 8}\n"
                            "objective: {name: debiased_negatives, temperature: 1, tau_plus: 0.01, clamp: positive}\n"
                            "optimizer: {name: adam, learning_rate: 0.01, clip_norm_per_tensor: 5}\n"
                            "train: {epochs: 2, batch_size: 10, device: cpu, threads: 1}\noutput: run\n");
    trained_ = run_debias({"train", "small.yaml"});
    std::string good, bad;
    for (int i = 0; i < 30; ++i) {
      good += "w1 w2 " + small_word(i) + "\n";
      bad += "w9 w8 " + small_word(i) + " .\n";
    }
    fs::create_directories("sets/deep");
    write("sets/custrev.pos", good);
    write("sets/custrev.neg", bad);
    write("sets/deep/msr_paraphrase_train.txt", pairs(30));
    write("sets/deep/msr_paraphrase_test.txt", pairs(9));
  }

 protected:
  void SetUp() override {
    InSharedFolder::SetUp();
    ASSERT_EQ(trained_.exit, 0) << trained_.err;
  }

  static void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
  // The run as training left it, less its evaluations and what was searched with it.
  static void copy_run(const std::string& name) {
    fs::copy("run", name, fs::copy_options::recursive);
    fs::remove_all(name + "/evaluation");
    fs::remove(name + "/nearest_sentences.json");
  }
  static std::string pairs(int count) {
    std::string text = "\xef\xbb\xbfQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n";
    for (int i = 0; i < count; ++i) {
      const bool alike = i % 3 != 0;
      text += std::string(alike ? "1" : "0") + "\t1\t2\t" + small_word(i) + " w4\t" + small_word(alike ? i : i + 11) + " w4\n";
    }
    return text;
  }

  inline static ProcessResult trained_;
};

}  // namespace debias
