// SPDX-License-Identifier: Apache-2.0
// Places of a machine: how they are spelled, which of them are links, and what a message may have crossed.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace diecast::diagnose {

/// The PEs' names as configs spell them. Firmware and queue pairs know their PE by numbers, "sip0.cube1.pe2",
/// and say so; which column and row the cube has is written in the address map.
class place_names {
 public:
  /// `map`: what --print-map prints. Lines that name no PE say nothing.
  explicit place_names(const std::string& map);
  /// The instance path of a PE that is named by numbers; any other name, and one that the map does not have,
  /// as it is.
  [[nodiscard]] std::string spelled(const std::string& name) const;

 private:
  std::map<std::string, std::string> cubes_;  ///< path by "sip0.cube1"
};

/// Whether a PE is named by numbers.
[[nodiscard]] bool is_numbered(const std::string& place);
/// Whether a path is that of a link between SIPs.
[[nodiscard]] bool is_between_sips(const std::string& place);
/// Whether a path is that of a UCIe side or a link between SIPs.
[[nodiscard]] bool is_link(const std::string& place);
/// All PEs that a text names, in either spelling, in its order.
[[nodiscard]] std::vector<std::string> pes_in(const std::string& text);
/// Whether what a complaint tells of can have crossed the link: the links that it names tell, or else whether
/// its PEs are in different cubes (SIPs, for a link between SIPs). True where it names fewer than two PEs.
[[nodiscard]] bool may_have_crossed(const std::string& complaint, const std::string& link);

}  // namespace diecast::diagnose
