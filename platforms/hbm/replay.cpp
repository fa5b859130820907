// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <fmt/format.h>
#include <sstream>
#include <string_view>

#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/files/input.hpp"
#include "platforms/hbm/study.hpp"

namespace diecast::hbm {
namespace {

constexpr std::uint64_t most_bytes = 65'536;
constexpr double most_ns = 1e12;

std::optional<std::uint64_t> parse_address(const std::string& word) {
  if (!word.starts_with("0x")) return config::parse_count(word);
  std::uint64_t value = 0;
  const char* const end = word.data() + word.size();
  const auto [at, error] = std::from_chars(word.data() + 2, end, value, 16);
  if (error != std::errc{} || at != end) return std::nullopt;
  return value;
}

class trace_reader {
 public:
  trace_reader(const std::filesystem::path& file, const config::hbm_block& hbm)
      : file_(file.string()), channel_bytes_(hbm.port_mib << 20) {
    trace_.file = file_;
    trace_.channels.resize(hbm.ports);
  }

  void line(std::string_view whole) {
    ++number_;
    if (whole.size() > platforms::input_limits::line_bytes)
      return refuse("the line is too long", fmt::format("{} characters", whole.size()),
                    fmt::format("at most {}", platforms::input_limits::line_bytes));
    const std::string text(whole.substr(0, whole.find('#')));
    std::istringstream in(text);
    words_.clear();
    for (std::string word; in >> word;) words_.push_back(word);
    if (words_.empty()) return;
    if (words_.size() < 3 || words_.size() > 4)
      return refuse("does not have three or four words", text, "R|W ADDRESS BYTES [ARRIVAL_NS]");
    request();
  }

  replay_trace finish() {
    if (problems_.empty() && trace_.requests == 0)
      problems_.push_back({file_, "holds no request", "", "lines R|W ADDRESS BYTES [ARRIVAL_NS]"});
    if (!problems_.empty()) throw user_error(problems_);
    return std::move(trace_);
  }

 private:
  void request() {
    traffic::memory_request r;
    if (words_[0] != "R" && words_[0] != "W") return refuse("is neither read nor write", words_[0], "R or W");
    r.write = words_[0] == "W";
    const auto address = parse_address(words_[1]);
    if (!address) return refuse("the address is no number", words_[1], "decimal or 0x hexadecimal digits");
    const auto bytes = config::parse_count(words_[2]);
    if (!bytes || *bytes == 0 || *bytes > most_bytes)
      return refuse("the size is out of range", words_[2], fmt::format("1 to {} bytes", most_bytes));
    const std::uint64_t channel = *address / channel_bytes_;
    if (channel >= trace_.channels.size())
      return refuse(
          "the address lies outside the stack", words_[1],
          fmt::format("below {:#x} ({} channels of {} bytes)", trace_.channels.size() * channel_bytes_,
                      trace_.channels.size(), channel_bytes_));
    r.address = *address % channel_bytes_;
    r.bytes = static_cast<std::uint32_t>(*bytes);
    if (r.bytes > channel_bytes_ - r.address)
      return refuse("the request crosses the end of its channel", words_[1], "requests within one channel");
    if (!arrival(r)) return;
    trace_.channels[channel].push_back(r);
    ++trace_.requests;
  }

  bool arrival(traffic::memory_request& r) {
    const bool timed = words_.size() == 4;
    if (trace_.requests == 0) trace_.timed = timed;
    if (timed != trace_.timed) {
      refuse(timed ? "has an arrival, which the lines before it lack"
                   : "lacks an arrival, which the lines before it have",
             timed ? words_[3] : "", "arrivals on all lines or on none");
      return false;
    }
    if (!timed) return true;
    const auto ns = config::parse_real(words_[3]);
    if (!ns || *ns < 0 || *ns > most_ns) {
      refuse("the arrival is out of range", words_[3], fmt::format("0 to {:g} ns", most_ns));
      return false;
    }
    r.arrival = nanoseconds(*ns);
    if (r.arrival < last_) {
      refuse("arrives before the request above it", words_[3], fmt::format("at least {} ns", last_.ns()));
      return false;
    }
    last_ = r.arrival;
    return true;
  }

  void refuse(const std::string& what, const std::string& value, const std::string& expected) {
    if (problems_.size() < most_problems)
      problems_.push_back({fmt::format("{}:{}", file_, number_), what, value, expected});
  }

  std::string file_;
  std::uint64_t channel_bytes_;
  std::uint64_t number_{};
  std::vector<std::string> words_;
  sim_time last_;
  std::vector<problem> problems_;
  replay_trace trace_;
};

}  // namespace

replay_trace read_replay(const std::filesystem::path& file, const config::hbm_block& hbm) {
  const platforms::input_file& input = platforms::read_input("--pattern replay", file);
  if (!input.failure.empty())
    throw user_error(
        platforms::cannot_be_read("--pattern replay", file, input.failure, "a file of memory requests"));
  trace_reader reader(file, hbm);
  for (std::string_view text = input.text; !text.empty();) reader.line(platforms::take_line(text));
  return reader.finish();
}

}  // namespace diecast::hbm
