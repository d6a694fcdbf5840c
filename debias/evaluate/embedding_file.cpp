#include "debias/evaluate/embedding_file.h"

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <string_view>

#include "debias/core/atomic_file.h"
#include "debias/core/config.h"
#include "debias/core/npy.h"
#include "debias/data/csv_text.h"

namespace debias {
namespace {

constexpr size_t kFlushed = 1 << 20;

// `columns`: number of each row's features between file name and label.
void write_csv(const std::string& path, const Features& features, const Dataset& dataset, int64_t columns, CsvCells cells) {
  AtomicFile file(path);
  std::string text = "filenames,";
  for (int64_t d = 0; d < columns; ++d) text += fmt::format("embedding_{},", d);
  text += "labels\n";
  const float* value = features.values.const_data_ptr<float>();
  for (size_t i = 0; i < features.labels.size(); ++i) {
    text += csv_field(dataset.source(features.indices[i]), cells) + ',';
    for (int64_t d = 0; d < columns; ++d) fmt::format_to(std::back_inserter(text), "{},", *value++);
    fmt::format_to(std::back_inserter(text), "{}\n", features.labels[i]);
    if (text.size() < kFlushed) continue;
    file.write(text.data(), text.size());
    text.clear();
  }
  file.write(text.data(), text.size());
  file.commit();
}

bool is_formula(const std::string& field) {
  double number;
  return !field.empty() && std::string_view("=+-@\t\r").find(field[0]) != std::string_view::npos &&
         !(parse_number(field, &number) && std::isfinite(number));
}

}  // namespace

std::string csv_field(const std::string& field, CsvCells cells) {
  return quoted_field(cells == CsvCells::kGuarded && is_formula(field) ? "'" + field : field);
}

std::vector<std::string> embedding_paths(const std::string& out) {
  const std::filesystem::path path(out);
  if (path.extension() == ".csv") return {out};
  const std::string stem = path.extension() == ".npy" ? out.substr(0, out.size() - 4) : out;
  return {stem + ".npy", stem + ".csv"};
}

std::vector<std::string> write_embeddings(const std::string& out, const Features& features, const Dataset& dataset, CsvCells cells) {
  const auto paths = embedding_paths(out);
  if (paths.size() == 1) {
    write_csv(paths[0], features, dataset, features.values.size(1), cells);
    return paths;
  }
  write_npy(paths[0], DType::kFloat32, {features.values.size(0), features.values.size(1)}, features.values.const_data_ptr());
  write_csv(paths[1], features, dataset, 0, cells);
  return paths;
}

std::string group_field(const Dataset& dataset, int64_t index, CsvCells cells) {
  const int64_t group = dataset.group(index);
  return group == kUnknown ? "" : csv_field(dataset.info().group_names[static_cast<size_t>(group)], cells);
}

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

bool write_predictions(const std::string& path, const EvaluationResult& result, const EvaluationInput& input, CsvCells cells) {
  if (result.predictions.empty()) return false;
  std::string text = "split,filenames,labels,biases,predictions\n";
  for (const auto& evaluated : evaluated_splits(input)) {
    const Dataset& dataset = *evaluated.dataset;
    const std::vector<int64_t>& predictions = result.predictions.at(evaluated.name);
    for (int64_t i = 0; i < dataset.size(); ++i) {
      fmt::format_to(std::back_inserter(text), "{},{},{},{},{}\n", evaluated.name, csv_field(dataset.source(i), cells), dataset.label(i),
                     dataset.bias(i), predictions[i]);
    }
  }
  write_file_atomically(path, text);
  return true;
}

}  // namespace debias
