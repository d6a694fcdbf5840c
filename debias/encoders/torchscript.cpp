#include "debias/encoders/torchscript.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <exception>
#include <vector>

#include "debias/core/error.h"
#include "debias/core/sha256.h"

namespace debias {
namespace {

constexpr size_t kDigestCharacters = 64;

// Message of torch, without its stack of calls.
std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

torch::jit::Module opened_script(const TorchScriptOptions& options) {
  const std::string found = file_digest(options.file);
  if (found != options.sha256) {
    throw data_error("{}: its SHA-256 is {}, not {} as encoder 'torchscript' says; a file is run only with its own digest", options.file,
                     found, options.sha256);
  }
  try {
    return torch::jit::load(options.file, c10::Device(c10::kCPU));
  } catch (const std::exception& error) {
    throw data_error("{}: not a readable TorchScript file: {}; save it again with torch.jit.trace(model, images).save(FILE)", options.file,
                     first_line(error));
  }
}

// One argument without a default beside the module itself.
void require_one_input(const torch::jit::Module& script, const std::string& path) {
  const auto method = script.find_method("forward");
  if (!method) throw data_error("{}: the module has no forward; save one that takes images", path);
  std::vector<std::string> needed;
  const auto& arguments = method->function().getSchema().arguments();
  for (size_t i = 1; i < arguments.size(); ++i) {
    if (!arguments[i].default_value()) needed.push_back(arguments[i].name());
  }
  if (needed.size() == 1) return;
  throw data_error("{}: its forward takes {} inputs ({}); trace a model that takes images alone", path, needed.size(),
                   fmt::join(needed, ", "));
}

class TorchScript final : public Encoder {
 public:
  TorchScript(const TorchScriptOptions& options, int64_t in_channels) : options_(options), script_(opened_script(options)) {
    require_one_input(script_, options.file);
    for (const auto& parameter : script_.named_parameters()) {
      if (parameter.value.scalar_type() != at::kFloat) {
        throw data_error("{}: parameter '{}' is of type {}; save the model in float32 (model.float())", options.file, parameter.name,
                         c10::toString(parameter.value.scalar_type()));
      }
      parameter.value.set_requires_grad(true);
      owner_of(parameter.name).register_parameter(last_of(parameter.name), parameter.value);
    }
    for (const auto& buffer : script_.named_buffers()) owner_of(buffer.name).register_buffer(last_of(buffer.name), buffer.value);
    if (parameters().empty()) throw data_error("{}: the module has no parameters; trace a network with its weights", options.file);
    require_features(in_channels);
  }

  torch::Tensor forward(const torch::Tensor& images) override {
    const int64_t side = options_.size;
    if (images.size(2) != side || images.size(3) != side) {
      throw usage_error("encoder 'torchscript': images of {}x{} pixels; it takes {}x{}", images.size(2), images.size(3), side, side);
    }
    return script_.forward({images}).toTensor();
  }

  int64_t feature_dim() const override { return features_; }
  std::optional<int64_t> image_side() const override { return options_.size; }

  std::string registry_name() const override { return "torchscript"; }

  void train(bool on = true) override {
    Encoder::train(on);
    script_.train(is_training());
  }

 private:
  // Modules of the file's names, so that the state has them, too.
  torch::nn::Module& owner_of(const std::string& name) {
    torch::nn::Module* owner = this;
    size_t begin = 0;
    for (size_t dot = name.find('.'); dot != std::string::npos; begin = dot + 1, dot = name.find('.', begin)) {
      const std::string part = name.substr(begin, dot - begin);
      const auto children = owner->named_children();
      const auto* known = children.find(part);
      owner = known != nullptr ? known->get() : owner->register_module(part, std::make_shared<torch::nn::Module>()).get();
    }
    return *owner;
  }

  static std::string last_of(const std::string& name) { return name.substr(name.rfind('.') + 1); }

  at::Tensor tried(int64_t images, int64_t channels) {
    const at::NoGradGuard no_grad;
    const std::array<int64_t, 4> shape = {images, channels, options_.size, options_.size};
    const auto given = fmt::format("for images [{}]", fmt::join(shape, ", "));
    c10::IValue output;
    try {
      output = script_.forward({at::zeros(shape)});
    } catch (const std::exception& error) {
      throw data_error("{}: its forward fails {}: {}; set size, or trace it with such images", options_.file, given, first_line(error));
    }
    if (!output.isTensor()) {
      throw data_error("{}: its forward gives {} {}, not a tensor; trace a model that gives features", options_.file, output.tagKind(),
                       given);
    }
    const at::Tensor rows = output.toTensor();
    if (rows.dim() == 2 && rows.size(0) == images && rows.size(1) > 0 && rows.scalar_type() == at::kFloat) return rows;
    throw data_error("{}: its forward gives {} [{}] {}, not float32 [{}, features]; trace a model that pools its features", options_.file,
                     c10::toString(rows.scalar_type()), fmt::join(rows.sizes(), ", "), given, images);
  }

  // Tries two batch sizes, neither of which the graph was traced with by chance.
  void require_features(int64_t channels) {
    train(false);
    features_ = tried(3, channels).size(1);
    tried(2, channels);
    train(true);
  }

  TorchScriptOptions options_;
  torch::jit::Module script_;
  int64_t features_ = 0;
};

}  // namespace

void TorchScriptOptions::describe(OptionVisitor& o) {
  o("file", file, "the TorchScript file, whose code is executed; required");
  o("sha256", sha256, "SHA-256 of the file in hexadecimal, without which it is not opened; required");
  o("size", size, Range::closed(1, 4096), "side of the square input images");
  o("channels", channels, Range::closed(1, 4096), "number of image channels");
  o("freeze", freeze, "none or all");
  o("freeze_epochs", freeze_epochs, Range::closed(0, kMostFreezeEpochs), kFreezeEpochsHelp);
  o("learning_rate", learning_rate, Range::above(0), "factor of the optimizer's learning rate for the encoder");
  o("mean", mean, "mean of each channel, subtracted from values in [0, 1]; none: ImageNet's");
  o("std", std, Range::above(0), "standard deviation of each channel, by which values are divided; none: as for mean");
  o.check([this](const std::string& what) {
    if (file.empty()) throw usage_error("{}: no file is given; add file: MODEL.pt", what);
    const std::string& digest = sha256;
    const bool is_digest = digest.size() == kDigestCharacters &&
                           std::ranges::all_of(digest, [](unsigned char c) { return std::isdigit(c) != 0 || (c >= 'a' && c <= 'f'); });
    if (is_digest) return;
    throw usage_error("{}: sha256: expected {} lower-case hexadecimal digits, found '{}'; `sha256sum {}` prints them", what,
                      kDigestCharacters, digest, file);
  });
}

std::shared_ptr<Encoder> make_torchscript(const TorchScriptOptions& options, int64_t in_channels) {
  check_options(options, "encoder 'torchscript'");
  if (in_channels != options.channels) {
    throw usage_error("encoder 'torchscript': images of {} channels; {} takes {} (channels)", in_channels, options.file, options.channels);
  }
  return std::make_shared<TorchScript>(options, in_channels);
}

}  // namespace debias
