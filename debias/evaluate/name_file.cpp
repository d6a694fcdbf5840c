#include "debias/evaluate/name_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "debias/core/atomic_file.h"

namespace debias {
namespace {

std::string name_field(const std::vector<std::string>& names, int64_t number, CsvCells cells) {
  return number >= 0 && number < std::ssize(names) ? csv_field(names[number], cells) : "";
}

}  // namespace

std::string name_path(const std::string& out) {
  const std::string ending = std::filesystem::path(out).extension();
  const bool known = ending == ".npy" || ending == ".csv";
  return (known ? out.substr(0, out.size() - ending.size()) : out) + ".names.csv";
}

std::optional<std::string> write_names(const std::string& out, const Features& features, const Dataset& dataset, CsvCells cells) {
  const auto& classes = dataset.info().class_names;
  const auto& biases = dataset.info().bias_names;
  const bool with_groups = !dataset.info().group_names.empty();
  if (classes.empty() && biases.empty() && !with_groups) return std::nullopt;
  std::string text = fmt::format("filenames,labels,class,bias,bias_name{}\n", with_groups ? ",group" : "");
  for (size_t i = 0; i < features.labels.size(); ++i) {
    const int64_t label = features.labels[i], bias = features.biases[i];
    text +=
        fmt::format("{},{},{},{},{}{}\n", csv_field(dataset.source(features.indices[i]), cells), label, name_field(classes, label, cells),
                    bias, name_field(biases, bias, cells), with_groups ? "," + group_field(dataset, features.indices[i], cells) : "");
  }
  const std::string path = name_path(out);
  write_file_atomically(path, text);
  return path;
}

}  // namespace debias
