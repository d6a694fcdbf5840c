// Which sample a row of a table names. Every join of a CSV with images or vectors is this one.
//
// A row names the sample whose name it has. Rows that name none are compared once more with the samples that have no row, by these changes
// in this order; the first that fits counts, and a note counts the rows with an example:
//   form    normal form, \ as /, blanks (plain_text, normal_form.h)
//   case    in lower case
//   folder  one of the two names ends with the other, from a / on: "1.png" and "train/cat/1.png"
//   ending  the same of names of which one has no ending: "1" and "train/cat/1.png"
//   signs   as for folder, with %20 and the like as the characters that they stand for
//   kind    as for ending, of names of two endings: "1.JPG" and "cat/1.png", "1.png.jpg" and "1.png"
//   tail    one file name and the folder above it, or, where the row has a path of another machine ("C:\\x\\1.png"), the file name alone
// A row that fits two samples is an error that names both; by kind or tail it names none.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace debias {

// A name in a CSV, and its line in the file, from 1.
struct RowName {
  std::string name;
  int64_t line = 0;
  std::string split;  // what the column `split` has; empty without it
};

// "a/b.png" of "./a//b.png" and "x/../a/b.png".
std::string normal_path(const std::string& path);

enum class NameChange { kForm, kCase, kFolder, kEnding, kSigns, kKind, kTail };

class SampleNames {
 public:
  explicit SampleNames(std::vector<std::string> names);

  // The sample of this name; nullopt without one. A name that is not UTF-8 may be written as by in_utf8 (printable.h).
  std::optional<int64_t> find(const std::string& name) const;

  // The samples whose names are this one after a change: none, one, or the first two.
  std::vector<int64_t> find_changed(const std::string& name, NameChange change) const;

  int64_t size() const { return std::ssize(names_); }
  const std::string& name(int64_t place) const { return names_[static_cast<size_t>(place)]; }

 private:
  using Places = std::unordered_map<std::string, std::vector<int64_t>>;
  const Places& places_by(NameChange change) const;

  std::vector<std::string> names_;
  std::unordered_map<std::string, int64_t> places_;
  mutable std::array<std::optional<Places>, 7> changed_;  // made when they are needed
};

// Rows of a CSV and samples.
struct JoinedRows {
  std::vector<int64_t> of_sample;  // the row of each sample, or kUnknown
  std::vector<int64_t> strays;     // rows of no sample, in their order
  std::vector<std::string> notes;  // one line for each change of names
};

// `exact` gives the sample that a row names as it is written, kUnknown where it names something else (an image that is not read), nullopt
// where it names nothing. FileError of `csv` where two rows name one sample, and where a row fits two samples.
JoinedRows join_rows(const std::string& csv, const std::vector<RowName>& rows, const SampleNames& samples,
                     const std::function<std::optional<int64_t>(const RowName&)>& exact);

class CsvTable;

// "'a' is given twice, first in line 2", where rows of one name differ; "no path is given" where a name is empty (FileErrors). Otherwise the
// rows that repeat an earlier one, field for field. `title`: of the column of names; `splits`: of the rows, whose names differ by them, too.
std::vector<int64_t> repeated_rows(const CsvTable& table, const std::string& title, const std::vector<std::string>& names,
                                   const std::vector<std::string>& splits = {});

// The fields of the column `split`; empty without it.
std::vector<std::string> split_fields(const CsvTable& table);

// "2 rows repeat earlier ones and are left out, the first in line 7".
std::string note_on_repeated(const CsvTable& table, const std::vector<int64_t>& repeated);

// The column, not one of `taken`, whose fields name the most samples: with the fewest changes by which they name at least half of the
// samples or come from at least half of the rows. Nullopt without one.
std::optional<size_t> naming_column(const CsvTable& table, const SampleNames& samples, const std::vector<size_t>& taken);

// FileError: the row may be either of two samples.
[[noreturn]] void refuse_two(const std::string& csv, const RowName& row, const std::string& first, const std::string& second);

}  // namespace debias
