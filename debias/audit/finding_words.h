// A finding in words that need no knowledge of how it was measured.
#pragma once

#include <string>

#include "debias/audit/audit.h"

namespace debias {

// "JPEG blocks (blockiness)": what a person calls the property, and the name that --accept and --expect take where that is another.
std::string plain_name(const Property& property);

// What the property is, in one sentence; "" where its name says it.
std::string meaning(const Property& property);

// "98 % of vehicle are 800 x 600, 6 % of the others". Of a value that says that something is not there, the others that have it are named.
std::string shares_text(const AuditFinding& finding, const AuditResult& result);

// The beginning of a value that is too long for a line.
std::string shown_value(const std::string& value);

// "are 800 x 600".
std::string value_phrase(const AuditFinding& finding);

}  // namespace debias
