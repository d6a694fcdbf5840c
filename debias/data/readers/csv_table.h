// A CSV, read once: its titles and the fields of its rows. Every reader of one views this table: image folders, feature tables, audits,
// marks of pairs, clusterings and `eval --labels`.
//
// Fields may be quoted as in RFC 4180, lines end with LF or CRLF, empty lines are ignored. The first record is the header. What the fields of
// a column are, says table_column.h; which row belongs to which sample, row_names.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debias/data/readers/table_column.h"

namespace debias {

struct CsvRecord {
  std::vector<std::string> fields;
  int64_t line = 0;  // where it begins, from 1
};

// Every record, the header first. FileError "PATH: line N: ..." where a quoted field does not end or text follows one, where a record has
// not as many fields as the first, where semicolons or tabs separate the fields of the first and where bytes are not UTF-8; "PATH: ..."
// without a record and where lines end with CR alone.
std::vector<CsvRecord> read_csv(const std::string& path);

class CsvTable {
 public:
  explicit CsvTable(const std::string& path);  // the errors of read_csv

  const std::string& path() const { return path_; }
  const std::vector<std::string>& titles() const { return titles_; }  // without blanks around them
  int64_t header_line() const { return header_line_; }
  const std::vector<CsvRecord>& rows() const { return rows_; }

  // Index of the column; nullopt without it. FileError where two columns have this title.
  std::optional<size_t> find(const std::string& title) const;

  ColumnFields fields(size_t column) const;  // without blanks around them

 private:
  std::string path_;
  std::vector<std::string> titles_;
  int64_t header_line_ = 1;
  std::vector<CsvRecord> rows_;
};

// FileError "PATH: line N: REASON".
[[noreturn]] void refuse_line(const std::string& path, int64_t line, const std::string& reason);

}  // namespace debias
