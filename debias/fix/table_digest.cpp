#include "debias/fix/table_digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "debias/core/input_file.h"
#include "debias/core/sha256.h"
#include "debias/data/parallel_blocks.h"

namespace debias {
namespace {

constexpr int64_t kHashedBlock = int64_t{8} << 20;  // bytes

std::string file_blocks_digest(const std::string& path) {
  const InputFile file(path);
  const auto size = static_cast<int64_t>(file.size());
  std::vector<std::string> blocks(static_cast<size_t>((size + kHashedBlock - 1) / kHashedBlock));
  const auto hash = [&](int64_t first, int64_t last) {
    std::vector<char> bytes(static_cast<size_t>(last - first));
    file.read(static_cast<uint64_t>(first), bytes.data(), bytes.size());
    Sha256 digest;
    digest.update(bytes.data(), bytes.size());
    blocks[static_cast<size_t>(first / kHashedBlock)] = digest.hex();
  };
  for_each_block(size, kHashedBlock, hash, [](int64_t) {});
  Sha256 all;
  for (const std::string& block : blocks) all.update(block.data(), block.size());
  return all.hex();
}

std::string text_of(const TableColumn& column, size_t row) {
  if (column.numeric) return fmt::format("{}", column.numbers[row]);
  const int64_t value = column.values[row];
  return value == kUnknown ? "" : column.names[static_cast<size_t>(value)];
}

std::string rows_digest(const TableRows& rows) {
  Sha256 digest;
  const auto add = [&digest](const std::string& text) { digest.update(text.c_str(), text.size() + 1); };
  for (const size_t place : rows.biases) add(rows.columns[place].name);
  for (size_t i = 0; i < rows.labels.size(); ++i) {
    add(rows.names.empty() ? "" : rows.names[i]);
    add(rows.classes[static_cast<size_t>(rows.labels[i])]);
    add(std::string(enum_name(rows.splits[i])));
    for (const size_t place : rows.biases) add(text_of(rows.columns[place], i));
  }
  return digest.hex();
}

}  // namespace

TableDigest table_digest(const FeatureTable& table) { return {file_blocks_digest(table.vectors.path()), rows_digest(table.rows)}; }

}  // namespace debias
