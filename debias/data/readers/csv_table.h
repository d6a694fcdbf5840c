// A CSV, read once: its titles and the fields of its rows. Every reader of one views this table: image folders, feature tables, audits,
// marks of pairs, clusterings and `eval --labels`.
//
// Text is UTF-8, with or without a byte-order mark, or UTF-16. Commas, semicolons, tabs or bars separate the fields: the one that the first record
// has most of. Fields may be quoted as in RFC 4180, lines end with LF or CRLF, empty lines are ignored, and so is a first line "sep=;". The
// first record is the header.
//
// Left out, with a note, are rows of several columns without values, columns without a title and without values, and an index: a column "Unnamed: 0" of
// integers, or one without a title that numbers the rows. What the fields of a column are, says table_column.h; which row belongs to which
// sample, row_names.h. The rules of these three have one file of cases, tests/golden/tables/cases.json, which Python's reader
// (python/debias/_csv_table.py) follows too.
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

class CsvTable {
 public:
  // FileError "PATH: line N: ..." where a quoted field does not end or text follows one, where a record has not as many fields as the first,
  // and where bytes are not UTF-8; "PATH: ..." without a record, where lines end with CR alone and where UTF-16 is damaged.
  explicit CsvTable(const std::string& path);

  const std::string& path() const { return path_; }
  const std::vector<std::string>& titles() const { return titles_; }  // as plain_text (normal_form.h); "" without one
  int64_t header_line() const { return header_line_; }
  const std::vector<CsvRecord>& rows() const { return rows_; }      // fields as they are written
  const std::vector<std::string>& notes() const { return notes_; }  // one line each: what was left out

  // Index of the column; nullopt without it. FileError where two columns have this title.
  std::optional<size_t> find(const std::string& title) const;

  ColumnFields fields(size_t column) const;
  std::vector<std::string> column(size_t column) const;  // fields as they are written

 private:
  std::string path_;
  std::vector<std::string> titles_, notes_;
  int64_t header_line_ = 1;
  std::vector<CsvRecord> rows_;
  char separator_ = ',';
};

// Every record, the header first.
std::vector<CsvRecord> read_csv(const std::string& path);

// FileError "PATH: line N: REASON".
[[noreturn]] void refuse_line(const std::string& path, int64_t line, const std::string& reason);

}  // namespace debias
