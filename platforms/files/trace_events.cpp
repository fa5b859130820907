// SPDX-License-Identifier: Apache-2.0
#include "platforms/files/trace_events.hpp"

#include <cerrno>
#include <filesystem>
#include <fmt/format.h>

#include "models/types/error.hpp"
#include "platforms/files/output_dir.hpp"

namespace diecast::platforms {
namespace {

/// Microseconds, the format's unit, exact to the femtosecond.
std::string microseconds(sim_time t) {
  constexpr std::uint64_t fs_per_us = 1'000'000'000;
  std::string text = fmt::format("{}.{:09}", t.fs / fs_per_us, t.fs % fs_per_us);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

std::string text_argument(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

trace_events::trace_events(std::string flag, std::string path, bool part)
    : flag_(std::move(flag)), path_(std::move(path)), part_(part) {
  errno = 0;
  file_.open(path_, std::ios::binary);
  if (!file_) throw not_written(flag_ + ' ' + path_);
  file_ << timeline_head << std::flush;
}

void trace_events::begin(char phase, track_id t, std::string_view name, sim_time at) {
  file_ << (any_ ? ",\n" : "\n")
        << fmt::format(R"({{"ph":"{}","pid":{},"tid":{},"ts":{},"name":{})", phase, t.group, t.row,
                       microseconds(at), text_argument(name));
  any_ = true;
}

void trace_events::end(const arguments& extra) {
  if (!extra.empty()) {
    file_ << ",\"args\":{";
    bool first = true;
    for (const auto& [name, value] : extra) {
      file_ << (first ? "" : ",") << text_argument(name) << ':' << value;
      first = false;
    }
    file_ << '}';
  }
  file_ << '}';
}

void trace_events::name_group(std::uint32_t group, const std::string& name, std::uint32_t order) {
  begin('M', {group, 0}, "process_name", {});
  end({{"name", text_argument(name)}});
  begin('M', {group, 0}, "process_sort_index", {});
  end({{"sort_index", fmt::to_string(order)}});
}

void trace_events::name_track(track_id t, const std::string& name, std::uint32_t order) {
  begin('M', t, "thread_name", {});
  end({{"name", text_argument(name)}});
  begin('M', t, "thread_sort_index", {});
  end({{"sort_index", fmt::to_string(order)}});
}

void trace_events::slice(track_id t, std::string_view name, std::string_view category, sim_time from,
                         sim_time to, const arguments& extra) {
  begin('X', t, name, from);
  file_ << ",\"dur\":" << microseconds(to - from) << ",\"cat\":" << text_argument(category);
  end(extra);
}

void trace_events::instant(track_id t, std::string_view name, sim_time at, const arguments& extra) {
  begin('i', t, name, at);
  file_ << R"(,"s":"t")";
  end(extra);
}

void trace_events::counter(std::uint32_t group, std::string_view name, sim_time at, const arguments& series) {
  begin('C', {group, 0}, name, at);
  end(series);
}

void trace_events::flow(bool end_of_flow, track_id t, std::uint64_t number, sim_time at) {
  begin(end_of_flow ? 'f' : 's', t, "message", at);
  file_ << ",\"cat\":\"message\",\"id\":" << number << (end_of_flow ? R"(,"bp":"e")" : "");
  end({});
}

void trace_events::append(const std::string& part) {
  std::ifstream events(part, std::ios::binary);
  if (!events.ignore(timeline_head.size())) throw not_written(flag_ + ' ' + part);
  if (events.peek() != std::ifstream::traits_type::eof())
    file_ << (any_ ? "," : "") << events.rdbuf(), any_ = true;
  std::error_code failed;
  if (!std::filesystem::remove(part, failed)) throw not_written(flag_ + ' ' + part);
}

void trace_events::close() {
  if (!part_) file_ << "\n]}\n";
  file_.close();
  if (!file_) throw not_finished(flag_ + ' ' + path_);
}

}  // namespace diecast::platforms
