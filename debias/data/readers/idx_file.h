// IDX files of unsigned bytes, as MNIST's: big-endian magic 0x000008DD (DD = number of dimensions), the extents, then the bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace debias {

struct IdxArray {
  std::vector<int64_t> shape;
  std::vector<uint8_t> values;
};

// Plain or gzip-compressed, detected by the content. FileError naming the fault: missing, empty, another magic, extents that are zero or
// multiply to more than 1 GiB, fewer or more bytes than they promise, damaged compression. Memory grows with what was read, not with
// what the header claims.
IdxArray read_idx(const std::string& path, int dimensions);

}  // namespace debias
