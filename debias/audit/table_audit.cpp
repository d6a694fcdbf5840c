#include "debias/audit/table_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "debias/audit/column_values.h"
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
  for (const std::string& name : wanted) {
    const auto found = std::ranges::find(rows.columns, name, &TableColumn::name);
    if (found == rows.columns.end()) throw usage_error("audit: {} has no column '{}'{}", rows.path, name, suggestion(name, known));
    AuditColumn column{name, texts_of(*found)};
    const std::string reason = unusable_column(column.values);
    if (reason.empty()) {
      folder.columns.push_back(std::move(column));
    } else {
      folder.remarks.push_back(fmt::format("column {} is ignored: it {}", name, reason));
    }
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
  FolderAudit done{folder_of(table, options), {}, {}, {}, {}, seed};
  AuditSample drawn = audit_sample("audit: " + options.embeddings, done.folder.classes, done.folder.labels, seed);
  done.files = drawn.rows;
  done.rows.classes = drawn.classes;
  done.rows.labels = drawn.labels;
  done.rows.dimensions = table.vectors.dimensions();
  done.rows.embeddings.resize(drawn.rows.size() * static_cast<size_t>(done.rows.dimensions));
  table.vectors.read_places(drawn.rows, done.rows.embeddings.data());
  done.vectors = std::make_shared<const FeatureVectors>(std::move(table.vectors));
  for (const AuditColumn& column : done.folder.columns) {
    AuditColumn own{column.name, {}};
    for (const int64_t row : drawn.rows) own.values.push_back(column.values[static_cast<size_t>(row)]);
    done.rows.columns.push_back(std::move(own));
  }
  done.result = audit(done.rows, seed, progress);
  done.result.remarks = done.folder.remarks;
  done.result.remarks.insert(done.result.remarks.end(), drawn.remarks.begin(), drawn.remarks.end());
  return done;
}

}  // namespace debias
