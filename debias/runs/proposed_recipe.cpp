#include "debias/runs/proposed_recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "debias/augment/step_options.h"
#include "debias/core/printable.h"
#include "debias/report/sections/missing_parts.h"

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

// A section on one line: {name: mobilenet_v2, mean: [0.5, 0.5, 0.5]}.
std::string flow(const Config& section) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (section.is_map()) {
    for (const auto& [key, value] : section.entries()) add(fmt::format("{}: {}", key, flow(value)));
    return "{" + text + "}";
  }
  if (section.is_sequence()) {
    for (const Config& item : section.items()) add(flow(item));
    return "[" + text + "]";
  }
  const bool plain = !section.quoted() && section.text().find_first_of(",[]{}:#'\"") == std::string::npos;
  return plain ? section.text() : nlohmann::json(section.text()).dump();
}

int64_t training_images(const FolderSurvey& survey) { return survey.train_check.count - survey.held_out; }

// So that an epoch of a small set has steps, but 64 as long as there are four such batches: at 5 bias-conflicting images in 100 a
// batch of 32 has hardly any.
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

std::string head_lines(const FolderSurvey& survey, const ProposalInput& input, ProposedPart part) {
  std::string text = fmt::format("# Written by debias init for {} images and two trainings in {:g} minutes on this machine.\n",
                                 training_images(survey), input.minutes);
  text += part == ProposedPart::kCorrected ? fmt::format("# {} is the same without the correction, for comparison: change both alike.\n",
                                                         without_control_characters(input.plain.file))
                                           : fmt::format("# The comparison for {}: the same without the correction. Change both alike.\n",
                                                         without_control_characters(input.corrected.file));
  if (const std::string doubt = bias_doubt(survey); !doubt.empty()) {
    text += fmt::format(
        "# {} {}.\n", input.goal == InitGoal::kBias ? "For the bias as asked, although" : "Not for the bias, which --goal bias is:", doubt);
  }
  for (const std::string& command : next_commands(input)) text += fmt::format("#   {}\n", without_control_characters(command));
  return text;
}

std::string data_section(const FolderSurvey& survey) {
  std::string text = "data:\n";
  if (survey.hold_out > 0) {
    text += fmt::format("  # There is no test folder: {} images, the same share of every class, are held out of training for evaluation.\n",
                        survey.held_out);
  }
  text += "  train:\n" + indented(survey.train.to_yaml(), 4);
  text += "  test:\n" + indented(survey.evaluated.to_yaml(), 4);
  if (!survey.train_check.bad_files.empty()) {
    text += fmt::format("  on_error: substitute     # {} of the images are damaged; others replace them\n",
                        survey.train_check.bad_files.size());
  }
  return text;
}

constexpr const char* kBalanced =
    R"(  # Cross-entropy that removes the frequency of each class with each bias label from the logits in training, so that the network gains
  # nothing from the bias. Of ten methods on digits with misleading colours (Biased-MNIST) it had the highest mean if 99 to 99.7 % of the
  # training images are bias-aligned, and the second highest at 99.9 %.
  # To train an embedding instead: objective: [{name: eps_supinfonce, weight: 0.01, temperature: 0.1, base_temperature: 0.07, epsilon: 0.5},
  # {name: fairkl, weight: 0.75, variant: authors}], the weights chosen there, with gradient: stop and learning_rate: 1e-2 in classifier.
  name: bias_balanced
)";
constexpr const char* kUnbalanced = "  # Ignores the bias labels.\n  name: cross_entropy\n";

std::string encoder_remark(const ProposedNetwork& network) {
  if (!network.pretrained) {
    return "# The widest of five that fits the time; a full ResNet-18 has width 64. debias export writes ONNX for ResNets only.";
  }
  return "# Starts from the file's weights and changes them at a tenth of the learning rate. freeze: all keeps them as they are.";
}

