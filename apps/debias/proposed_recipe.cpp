#include "apps/debias/proposed_recipe.h"

#include <fmt/format.h>

#include <algorithm>

namespace debias {
namespace {

std::string indented(const std::string& yaml, int spaces) {
  std::string text;
  for (size_t begin = 0; begin < yaml.size();) {
    const size_t end = std::min(yaml.find('\n', begin), yaml.size());
    text += std::string(static_cast<size_t>(spaces), ' ') + yaml.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return text;
}

// As a value behind `key: `, quoted where it has to be.
std::string scalar(const std::string& text) {
  std::string yaml = Config::string(text).to_yaml();
  while (!yaml.empty() && yaml.back() == '\n') yaml.pop_back();
  return yaml;
}

int64_t training_images(const FolderSurvey& survey) { return survey.train_check.count - survey.hold_out; }

// So that an epoch of a small set has steps, but 64 as long as there are four such batches: fairkl compares pairs of one class that go
// against the bias, and at 5 pictures in 100 a batch of 32 has hardly any.
int64_t batch_size(const FolderSurvey& survey) {
  constexpr int64_t kSteps = 14, kLargest = 256, kEnough = 64, kFewestSteps = 4;
  const int64_t images = training_images(survey);
  int64_t size = kLargest;
  while (size > kEnough && kSteps * size > images) size /= 2;
  while (size > 4 && kFewestSteps * size > images) size /= 2;
  return std::min(size, std::max<int64_t>(2, images));
}

// Two images drawn at random have the same class so often.
double same_class_share(const DataCheck& check) {
  double sum = 0, squares = 0;
  for (const int64_t count : check.per_class) {
    sum += static_cast<double>(count);
    squares += static_cast<double>(count) * static_cast<double>(count);
  }
  return squares / (sum * sum);
}

std::string head_lines(const FolderSurvey& survey, const ProposalInput& input) {
  std::string text = fmt::format("# Written by debias init for {} pictures, to be trained on twice in {:g} minutes on this machine.\n",
                                 training_images(survey), input.minutes);
  for (const std::string& command : next_commands(input)) text += fmt::format("#   {}\n", command);
  return text;
}

std::string data_section(const FolderSurvey& survey) {
  std::string text = "data:\n";
  if (survey.hold_out > 0) {
    text +=
        fmt::format("  # There is no other set to judge by: {} pictures, the same share of every class, are kept from training for that.\n",
                    survey.hold_out);
  }
  text += "  train:\n" + indented(survey.train.to_yaml(), 4);
  text += "  test:\n" + indented(survey.judged.to_yaml(), 4);
  if (!survey.train_check.bad_files.empty()) {
    text += fmt::format("  on_error: substitute     # {} of the pictures are damaged; others stand in for them\n",
                        survey.train_check.bad_files.size());
  }
  return text;
}

std::string bias_body(const ProposedNetwork& network) {
  return fmt::format(R"(views:
  # The whole picture at {0} x {0} pixels, corners included: a square cut from its middle could lose what the bias is seen by. In training
  # it is moved by a few pixels and mirrored, so that a network with few pictures does not know each of them by heart.
  steps:
    - resize: {{size: [{0}, {0}]}}
    - random_crop: {{size: {0}, padding: {2}}}
    - random_horizontal_flip: {{}}    # leave it out where left and right matter, as in text
  count: 1
  forward: joint
  eval: {{resize: {{size: [{0}, {0}]}}}}
# Four convolutions in strides: a training of minutes on two cores. debias list encoders has larger ones, for more pictures and time.
encoder: {1}
objective:
  # Draws pictures of one class together, whatever their bias value.
  - {{name: eps_supinfonce, weight: 1, temperature: 0.1, base_temperature: 0.07, epsilon: 0.5}}
  # Keeps the similarity of two pictures from depending on whether their bias values agree. The weight is that of the method's released code
  # next to the first term (0.75 to 0.0009); 0 trains without it, which is the comparison.
  - {{name: fairkl, weight: 833, variant: authors}}
# A linear layer that reads the classes off the encoder, without training it: its accuracy on pictures that go with the bias and on those
# that go against it is what tells whether the encoder uses the bias.
classifier: {{name: linear, learning_rate: 1e-2, gradient: stop}}
optimizer: {{name: adam, learning_rate: 2e-3, weight_decay: 1e-5}}
schedule: {{name: cosine}}
)",
                     network.side, network.encoder, network.side / 8);
}

std::string sampling_body(const FolderSurvey& survey, const ProposedNetwork& network) {
  const DataCheck& train = survey.train_check;
  const double share = survey.has_labels() ? same_class_share(train) : 0.1;
  const std::string why =
      survey.has_labels() ? fmt::format("by the labels, which training does not see, {:.1f} % of all pairs are of one class", 100 * share)
                          : "one pair in ten, a guess: debias prior RUN estimates it from the trained encoder";
  return fmt::format(R"(views:
  # Two views of each picture: a part of it at {0} x {0} pixels, mirrored or not, in changed colours. What they share is what is learned.
  steps:
    - random_resized_crop: {{size: {0}, scale: [0.2, 1]}}
    - random_horizontal_flip: {{}}    # leave it out where left and right matter, as in text
    - color_jitter: {{brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1, p: 0.8}}
    - random_grayscale: {{p: 0.2}}
  count: 2
  forward: per_view
  eval: {{resize: {{size: {0}}}, center_crop: {{size: {0}}}}}
# As wide as the time allows; ResNet-18's own width is 64.
encoder: {1}
head: {{name: simclr}}
# Other pictures are what a view is pushed away from; some of them are of its own class. tau_plus is how many, and the objective takes them
# out of the estimate: {2}.
# With 0 it is plain infonce, which is the comparison.
objective: {{name: debiased_negatives, temperature: 0.5, tau_plus: {3:.3g}}}
optimizer: {{name: adam, learning_rate: 1e-3, weight_decay: 1e-6}}
schedule: {{name: cosine}}
)",
                     network.side, network.encoder, why, share);
}

std::string protocol_list(const FolderSurvey& survey, InitGoal goal) {
  if (goal == InitGoal::kBias) return "[groups, knn, geometry]";
  return survey.has_labels() ? "[knn, geometry]" : "[geometry]";
}

std::string evaluate_section(const FolderSurvey& survey, const ProposalInput& input) {
  std::string text = fmt::format("evaluate:\n  every: {}\n  protocols: {}\n", input.epochs, protocol_list(survey, input.goal));
  if (!survey.has_labels()) return text;
  const int64_t per_class = training_images(survey) / static_cast<int64_t>(survey.train_check.class_names.size());
  return text + fmt::format("  knn: {{k: {}}}    # neighbours that vote; fewer than a class has pictures\n",
                            std::clamp<int64_t>(per_class / 4, 1, 200));
}

// A word of a shell command.
std::string quoted(const std::string& word) {
  const bool plain = std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) || std::string_view("-_./=").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain && !word.empty()) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

