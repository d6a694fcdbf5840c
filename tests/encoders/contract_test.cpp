// What every registered encoder and head keeps: a new entry is tested by being registered.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

#include <map>
#include <ostream>

#include "debias/core/config.h"
#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/encoders/encoder.h"
#include "tests/encoders/modules.h"
#include "tests/support/refusals.h"

namespace debias {
namespace contract_test {

constexpr int64_t kFeatures = 6;  // that heads are given

// The smallest section of an entry.
template <class Entry>
Config small_section(const Entry& entry) {
  Config section = Config::map();
  section.set("name", Config::string(entry.name));
  for (const auto& option : entry.options) {
    if (option.name == "size") section.set("size", Config::integer(16));
    if (option.name == "width") section.set("width", Config::integer(8));
    if (option.name == "hidden_dim") section.set("hidden_dim", Config::integer(5));
    if (option.name == "output_dim") section.set("output_dim", Config::integer(4));
  }
  return section;
}

at::Tensor input(at::IntArrayRef shape) { return at::sin(at::arange(c10::multiply_integers(shape), at::kFloat) * 0.7).reshape(shape); }

// Encoders and heads alike: a module, what it is given, and how to make it again.
struct Subject {
  std::shared_ptr<torch::nn::Module> module;
  std::function<at::Tensor(const at::Tensor&)> forward;
  at::Tensor input;
  int64_t output_dim;
  Config config;
};

Subject encoder_subject(const Config& section, uint64_t seed) {
  const ChosenEncoder chosen = read_encoder(section);
  auto encoder = chosen.make(3, seed);
  const int64_t side = section_name(section, "encoder") == "alexnet_half" ? 71 : 16;  // it needs 63
  return {encoder, [encoder](const at::Tensor& x) { return encoder->forward(x); }, input({5, 3, side, side}), encoder->feature_dim(),
          chosen.section};
}

Subject head_subject(const Config& section, uint64_t seed) {
  const ChosenHead chosen = read_head(section);
  auto head = chosen.make(kFeatures, seed);
  return {head, [head](const at::Tensor& x) { return head->forward(x); }, input({5, kFeatures}), head->output_dim(), chosen.section};
}

struct Case {
  std::string name;
  Config section;
  std::function<Subject(const Config&, uint64_t)> make;

  friend void PrintTo(const Case& item, std::ostream* out) { *out << item.name; }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& entry : encoder_registry()) {
    if (!entry.reads_words && !entry.needs_file) all.push_back({entry.name, small_section(entry), encoder_subject});
  }
  for (const auto& entry : head_registry()) all.push_back({"head_" + entry.name, small_section(entry), head_subject});
  return all;
}

std::map<std::string, at::Tensor> copy_of_state(const Subject& subject) { return copied_state(*subject.module); }

bool same(const std::map<std::string, at::Tensor>& a, const std::map<std::string, at::Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, tensor] : a) {
    if (!b.contains(name) || !at::equal(tensor, b.at(name))) return false;
  }
  return true;
}

class EncoderContract : public testing::TestWithParam<Case> {
 protected:
  Subject make(uint64_t seed = 1) const { return GetParam().make(GetParam().section, seed); }
  bool has_parameters() const { return !make().module->parameters().empty(); }

 private:
  OneThread one_thread_;
};

TEST_P(EncoderContract, MapsABatchToRows) {
  const Subject subject = make();
  const at::Tensor output = subject.forward(subject.input);
  EXPECT_EQ(output.sizes(), (at::IntArrayRef{5, subject.output_dim}));
  EXPECT_TRUE(at::isfinite(output).all().item<bool>());
}

TEST_P(EncoderContract, StartsFromTheSeedAlone) {
  at::manual_seed(1);
  const auto first = copy_of_state(make(7));
  at::manual_seed(2);
  at::set_num_threads(2);
  const auto second = copy_of_state(make(7));
  EXPECT_TRUE(same(first, second));
  if (has_parameters()) {
    EXPECT_FALSE(same(first, copy_of_state(make(8))));
  }
}

TEST_P(EncoderContract, ConfigMakesTheSameAgain) {
  const Subject subject = make(3);
  const Subject again = GetParam().make(parse_yaml(subject.config.to_yaml(), "config.yaml"), 3);
  EXPECT_EQ(again.config, subject.config);
  EXPECT_TRUE(same(copy_of_state(again), copy_of_state(subject)));
}

TEST_P(EncoderContract, GradientReachesInputAndEveryParameter) {
  const Subject subject = make();
  subject.module->train();
  const at::Tensor x = subject.input.clone().set_requires_grad(true);
  const at::Tensor output = subject.forward(x);
  (output * input(output.sizes())).sum().backward();
  EXPECT_GT(x.grad().abs().max().item<float>(), 0);
  for (const auto& parameter : subject.module->named_parameters()) {
    ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
    EXPECT_GT(parameter.value().grad().abs().max().item<float>(), 0) << parameter.key();
    EXPECT_TRUE(at::isfinite(parameter.value().grad()).all().item<bool>()) << parameter.key();
  }
}

