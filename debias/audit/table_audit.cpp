#include "debias/audit/table_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/features/feature_table.h"

namespace debias {
namespace {

TableSplit audited_split(const std::string& word) {
  std::vector<std::string> known;
  for (const auto& [name, split] : EnumNames<TableSplit>::values) {
    if (name == (word.empty() ? "train" : word)) return split;
    known.emplace_back(name);
  }
  throw usage_error("audit: --split: unknown split '{}'{}", word, suggestion(word, known));
}

std::vector<std::string> texts_of(const TableColumn& column) {
  std::vector<std::string> texts;
  for (const double number : column.numbers) texts.push_back(number == number ? fmt::format("{}", number) : "");
  for (const int64_t value : column.values) texts.push_back(value == kUnknown ? "" : column.names[static_cast<size_t>(value)]);
  return texts;
}

void take_table_columns(const AuditTableOptions& options, const TableRows& rows, AuditFolder& folder) {
  std::vector<std::string> known, wanted = options.columns;
  for (const TableColumn& column : rows.columns) known.push_back(column.name);
  if (wanted.empty()) wanted = known;
  for (const std::string& name : options.group) {
    if (std::ranges::find(wanted, name) == wanted.end()) wanted.push_back(name);
  }
  for (const std::string& name : wanted) {
    const auto found = std::ranges::find(rows.columns, name, &TableColumn::name);
    if (found == rows.columns.end()) throw usage_error("audit: {} has no column '{}'{}", rows.path, name, suggestion(name, known));
    AuditColumn column{name, texts_of(*found)};
    if (const std::string reason = constant_column(column.values); !reason.empty()) {
      folder.notes.push_back(fmt::format("column {} is ignored: it {}", name, reason));
      continue;
    }
    column.unusable = unusable_column(column.values);
    folder.columns.push_back(std::move(column));
  }
}

AuditFolder folder_of(const FeatureTable& table, const AuditTableOptions& options) {
  const TableSplit split = audited_split(options.split);
  AuditFolder folder{table.rows.classes, {}, {}, {}, {}, {}, {}, table.remarks};
  for (size_t i = 0; i < table.rows.labels.size(); ++i) {
    const std::string name = table.rows.names.empty() ? std::to_string(i) : table.rows.names[i];
    folder.files.push_back({"", name, name});
    folder.label_names.push_back(table.rows.classes[static_cast<size_t>(table.rows.labels[i])]);
    folder.labels.push_back(table.rows.splits[i] == split ? table.rows.labels[i] : kUnknown);
    if (table.rows.has_splits) folder.splits.emplace_back(enum_name(table.rows.splits[i]));
  }
  take_table_columns(options, table.rows, folder);
  return folder;
}

}  // namespace

FolderAudit audit_table(const AuditTableOptions& options, uint64_t seed, Progress& progress) {
  FeatureTable table = open_feature_table(FeatureTableFiles().vectors(options.embeddings).csv(options.csv).key(options.key),
                                          TableRowOptions().label(options.label));
  FolderAudit done{folder_of(table, options), {}, {}, {}, {}, nullptr};
  const AuditSample drawn = audit_sample("audit: " + options.embeddings, done.folder.classes, done.folder.labels, seed);
  done.files = drawn.rows;
  done.rows.classes = drawn.classes;
  done.rows.labels = drawn.labels;
  done.rows.dimensions = table.vectors.dimensions();
  done.rows.embeddings.resize(drawn.rows.size() * static_cast<size_t>(done.rows.dimensions));
  table.vectors.read_places(drawn.rows, done.rows.embeddings.data());
  done.vectors = std::make_shared<const FeatureVectors>(std::move(table.vectors));
  AuditFolderOptions common;
  common.group = options.group;
  common.expected = options.expected;
  run_audit(drawn.notes, common, seed, done, progress);
  return done;
}

}  // namespace debias
