// SPDX-License-Identifier: Apache-2.0
#include "platforms/observe/ccl_trace.hpp"

#include <fmt/format.h>

#include "platforms/io/standard_streams.hpp"

namespace diecast::observe {

ccl_trace::ccl_trace(const platforms::prepared_run& run, std::FILE* to) : run_(run), to_(to) {
  for (std::size_t r = 0; r < run.members.members.size(); ++r) ranks_.emplace(run.members.members[r], r);
}

void ccl_trace::on(const events::message_event& e) {
  const auto line = [&](const char* what, const std::string& bytes) {
    platforms::tell(to_, fmt::format("ccl rank {} at {:.3f} ns: {} {}{} seq {}\n", ranks_.at(e.pe), e.at.ns(),
                                     what, run_.direction_name(e.pe, e.qp), bytes, e.sequence));
  };
  const std::string bytes = fmt::format(" {} bytes", e.bytes);
  switch (e.phase) {
    case events::message_phase::sent: return line("send", bytes);
    case events::message_phase::visible: return line("recv", bytes);
    case events::message_phase::credited: return line("credit", "");
    case events::message_phase::released: return;  // its credit follows
  }
}

}  // namespace diecast::observe
