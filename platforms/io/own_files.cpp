// SPDX-License-Identifier: Apache-2.0
#include "platforms/io/own_files.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <system_error>

#include "models/checksum/sha256.hpp"

namespace diecast::platforms {
namespace {

namespace fs = std::filesystem;

/// How a file begins; of JSON, blanks do not count.
struct beginning {
  std::string_view name;
  std::string_view text;
};
constexpr std::string_view json_head = "{\"schema\":\"diecast.";
constexpr std::array named{
    beginning{"config.json", {}},
    beginning{"result.json", json_head},
    beginning{"deadlock.json", json_head},
    beginning{"flight.json", json_head},
    beginning{"critical_path.json", json_head},
    beginning{"diagnosis.json", json_head},
    beginning{"diagnosis_job.json", job_head},
    beginning{"diagnosis.txt", "Diagnosis: "},
    beginning{"links.csv", "run,link,bytes,packets,busy_fraction"},
    beginning{"ipcq.csv", "run,pe,direction,sends,bytes,received,"},
    beginning{"waits.csv", "run,pe,data_ns,credit_ns,"},
    beginning{"health.csv", "run,measure,where,value,expected,unit"},
    beginning{"hbm.csv", "run,channel,reads,writes,activates,"},
    beginning{"report.html",
              "<!doctype html><html lang=en><head><meta charset=utf-8><title>Diecast report</title>"},
};
constexpr std::array anywhere{vcd_head, timeline_head, record_head};
constexpr std::string_view partial = ".partial";

/// "deadlock_3.json" is the deadlock.json of one run of several.
std::string without_number(const std::string& name) {
  const std::size_t dot = name.rfind('.'), bar = name.rfind('_', dot);
  if (dot == std::string::npos || bar == std::string::npos || bar + 1 == dot) return name;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool number = std::all_of(name.begin() + static_cast<std::ptrdiff_t>(bar) + 1,
                                  name.begin() + static_cast<std::ptrdiff_t>(dot), digit);
  const std::string whole = name.substr(0, bar) + name.substr(dot);
  for (const char* const of_a_run :
       {"deadlock.json", "flight.json", "critical_path.json", "diagnosis_job.json"})
    if (number && whole == of_a_run) return whole;
  return name;
}

const beginning* beginning_of(std::string name) {
  while (name.ends_with(partial)) name.resize(name.size() - partial.size());
  name = without_number(name);
  const auto* const found =
      std::find_if(named.begin(), named.end(), [&name](const beginning& b) { return b.name == name; });
  return found == named.end() ? nullptr : found;
}

std::string text_of(const fs::path& file, std::size_t most = std::string::npos) {
  std::ifstream in(file, std::ios::binary);
  if (most == std::string::npos) return {std::istreambuf_iterator<char>(in), {}};
  std::string text(most, '\0');
  in.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

/// A half-written file has half a beginning.
bool begins(std::string_view text, std::string_view head, bool half) {
  return text.starts_with(head) || (half && head.starts_with(text));
}

/// A killed run may have left the .partial alone.
bool is_own_config(const fs::path& file) {
  for (const char* const owner :
       {"result.json", "result.json.partial", "diagnosis.json", "diagnosis.json.partial"}) {
    constexpr std::size_t top = 1000;
    const std::string beside = text_of(file.parent_path() / owner, top);
    const std::string_view key = "\"config_sha256\": \"";
    const std::size_t at = beside.find(key);
    if (at != std::string::npos && is_own(file.parent_path() / owner) &&
        beside.substr(at + key.size()).starts_with(checksum::sha256_hex(text_of(file))))
      return true;
  }
  return false;
}

}  // namespace

bool has_own_name(const fs::path& file) { return beginning_of(file.filename().string()) != nullptr; }

bool is_own(const fs::path& file) {
  std::error_code none;
  if (!fs::is_regular_file(fs::symlink_status(file, none))) return false;
  constexpr std::size_t longest = 200;
  std::string text = text_of(file, longest);
  const auto starts = [&text](std::string_view head) { return text.starts_with(head); };
  if (std::any_of(anywhere.begin(), anywhere.end(), starts)) return true;
  const std::string name = file.filename().string();
  const beginning* const own = beginning_of(name);
  if (own == nullptr) return false;
  const bool half = name.ends_with(partial);
  if (own->name == "config.json" && !half) return is_own_config(file);
  const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  if (text.starts_with('{')) text.erase(std::remove_if(text.begin(), text.end(), blank), text.end());
  return begins(text, own->name == "config.json" ? "{\"sim\":{\"fidelity\":" : own->text, half);
}

}  // namespace diecast::platforms
