// SPDX-License-Identifier: Apache-2.0
// Instance paths: their parts, which of them are links, and the links that a message may have crossed.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace diecast::diagnose {

/// "pod.sip1.cube_2_3.pe5" in its parts, "1", "2_3", "5"; empty texts for what is not in the path.
struct path_parts {
  std::string sip, cube, pe;
};
[[nodiscard]] path_parts parts_of_path(const std::string& path);
/// The path of the PE, or else the cube, that an instance is part of; empty when it is part of neither.
[[nodiscard]] std::string pe_or_cube(const std::string& instance);
/// Numbers of the SIPs that a path names: of a link between two, both.
[[nodiscard]] std::set<std::uint32_t> sips_in(const std::string& path);
/// Whether a path is that of a link between SIPs.
[[nodiscard]] bool is_between_sips(const std::string& place);
/// Whether a path is that of a UCIe side or a link between SIPs.
[[nodiscard]] bool is_link(const std::string& place);

/// A piece of evidence.
struct evidence {
  std::string experiment;  ///< empty: none in particular
  std::string text;
  std::vector<std::string> pes{};    ///< PEs that it concerns
  std::vector<std::string> links{};  ///< links that a packet crossed
  [[nodiscard]] std::string full_text() const { return experiment.empty() ? text : experiment + ": " + text; }
};
/// Whether its packet can have crossed the link: by its links, where they are known, or else because its PEs
/// are in different cubes (SIPs, for a link between SIPs). True where it concerns fewer than two PEs.
[[nodiscard]] bool may_have_crossed(const evidence& e, const std::string& link);

// Traffic of links in a run, and whether their rate can be determined from it.

/// Traffic of a link.
struct link_load {
  std::uint64_t flits{}, packets{};
};

/// By the link's instance path.
using link_loads = std::map<std::string, link_load>;

/// The cells of a CSV file's rows, without the row of names.
[[nodiscard]] std::vector<std::vector<std::string>> rows_of(const std::string& csv);

/// `links`: contents of links.csv. The size of a flit is the largest that all links carried whole ones of:
/// some link carries a credit, which is one.
[[nodiscard]] link_loads loads_of(const std::string& links);

enum class link_state {
  keeps_its_rate,
  in_doubt,  ///< slower, but so little was measured that packets between others explain it
  degraded,
};

/// `measured_gbytes_s`: flits of a packet after its first one over their time.
[[nodiscard]] link_state judge(double measured_gbytes_s, double configured_gbytes_s, const link_load& load);

}  // namespace diecast::diagnose
