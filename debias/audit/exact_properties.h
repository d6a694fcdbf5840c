// Properties that are read rather than measured: facts of files, columns of a CSV.
#pragma once

#include <string>
#include <vector>

#include "debias/audit/picture_properties.h"

namespace debias {

struct AuditColumn {
  std::string name;
  std::vector<std::string> values;  // one per row; empty: unknown
  std::string unusable = "";        // why it is no property, though it may name groups; empty if it is one
  bool of_names = false;            // made from names of images (parts_of_names): it may name groups, and is no property
};

std::vector<MeasuredProperty> file_properties(const PictureRows& rows);

// Numbers if every known value is one and more than 12 differ, else names. Nothing can give values to rows without a column.
Property column_property(const AuditColumn& column);

// "has a single value ('a')", or empty.
std::string constant_column(const std::vector<std::string>& values);
// Why a column that varies is no property: nearly every row has its own value; empty if it is one.
std::string unusable_column(const std::vector<std::string>& values);

}  // namespace debias
