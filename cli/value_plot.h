#pragma once

#include <string>
#include <vector>

namespace touchstone::cli {

/// What a picture of values is made of. Without Unicode it is ASCII alone.
struct PlotStyle {
  bool unicode = false;
  std::size_t columns = 80;  // of the terminal
};

/// A bar for each value, from the least to the largest; eighths of a line where there is Unicode.
/// values: as many as fit beside the scale, NaN where there is none, which leaves a gap. first,
/// last: what stands below the outermost bars.
std::string bars_of(const std::vector<double>& values, const std::string& first,
                    const std::string& last, const PlotStyle& style);

/// A shade for each value, the darkest for the least, "x" where there is none; rows from the top.
/// All rows have the same size. names: of the rows, then below the first and last column.
std::string heat_of(const std::vector<std::vector<double>>& rows,
                    const std::vector<std::string>& names, const std::string& first,
                    const std::string& last, const PlotStyle& style);

/// How many values fit across, at most `most`.
std::size_t plot_width(const PlotStyle& style, std::size_t most);

}  // namespace touchstone::cli
