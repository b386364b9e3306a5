#pragma once

#include <string>
#include <vector>

namespace touchstone::cli {

/// The characters of a plot. Without Unicode, only ASCII.
struct PlotStyle {
  bool unicode = false;
  std::size_t columns = 80;  // of the terminal
};

/// A bar per value, from the least to the largest; in eighths of a line with Unicode. values: as
/// many as fit beside the scale; NaN leaves a gap. first, last: labels below the outermost bars.
std::string bars_of(const std::vector<double>& values, const std::string& first,
                    const std::string& last, const PlotStyle& style);

/// A shade per value, the darkest for the least, "x" for NaN; rows from the top, all of one size.
/// names: of the rows, then below the first and last column.
std::string heat_of(const std::vector<std::vector<double>>& rows,
                    const std::vector<std::string>& names, const std::string& first,
                    const std::string& last, const PlotStyle& style);

/// The number of values that fit across, at most `most`.
std::size_t plot_width(const PlotStyle& style, std::size_t most);

}  // namespace touchstone::cli