std::string bias_body(const ProposedNetwork& network, ProposedPart part) {
  return fmt::format(R"(views:
  # The whole image at {0} x {0} pixels, corners included: a centre crop could remove the bias. In training it is shifted by a few pixels
  # and mirrored, which reduces overfitting on few images.
  steps:
    - resize: {{size: [{0}, {0}]}}
    - random_crop: {{size: {0}, padding: {2}}}
    - random_horizontal_flip: {{}}    # leave it out where left and right matter, as in text
  count: 1
  forward: joint
  eval: {{resize: {{size: [{0}, {0}]}}}}
{4}
encoder: {1}
objective:
{3}# The linear classifier: its accuracy on bias-aligned and on bias-conflicting images shows whether the network uses the bias.
classifier: {{name: linear, gradient: flow, normalize: false}}
optimizer: {{name: adam, learning_rate: {5}
schedule: {{name: cosine}}
)",
                     network.side, network.encoder, network.side / 8, part == ProposedPart::kCorrected ? kBalanced : kUnbalanced,
                     encoder_remark(network),
                     network.pretrained ? "1e-3, weight_decay: 1e-5}" : "3e-3, weight_decay: 1e-5}    # the best of three on Biased-MNIST");
}

std::string sampling_objective(const FolderSurvey& survey, ProposedPart part) {
  if (part == ProposedPart::kPlain) {
    return "# Pushes every other image away, also those of its own class.\nobjective: {name: infonce, temperature: 0.5}\n";
  }
  const double share = survey.has_labels() ? same_class_share(survey.train_check) : 0.1;
  const std::string why =
      survey.has_labels() ? fmt::format("by the labels, which training does not see, {:.1f} % of all pairs are of one class", 100 * share)
                          : "one pair in ten, a guess: debias prior RUN estimates it from the trained encoder";
  if (survey.groups > 0) {
    return fmt::format(
        "# A view is pushed away from the images of other groups, some of which are of its own class. tau_plus is their share, which the\n"
        "# objective removes from its estimate: {}.\n"
        "objective: {{name: debiased_negatives, temperature: 0.5, tau_plus: {:.3g}}}\n",
        why, share);
  }
  return fmt::format(
      "# A view is pushed away from the other images, some of which are of its own class. tau_plus is their share, which the objective\n"
      "# removes from its estimate: {}. beta is the weight of\n"
      "# similar images among the negatives. On CIFAR-10 this loss had the highest mean of seven over eight epochs.\n"
      "objective: {{name: hard_negatives, temperature: 0.5, beta: 1, tau_plus: {:.3g}}}\n",
      why, share);
}

// Whether an image resized to this short side, as before a crop of the centre, would be longer than a view may be.
bool some_are_too_long(const FolderSurvey& survey, int64_t side) {
  const auto is_too_long = [side](const auto& entry) {
    const auto [height, width] = entry.first;
    return side * std::max(height, width) / std::min(height, width) > kLargestExtent;
  };
  return std::ranges::any_of(survey.train_check.sizes, is_too_long) ||
         (survey.evaluated_check && std::ranges::any_of(survey.evaluated_check->sizes, is_too_long));
}

std::string sampling_eval(const FolderSurvey& survey, int side) {
  return some_are_too_long(survey, side)
             ? fmt::format("{{resize: {{size: [{0}, {0}]}}}}    # the whole image: some are too long and narrow for a crop of the centre",
                           side)
             : fmt::format("{{resize: {{size: {0}}}, center_crop: {{size: {0}}}}}", side);
}

std::string sampling_body(const FolderSurvey& survey, const ProposedNetwork& network, ProposedPart part) {
  return fmt::format(R"(views:
  # Two views of each image: a part of it at {0} x {0} pixels, mirrored or not, in changed colours. What they share is what is learned.
  steps:
    - random_resized_crop: {{size: {0}, scale: [0.2, 1]}}
    - random_horizontal_flip: {{}}    # leave it out where left and right matter, as in text
    - color_jitter: {{brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1, p: 0.8}}
    - random_grayscale: {{p: 0.2}}
  count: 2
  forward: per_view
  eval: {4}
{3}
encoder: {1}
head: {{name: simclr}}
{2}optimizer: {{name: adam, learning_rate: 1e-3, weight_decay: 1e-6}}
schedule: {{name: cosine}}
)",
                     network.side, network.encoder, sampling_objective(survey, part), encoder_remark(network),
                     sampling_eval(survey, network.side));
}

std::string protocol_list(const FolderSurvey& survey, InitGoal goal) {
  if (goal == InitGoal::kBias) return "[groups, knn, geometry]";
  return survey.has_labels() ? "[knn, geometry]" : "[geometry]";
}

std::string evaluate_section(const FolderSurvey& survey, const ProposalInput& input) {
  std::string text = fmt::format("evaluate:\n  every: {}\n  protocols: {}\n", input.epochs, protocol_list(survey, input.goal));
  if (survey.has_unknown_biases) {
    text += "  unknown_classes: ignore    # images for evaluation whose bias label training does not have are a group of unknown bias\n";
  }
  if (!survey.has_labels()) return text;
  const int64_t per_class = training_images(survey) / static_cast<int64_t>(survey.train_check.class_names.size());
  return text + fmt::format("  knn: {{k: {}}}    # neighbours that vote; fewer than a class has images\n",
                            std::clamp<int64_t>(per_class / 4, 1, 200));
}

}  // namespace

