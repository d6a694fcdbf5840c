// The key numbers as text, the same words on the page and on the terminal.
#pragma once

#include <string>
#include <vector>

#include "debias/report/tables/key_numbers.h"

namespace debias {

struct NumberText {
  std::string value;     // "63.20 %"; "–" where the column has none, "undefined" where it could not be computed
  std::string interval;  // "[45.00, 55.00]" over images, "± 1.40" over seeds, or empty
  std::string remark;    // "(chance 10.40 %)", "(2 of 3 seeds)", or empty
  bool is_number() const { return !value.empty() && value != "–" && value != "undefined"; }
};

NumberText number_text(const std::vector<NumberRow>& rows, const NumberRow& row, size_t column);

// False for a companion of another number: the chance level of the bias probe.
bool has_own_row(const std::vector<NumberRow>& rows, const NumberRow& row);

// Explains the numbers and signs that occur, in one sentence or more each.
std::vector<std::string> number_notes(const std::vector<RunColumn>& columns, const std::vector<NumberRow>& rows);

}  // namespace debias