const std::vector<ProposedNetwork>& proposed_networks(InitGoal goal) {
  static const std::vector<ProposedNetwork> bias = {
      {"{name: simple_convnet, activation: tanh, stem_stride: 2, stride: 2}", 32, 1},
      {"{name: simple_convnet, activation: tanh, stem_stride: 2, stride: 2}", 64, 4},
  };
  static const std::vector<ProposedNetwork> sampling = {
      {"{name: resnet18, stem: cifar, width: 8}", 32, 1},
      {"{name: resnet18, stem: cifar, width: 16}", 32, 4},
      {"{name: resnet18, stem: cifar, width: 16}", 64, 16},
  };
  return goal == InitGoal::kBias ? bias : sampling;
}

std::string proposed_recipe(const FolderSurvey& survey, const ProposedNetwork& network, const ProposalInput& input) {
  std::string text = head_lines(survey, input);
  text += fmt::format("name: {}\nseed: 1    # other seeds show how far two runs differ by chance: seed=2 output=...\n", scalar(input.name));
  text += data_section(survey);
  text += input.goal == InitGoal::kBias ? bias_body(network) : sampling_body(survey, network);
  text += fmt::format("train: {{epochs: {}, batch_size: {}}}\n", input.epochs, batch_size(survey));
  text += evaluate_section(survey, input);
  return text + fmt::format("output: {}\n", scalar(input.output));
}

std::vector<std::string> next_commands(const ProposalInput& input) {
  const std::string plain = input.goal == InitGoal::kBias ? "objective.1.weight=0" : "objective.tau_plus=0";
  return {fmt::format("debias train {}", quoted(input.file)),
          fmt::format("debias train {} {} {}", quoted(input.file), plain, quoted("output=" + input.plain)),
          fmt::format("debias report {} {} --out {}", quoted(input.output), quoted(input.plain), quoted(input.name + ".html"))};
}

}  // namespace debias
