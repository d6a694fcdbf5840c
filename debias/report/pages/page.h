// A page in one file: nothing in it is loaded from elsewhere, and no script is needed.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/report/charts/chart.h"
#include "debias/report/markup.h"

namespace debias {

struct Cell {
  Html content;
  std::string css_class;  // "n": a number
  std::string style;      // of the element, such as "--v:0.5"
};

struct Row {
  std::vector<Cell> cells;  // the first one heads the row
  bool group = false;       // heads the rows below: one cell, across all columns
};

struct Table {
  std::string caption, css_class;
  std::vector<Cell> head;
  std::vector<Row> rows;

  // More columns; of numbers: to the right.
  void add_heads(const std::vector<std::string>& names, bool numbers = false);
};

// What a title calls a folder or a file: "photos" of "data/photos/".
std::string last_part(std::string path);

// With its caption above, scrolling inside itself where it is too wide.
Html table_in_scroller(const Table& table);

class Page {
 public:
  explicit Page(std::string title) : title_(std::move(title)) {}

  // Above the list of sections: what the page says.
  void lead(const Html& content) { lead_ += content; }
  // Level 2 starts a section, which the list at the top links to; with fold_sections(), one that a reader opens, and no list: the closed
  // sections are one, each with `summary` behind its name.
  void heading(int level, std::string_view text, std::string_view summary = "");
  void fold_sections() { folds_ = true; }
  void close_section();
  void paragraph(const Html& content, std::string_view css_class = "");
  void table(const Table& table);
  // Side by side where there is room. Ids of the charts are given here.
  void figures(const std::vector<std::pair<Chart, Html>>& charts_and_captions);
  void preformatted(std::string_view text);
  void folded(std::string_view summary, const Html& content);
  void command(const std::string& command);  // with a button that copies it
  void add(const Html& content);             // anything else

  std::string html() const;

 private:
  std::string title_;
  Html lead_;
  std::string body_;
  std::vector<std::pair<std::string, std::string>> sections_;  // id and heading
  int charts_ = 0;
  bool folds_ = false, is_open_ = false;
};

// The one style sheet of pages and charts: light and dark, from 390 pixels up, and for print.
//
// Series colours --s0 to --s9 differ by at least 20 in CIELAB (the first five by 35), also as protanopia, deuteranopia and tritanopia show
// them, and have a contrast of 3:1 or more to the ground.
std::string_view style_sheet();

// PNG files in a page.

// The bytes of a thumbnail's file; empty where there is no such file that can be read, or it is not a PNG of at most 1 MiB.
std::string thumbnail_bytes(const std::string& path);

// <img> of them; of no bytes the words "no image".
Html thumbnail_image(const std::string& bytes, const std::string& alt);

}  // namespace debias
