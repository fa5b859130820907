// SPDX-License-Identifier: Apache-2.0
#include "platforms/config_io/config_json.hpp"

#include <fmt/format.h>
#include <string_view>

#include "models/checksum/sha256.hpp"
#include "models/config/check.hpp"
#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/config_io/config_read.hpp"

namespace diecast::platforms {

namespace fs = std::filesystem;

namespace {

/// Presets have lower priority than every key that a file contains, whichever file names them: the last
/// name of a block wins.
void read_presets(const fs::path& folder, reading& r) {
  std::map<std::string, preset_choice> last;
  for (const preset_choice& choice : r.presets) last[choice.block] = choice;
  if (last.empty()) return;
  const fs::path presets = folder.empty() ? presets_dir() : folder;
  std::vector<assignment> written = std::move(r.assignments);
  r.assignments.clear();
  for (const auto& [block, choice] : last) read_preset(presets, choice, r);
  std::move(written.begin(), written.end(), std::back_inserter(r.assignments));
}

/// Values of a profile have lower priority than every key that a file contains, like those of a preset.
void add_profile(reading& r) {
  const assignment* given = nullptr;
  for (const assignment& a : r.assignments)
    if (a.key->path() == "comm.profile") given = &a;
  if (given == nullptr) return;
  const std::string profile = std::get<std::string>(given->value);
  if (profile == "none") return;
  const std::string origin = given->origin;
  const bool trusts = profile == "trusted";
  const auto stands_for = [&](const char* path, config::field_value value) {
    r.assignments.insert(r.assignments.begin(), {config::find_field(path), std::move(value), origin});
  };
  stands_for("comm.path", std::string(trusts ? "direct" : "staged"));
  stands_for("comm.checksum", std::string(trusts ? "none" : "crc32c"));
  stands_for("comm.deterministic_reduction", !trusts);
}

/// A rule between keys names the key to change; the message also says where its value came from.
void add_rule_problems(const loaded_config& loaded, reading& r) {
  for (problem& p : config::check(loaded.config, r.broken)) {
    const auto origin = loaded.origins.find(p.where);
    if (p.where.starts_with("overrides[")) {
      p.where = r.list_origins.at("overrides") + ": " + p.where;
    } else if (origin == loaded.origins.end()) {
      p.where += " (default)";
    } else if (origin->second.starts_with("--set ")) {
      p.where = "--set " + p.where;
    } else {
      p.where = origin->second + ": " + p.where;
    }
    r.problems.push_back(std::move(p));
  }
}

}  // namespace

loaded_config load_config(const config_request& request) {
  reading r;
  if (!request.file.empty()) read_config_file(request.file, r);
  for (const std::string& set : request.sets) read_set(set, r);
  read_presets(request.presets, r);
  add_profile(r);

  loaded_config loaded;
  for (const assignment& a : r.assignments) {
    a.key->set(loaded.config, a.value);
    loaded.origins[a.key->path()] = a.origin;
  }
  loaded.origins.insert(r.list_origins.begin(), r.list_origins.end());
  if (r.overrides) loaded.config.overrides = *r.overrides;
  loaded.config.ccl_named = std::move(r.ccl);
  if (r.faults) loaded.config.faults = *r.faults;
  add_rule_problems(loaded, r);
  if (!r.problems.empty()) throw user_error(std::move(r.problems));
  return loaded;
}

std::vector<preset_info> list_presets(const fs::path& presets) {
  std::vector<preset_info> list;
  std::vector<problem> problems;
  for (const config::block_table& block : config::tables()) {
    for (const std::string& name : preset_names(presets, block.name)) {
      const auto tree = read_json_file(presets / block.name / (name + ".json"), problems);
      if (tree) list.push_back({block.name, name, preset_source(*tree)});
    }
  }
  if (!problems.empty()) throw user_error(std::move(problems));
  return list;
}

std::string config_sha256(const config::machine_config& config) {
  return checksum::sha256_hex(dump_config(config));
}

namespace {

fs::path binary_dir() {
  // /proc/self/exe is the binary itself, independently of argv[0] and the working directory.
  std::error_code error;
  const fs::path binary = fs::read_symlink("/proc/self/exe", error);
  if (error)
    throw user_error(problem{"/proc/self/exe", "cannot be read", error.message(), "the running binary"});
  return binary.parent_path();
}

fs::path existing(fs::path path, std::string_view meaning) {
  std::error_code error;
  if (fs::exists(path, error)) return path;
  throw user_error(problem{path.string(), fmt::format("{} not found", meaning), "",
                           "the files of an installation or a build tree next to the binary"});
}

}  // namespace

fs::path data_dir(const fs::path& given) {
  const fs::path folder = given.empty() ? binary_dir() / ".." / "share" / "diecast" : given;
  return existing(folder.lexically_normal(), "folder of shipped data");
}
fs::path configs_dir(const fs::path& given) {
  return existing(data_dir(given) / "configs", "folder of shipped configs");
}
fs::path presets_dir(const fs::path& given) {
  return existing(data_dir(given) / "presets", "folder of presets");
}

fs::path default_config(const fs::path& file, const fs::path& given_data_dir) {
  const fs::path path = file.is_absolute() ? file : configs_dir(given_data_dir) / file;
  return existing(path, "default config of the platform");
}

}  // namespace diecast::platforms
