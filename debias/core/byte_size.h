// Sizes as a person writes them.
#pragma once

#include <cstdint>
#include <string>

namespace debias {

// "256MB", "64MiB", "1.5GB", "4096": bytes, in decimal (kB, MB, GB) or binary (KiB, MiB, GiB) units. `what` begins the message of the usage
// error that anything else, or a size below one byte, throws.
int64_t parse_byte_size(const std::string& text, const std::string& what);

}  // namespace debias
