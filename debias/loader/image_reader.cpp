#include "debias/loader/image_reader.h"

#include <algorithm>
#include <exception>
#include <new>
#include <stdexcept>
#include <utility>

#include "debias/core/error.h"

namespace debias {

std::exception_ptr with_source(const std::exception_ptr& error, const std::string& source) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    const std::string message = e.what();
    if (message.find(source) != std::string::npos) return error;
    return std::make_exception_ptr(Error(e.kind(), source + ": " + message));
  } catch (const std::bad_alloc&) {
    return std::make_exception_ptr(resource_error("{}: out of memory while its views were made; lower batch_size or workers", source));
  } catch (const std::exception& e) {
    return std::make_exception_ptr(std::runtime_error(source + ": " + e.what()));
  }
}

ImageReader::ImageReader(std::shared_ptr<const Dataset> dataset, OnError on_error, Decode decode, int64_t cache_bytes)
    : dataset_(std::move(dataset)), on_error_(on_error), cache_(dataset_, decode, cache_bytes) {}

ImagePart ImageReader::read_one(int64_t index, const RegionChooser& choose, PartialImage& memory) const {
  try {
    return cache_.get(index, choose, memory);
  } catch (...) {
    std::rethrow_exception(with_source(std::current_exception(), dataset_->source(index)));
  }
}

ImageReader::Found ImageReader::read(int64_t index, const RegionChooser& choose, PartialImage& memory,
                                     const std::function<int64_t()>& draw) const {
  Found found{{}, index, {}};
  const int64_t most = std::min<int64_t>(kStandIns, dataset_->size() - 1);
  for (int64_t drawn = 0;; ++drawn, found.index = draw()) {
    try {
      found.image = read_one(found.index, choose, memory);
      return found;
    } catch (const Error& error) {
      if (on_error_ == OnError::kStop || error.kind() != ErrorKind::kData) throw;
      found.unreadable.emplace(found.index, error.what());
    }
    if (drawn == most) {
      throw data_error("{}; nor can {} others drawn in its place be read; look at all of them with debias data check",
                       found.unreadable.at(index), drawn);
    }
  }
}

}  // namespace debias
