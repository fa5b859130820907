// SPDX-License-Identifier: Apache-2.0
// Instance paths: their parts, which of them are links, and what a message may have crossed.
#pragma once

#include <cstdint>
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
  std::vector<std::string> pes{};    ///< concerned
  std::vector<std::string> links{};  ///< that a packet came over
  [[nodiscard]] std::string full_text() const { return experiment.empty() ? text : experiment + ": " + text; }
};
/// Whether what it tells of can have crossed the link: one of its links, where they are known, or else its
/// PEs are in different cubes (SIPs, for a link between SIPs). True where it concerns fewer than two PEs.
[[nodiscard]] bool may_have_crossed(const evidence& e, const std::string& link);

}  // namespace diecast::diagnose