const std::vector<ProposedNetwork>& proposed_networks() {
  static const std::vector<ProposedNetwork> networks = {
      {"{name: resnet18, stem: cifar, width: 8}", 32, 1},    {"{name: resnet18, stem: cifar, width: 16}", 32, 4},
      {"{name: resnet18, stem: cifar, width: 16}", 64, 16},  {"{name: resnet18, stem: cifar, width: 32}", 64, 64},
      {"{name: resnet18, stem: cifar, width: 64}", 64, 256},
  };
  return networks;
}

std::string proposed_recipe(const FolderSurvey& survey, const ProposedNetwork& network, const ProposalInput& input, ProposedPart part) {
  const ProposedRun& run = part == ProposedPart::kCorrected ? input.corrected : input.plain;
  std::string text = head_lines(survey, input, part);
  text += fmt::format("name: {}\nseed: 1    # other seeds show how far two runs differ by chance: seed=2 output=...\n", scalar(run.name));
  text += data_section(survey);
  text += input.goal == InitGoal::kBias ? bias_body(network, part) : sampling_body(survey, network, part);
  text += fmt::format("train: {{epochs: {}, batch_size: {}{}\n", input.epochs, batch_size(survey),
                      input.on_gpu ? ", precision: bf16}  # of the network, on the GPU; the losses stay float32" : "}");
  text += evaluate_section(survey, input);
  return text + fmt::format("output: {}\n", scalar(run.output));
}

std::vector<ProposedNetwork> fine_tuned_networks(const Config& section, int64_t side, bool fixed) {
  constexpr std::array<int64_t, 2> kSmaller = {96, 160};
  Config slower = section;
  if (slower.find("learning_rate") == nullptr) slower.set("learning_rate", Config::number(0.1));
  std::vector<int64_t> sides;
  for (const int64_t smaller : kSmaller) {
    if (!fixed && smaller < side) sides.push_back(smaller);
  }
  sides.push_back(side);
  std::vector<ProposedNetwork> networks;
  for (const int64_t each : sides) {
    const double scale = static_cast<double>(each) / static_cast<double>(sides.front());
    networks.push_back({flow(slower), static_cast<int>(each), scale * scale, true});
  }
  return networks;
}

std::vector<std::string> frozen_commands(const FolderSurvey& survey, const std::string& encoder, const std::string& stem, int64_t side) {
  std::string words;
  const auto add = [&words](const std::string& key, const Config& value) { words += " " + shell_word(key + "=" + value.text()); };
  for (const auto& [key, value] : survey.train.entries()) {
    if (key == "name" || key == "root" || key == "split") continue;
    if (!value.is_map()) {
      add(key, value);
      continue;
    }
    for (const auto& [part, text] : value.entries()) add(key + "." + part, text);
  }
  if (some_are_too_long(survey, side + side / 7))
    words += " " + shell_word(fmt::format("views.eval={{resize: {{size: [{0}, {0}]}}}}", side));
  const std::string vectors = shell_word(stem + "-features.npy"), table = vectors + " --csv " + shell_word(stem + "-features.csv");
  std::vector<std::string> commands = {fmt::format("debias embed {}{} --encoder {} --out {}", shell_word(survey.train.find("root")->text()),
                                                   words, shell_word(encoder), vectors)};
  if (survey.has_labels()) commands.push_back("debias audit --embeddings " + table);
  if (survey.has_biases() && bias_doubt(survey).empty())
    commands.push_back(fmt::format("debias fix --embeddings {} --out {}", table, shell_word(stem + "-fixed")));
  return commands;
}

std::vector<std::string> next_commands(const ProposalInput& input) {
  std::vector<std::string> commands = input.frozen_commands;
  const std::vector<std::string> trainings = {fmt::format("debias train {}", shell_word(input.corrected.file)),
                                              fmt::format("debias train {}", shell_word(input.plain.file)),
                                              fmt::format("debias report {} {} --out {}", shell_word(input.corrected.output),
                                                          shell_word(input.plain.output), shell_word(input.corrected.name + ".html"))};
  commands.insert(commands.end(), trainings.begin(), trainings.end());
  return commands;
}

}  // namespace debias
