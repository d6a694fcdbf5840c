#include "debias/data/csv_text.h"

#include "debias/core/printable.h"

namespace debias {

std::string quoted_field(const std::string& field) {
  const std::string text = in_utf8(field);
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (size_t i = 0; i < fields.size(); ++i) line += (i == 0 ? "" : ",") + quoted_field(fields[i]);
  return line + '\n';
}

}  // namespace debias
