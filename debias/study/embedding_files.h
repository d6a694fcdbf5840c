// Embeddings and labels of a study, from .npy files.
#pragma once

#include <string>

#include "debias/study/embedding_study.h"

namespace debias {

// `embeddings`: float32 or float64 [N, D]; `labels`: integers [N]. Data errors name the file: another shape or dtype, counts that differ.
LabelledEmbeddings read_labelled_embeddings(const std::string& embeddings, const std::string& labels);

}  // namespace debias
