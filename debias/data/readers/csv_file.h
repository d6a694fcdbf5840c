// Comma-separated values: fields may be quoted as in RFC 4180, lines end with LF or CRLF, empty lines are ignored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace debias {

struct CsvRecord {
  std::vector<std::string> fields;
  int64_t line = 0;  // where it begins, from 1
};

// Every record, the header first. FileError "PATH: line N: ..." where a quoted field does not end or text follows one, where a record has
// not as many fields as the first, where semicolons or tabs separate the fields of the first and where bytes are not UTF-8; "PATH: ..."
// without a record and where lines end with CR alone.
std::vector<CsvRecord> read_csv(const std::string& path);

// FileError "PATH: line N: REASON".
[[noreturn]] void refuse_line(const std::string& path, int64_t line, const std::string& reason);

}  // namespace debias