TEST_P(EncoderContract, EvaluationIsPerSampleAndChangesNothing) {
  const Subject subject = make();
  subject.forward(subject.input);  // so that running statistics are not their initial values
  subject.module->eval();
  const auto before = copy_of_state(subject);
  const at::Tensor together = subject.forward(subject.input);
  const at::Tensor alone = subject.forward(subject.input.slice(0, 2, 3));
  EXPECT_TRUE(at::allclose(together.slice(0, 2, 3), alone, 1e-4, 1e-5));
  EXPECT_TRUE(same(before, copy_of_state(subject)));
}

TEST_P(EncoderContract, TrainingUpdatesEveryRunningStatistic) {
  const Subject subject = make();
  const auto before = copy_of_state(subject);
  subject.module->train();
  subject.forward(subject.input);
  for (const auto& buffer : subject.module->named_buffers()) {
    EXPECT_FALSE(at::equal(before.at(buffer.key()), buffer.value())) << buffer.key();
    if (buffer.key().ends_with("num_batches_tracked")) {
      EXPECT_EQ(buffer.value().dim(), 0);
      EXPECT_EQ(buffer.value().scalar_type(), at::kLong);
      EXPECT_EQ(buffer.value().item<int64_t>(), 1);
    }
  }
}

TEST_P(EncoderContract, SurvivesAFile) {
  const Subject subject = make(1);
  subject.forward(subject.input);
  const std::string path = testing::TempDir() + "encoder_contract_" + GetParam().name + ".safetensors";
  std::vector<TensorBytes> tensors;
  const auto state = named_state(*subject.module, "part.");
  for (const auto& [name, tensor] : state) tensors.push_back(bytes_of(name, tensor));
  write_safetensors(path, tensors, {});
  const Subject other = make(2);
  load_state(*other.module, SafetensorsFile::open(path), "part.");
  EXPECT_TRUE(same(copy_of_state(subject), copy_of_state(other)));
  std::remove(path.c_str());
}

TEST_P(EncoderContract, ChannelsLastAndBf16AreClose) {
  const Subject subject = make();
  subject.module->eval();
  const at::Tensor expected = subject.forward(subject.input);
  const at::Tensor last = subject.input.dim() == 4 ? subject.input.contiguous(at::MemoryFormat::ChannelsLast) : subject.input;
  EXPECT_TRUE(at::allclose(subject.forward(last), expected, 1e-4, 1e-5));

  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  const at::Tensor rounded = subject.forward(last);
  at::autocast::set_autocast_enabled(at::kCPU, false);
  at::autocast::clear_cache();
  // Some twenty roundings to 8 bits in a deep encoder; features are of order one.
  EXPECT_LT((rounded.to(at::kFloat) - expected).abs().max().item<float>(), 0.05 * (1 + expected.abs().max().item<float>()));
}

TEST_P(EncoderContract, UnknownOptionsAreRefused) {
  Config section = GetParam().section;
  section.set("wdith", Config::integer(8));
  EXPECT_THROW(GetParam().make(section, 1), Error);
}

INSTANTIATE_TEST_SUITE_P(Registry, EncoderContract, testing::ValuesIn(cases()), [](const auto& entry) { return entry.param.name; });

TEST(EncoderRegistry, ABareWordIsASection) {
  EXPECT_EQ(read_encoder(Config::scalar("simple_convnet")).make(1, 1)->feature_dim(), 128);
  EXPECT_EQ(read_head(Config::scalar("none")).make(9, 1)->output_dim(), 9);
  EXPECT_EQ(read_head(Config()).section.find("name")->text(), "none");
}

std::string message(const std::string& yaml, int64_t in_channels = 3) {
  return usage_error_of([&] { read_encoder(parse_yaml(yaml, "r.yaml")).make(in_channels, 1); });
}

TEST(EncoderRegistry, MistakesAreNamed) {
  EXPECT_EQ(message("name: resnet81"), "r.yaml:1: unknown encoder 'resnet81'; did you mean 'resnet18'?");
  EXPECT_EQ(message("width: 16"), "r.yaml:1: encoder: no name is given; write `name: ...`");
  EXPECT_EQ(message("{name: resnet18, width: 0}"), "r.yaml:1: encoder 'resnet18': width: 0 is out of range; give a value in [1, 1024]");
  EXPECT_EQ(message("{name: resnet18, stem: cifer}"), "r.yaml:1: encoder 'resnet18': stem: unknown value 'cifer'; did you mean 'cifar'?");
  EXPECT_EQ(message("resnet18", 0), "encoder 'resnet18': images of 0 channels; it needs at least 1");
  EXPECT_THROW(read_head(parse_yaml("{name: simclr, hidden_dim: 0}", "r.yaml")).make(4, 1), Error);
}

}  // namespace contract_test
}  // namespace debias
