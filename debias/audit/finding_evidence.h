// What shows a finding: shares of the classes, images with it and without it, and where in the image they differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debias/audit/folder_audit.h"

namespace debias {

// Shares of each class's groups that have the finding's value, or any value that is there where that one says that it is not. That of the
// finding's class is tested.in_class, or 1 less it.
std::vector<double> class_shares(const AuditFinding& finding, const AuditRows& rows, const RowGroups& groups);

// Up to `most` rows that have it, or have not. Those with it are of its class as far as there are some, the others of the other classes (the
// other way round where its class has it less often), a row of each class in turn; rows of new groups first.
std::vector<size_t> evidence_rows(const AuditFinding& finding, const FolderAudit& audit, bool with, size_t most);

// A file for a page, and where in it the finding is.
struct EvidenceImage {
  std::vector<uint8_t> bytes;  // of a JPEG or a PNG
  bool is_png = false;
  int width = 0, height = 0;
  std::optional<ImagePlace> box = {};
};

// The image of a row, as a whole and, where the finding needs it to be seen, a part of it at full size.
struct RowEvidence {
  EvidenceImage whole;
  std::optional<EvidenceImage> part = {};
};

// For the rows `with` and `without` it, in their order; nothing for images that cannot be read any more. No image has more than 10 KiB.
struct FindingImages {
  std::vector<std::optional<RowEvidence>> with, without;
};
FindingImages finding_images(const AuditFinding& finding, const FolderAudit& audit, const std::vector<size_t>& with,
                             const std::vector<size_t>& without);

// The mean of all images, 400 pixels wide, in grey; in colour where images of one class that have it differ from those that have not:
// the difference of their means over the deviation, beyond three standard errors. Where no class has both, images of all classes are
// compared.
struct HeatMap {
  EvidenceImage image;
  double largest = 0;         // difference over deviation; 0: nowhere beyond chance
  bool within_class = false;  // images of one class were compared
};
std::optional<HeatMap> heat_map(const AuditFinding& finding, const AuditRows& rows, const RowGroups& groups);

}  // namespace debias
