#include "debias/features/table_dataset.h"

#include <cmath>
#include <map>
#include <utility>

#include "debias/core/error.h"

namespace debias {
namespace {

// "p7", or "p7,burst 2" of several columns; empty where one is unknown.
std::string group_name(const TableRows& rows, size_t row) {
  std::string name;
  for (const size_t place : rows.groups) {
    const std::string value = value_text(rows.columns[place], row);
    if (value.empty()) return "";
    if (place != rows.groups.front()) name += ',';
    name += value;
  }
  return name;
}

std::string groups_from(const TableRows& rows) {
  std::string titles;
  for (const size_t place : rows.groups) titles += (titles.empty() ? "column " : ",") + rows.columns[place].name;
  return titles;
}

class TableDataset : public Dataset {
 public:
  TableDataset(const TableRows& rows, const JointBias* bias, std::vector<int64_t> places, const std::string& split)
      : places_(std::move(places)) {
    info_.name = "features";
    info_.split = split;
    info_.class_names = rows.classes;
    if (bias != nullptr) info_.bias_names = bias->names;
    if (!rows.groups.empty()) info_.groups_from = groups_from(rows);
    std::map<std::string, int64_t> numbers;
    for (const int64_t place : places_) {
      const auto i = static_cast<size_t>(place);
      labels_.push_back(rows.labels[i]);
      biases_.push_back(bias == nullptr ? kUnknown : bias->values[i]);
      groups_.push_back(kUnknown);
      if (const std::string group = rows.groups.empty() ? "" : group_name(rows, i); !group.empty()) {
        const auto [number, is_new] = numbers.try_emplace(group, std::ssize(numbers));
        if (is_new) info_.group_names.push_back(group);
        groups_.back() = number->second;
      }
      names_.push_back(rows.names.empty() ? fmt::format("row {}", place) : rows.names[i]);
    }
  }

  const DatasetInfo& info() const override { return info_; }
  std::string what() const override { return "rows"; }
  int64_t size() const override { return std::ssize(places_); }
  Sample get(int64_t index) const override { throw data_error("{}: a feature table has no images", source(index)); }
  int64_t id(int64_t index) const override { return at(places_, index); }
  int64_t label(int64_t index) const override { return at(labels_, index); }
  int64_t bias(int64_t index) const override { return at(biases_, index); }
  int64_t group(int64_t index) const override { return at(groups_, index); }
  std::string source(int64_t index) const override {
    require_index(*this, index);
    return names_[static_cast<size_t>(index)];
  }

 private:
  int64_t at(const std::vector<int64_t>& values, int64_t index) const {
    require_index(*this, index);
    return values[static_cast<size_t>(index)];
  }

  DatasetInfo info_;
  std::vector<int64_t> places_, labels_, biases_, groups_;
  std::vector<std::string> names_;
};

}  // namespace

std::shared_ptr<const Dataset> table_dataset(const TableRows& rows, const JointBias* bias, std::vector<int64_t> places,
                                             const std::string& split) {
  return std::make_shared<TableDataset>(rows, bias, std::move(places), split);
}

}  // namespace debias
