// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/unread_keys.hpp"

#include "models/config/field.hpp"

namespace diecast::platforms {
namespace {

std::string block_of(const std::string& path) { return path.substr(0, path.find('.')); }

template <class IsUnread>
std::vector<unread_key> select(const loaded_config& given, IsUnread is_unread) {
  std::vector<unread_key> keys;
  for (const auto& [path, origin] : given.origins) {
    if (!is_unread(path)) continue;
    keys.push_back({path, origin.starts_with("--set ") || path == "overrides" || path == "faults"});
  }
  return keys;
}

}  // namespace

std::vector<unread_key> unread_keys(const loaded_config& given, const std::set<std::string>& read) {
  return select(given, [&](const std::string& path) { return !read.contains(block_of(path)); });
}

std::vector<unread_key> unread_keys(const loaded_config& given, const config::machine_config& built) {
  const bool one_sip = built.pod.sips == 1;
  const bool one_cube = built.shape().cubes_per_sip() == 1;
  return select(given, [&](const std::string& path) {
    // A count of one is read: it is why the rest is not.
    if (path == "pod.sips") return given.config.pod.sips != built.pod.sips;
    if (path == "sip.columns") return given.config.sip.columns != built.sip.columns;
    if (path == "sip.rows") return given.config.sip.rows != built.sip.rows;
    const std::string block = block_of(path);
    return (one_sip && (block == "pod" || block == "sip_link")) ||
           (one_cube && (block == "sip" || block == "ucie"));
  });
}

std::string unread_text(const std::vector<unread_key>& keys) {
  std::string text;
  for (const unread_key& k : keys)
    if (k.told) text += (text.empty() ? "note: this machine does not read " : ", ") + k.path;
  return text.empty() ? text : text + '\n';
}

}  // namespace diecast::platforms
