#include "debias/study/embedding_files.h"

#include "debias/core/error.h"
#include "debias/core/npy.h"

namespace debias {

LabelledEmbeddings read_labelled_embeddings(const std::string& embeddings, const std::string& labels) {
  const NpyArray z = read_npy(embeddings);
  if (z.shape.size() != 2)
    throw data_error("{}: embeddings must have shape [N, D], found {} dimensions; flatten the views", embeddings, z.shape.size());
  LabelledEmbeddings out{.rows = z.shape[0], .dimensions = z.shape[1], .values = {}, .labels = {}};
  if (z.dtype == DType::kFloat32) {
    const auto values = z.as<float>();
    out.values.assign(values.begin(), values.end());
  } else if (z.dtype == DType::kFloat64) {
    for (const double value : z.as<double>()) out.values.push_back(static_cast<float>(value));
  } else {
    throw data_error("{}: embeddings must be float32 or float64, found {}; convert them", embeddings, name_of(z.dtype));
  }
  const NpyArray y = read_npy(labels);
  out.labels = npy_integers(y, labels);
  if (y.shape.size() != 1 || std::ssize(out.labels) != out.rows) {
    throw data_error("{}: {} labels for {} rows of embeddings; give one for each, shape [N]", labels, out.labels.size(), out.rows);
  }
  return out;
}

}  // namespace debias
