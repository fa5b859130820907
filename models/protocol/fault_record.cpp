// SPDX-License-Identifier: Apache-2.0
#include "models/protocol/fault_record.hpp"

#include <array>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdexcept>

#include "models/abi/address.hpp"
#include "models/types/enum_name.hpp"

namespace diecast::comm {
namespace {

constexpr char mark_begin = '\x02', mark_end = '\x03';  // control characters, which no name of a machine has

/// SIP, cube, PE, direction and width of a mark.
using mark_fields = std::array<std::uint32_t, 5>;

mark_fields fields_of(std::string_view inner) {
  mark_fields fields{};
  for (std::uint32_t& field : fields) {
    const auto [end, error] = std::from_chars(inner.data(), inner.data() + inner.size(), field);
    if (error != std::errc{}) throw std::logic_error("a mark of a queue pair is damaged");
    inner.remove_prefix(static_cast<std::size_t>(end - inner.data()));
    if (!inner.empty()) inner.remove_prefix(1);  // the comma
  }
  return fields;
}

}  // namespace

std::string queue_pair_mark(pe_coord owner, direction d, unsigned width) {
  return fmt::format("{}{},{},{},{},{}{}", mark_begin, owner.sip.value, owner.cube.value, owner.pe.value, d,
                     width, mark_end);
}

std::string with_names(std::string_view marked, const direction_namer& names) {
  std::string text;
  for (std::size_t at = 0; at < marked.size();) {
    const std::size_t begin = marked.find(mark_begin, at);
    text += marked.substr(at, begin - at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = marked.find(mark_end, begin);
    const mark_fields f = fields_of(marked.substr(begin + 1, end - begin - 1));
    const pe_coord owner{sip_id{f[0]}, cube_id{f[1]}, pe_id{f[2]}};
    text += fmt::format("{:<{}}", names(owner, static_cast<direction>(f[3])), f[4]);
    at = end + 1;
  }
  return text;
}

}  // namespace diecast::comm

namespace diecast {
namespace {

/// Which message the bytes of a packet belong to.
std::string message_of(const fault_record& r) {
  if (r.tag_matched) return fmt::format("the message with tag {:#x} from {}", r.tag, r.sender);
  const std::string at = abi::describe(r.address);
  return r.sender.empty() ? fmt::format("an answer to the read of a message at {}", at)
                          : fmt::format("message {} from {} to {}", r.sequence, r.sender, at);
}

std::string of_packet(const fault_record& r) {
  const std::string over = fmt::format("{}", fmt::join(r.links, ", "));
  switch (r.kind) {
    case fault_kind::checksum_mismatch:
      return fmt::format(
          "{} checksum mismatch: {:#x} over the {} bytes at offset {} of {}; the packet carries {:#x}; it "
          "came over {}",
          r.text, r.value, r.bytes, r.offset, message_of(r), r.expected, over);
    case fault_kind::packet_number:
      return fmt::format(
          "packet {} of the tag-matched messages from {} came, expected packet {}; it came over {}",
          r.sequence, r.sender, r.expected, over);
    case fault_kind::surplus_bytes:
      return fmt::format(
          "{} bytes at offset {} of a message of {} bytes ({}), more than are still missing; they came over "
          "{}",
          r.bytes, r.offset, r.message_bytes, message_of(r), over);
    default:
      return fmt::format(
          "bytes at offset {} of {}, which belong to no open message: its first packet has not come, or it "
          "is complete; they came over {}",
          r.offset, message_of(r), over);
  }
}

std::string of_ipcq(const fault_record& r) {
  return fmt::format("ipcq of {}: {} for {:#018x}, sequence {}, {} bytes, sent by {} {}: {}\n{}", r.place,
                     r.kind == fault_kind::credit_rejected ? "credit" : "token", r.address, r.sequence,
                     r.bytes, r.sender, comm::queue_pair_mark(*r.from, *r.from_queue_pair), r.text, r.dump);
}

std::string of_firmware(const fault_record& r) {
  switch (r.kind) {
    case fault_kind::unknown_send: return fmt::format("TM_DONE names send {}, which is not open", r.sequence);
    case fault_kind::messages_left:
      return fmt::format(
          "the program ends with {} messages that nobody received, the first from rank {}, tag {}, {} bytes",
          r.value, r.sender, r.tag, r.bytes);
    case fault_kind::bad_call:
      return fmt::format(
          "call through a bad entry: table runtime_calls, index {} ({}), value {:#x}; expected {:#x} or the "
          "monitor's stub at {:#x}",
          r.sequence, r.text, r.value, r.expected, r.address);
    default: return r.text;
  }
}

}  // namespace

const char* to_string(fault_kind k) { return enum_name(k); }

std::string marked_sentence(const fault_record& r) {
  switch (r.kind) {
    case fault_kind::checksum_mismatch:
    case fault_kind::packet_number:
    case fault_kind::surplus_bytes:
    case fault_kind::no_open_message: return r.place + ": " + of_packet(r);
    case fault_kind::interleaved_messages:
      return fmt::format(
          "{}: bytes at offset {} of a message with tag {:#x} while one with tag {:#x} of the same sender is "
          "half received",
          r.place, r.offset, r.tag, r.expected);
    case fault_kind::unexpected_answer:
      return fmt::format("{}: {} answers read {}, which is not open", r.place, r.text, r.sequence);
    case fault_kind::token_sequence:
    case fault_kind::token_rejected:
    case fault_kind::credit_rejected: return of_ipcq(r);
    case fault_kind::unknown_send:
    case fault_kind::messages_left:
    case fault_kind::bad_call:
    case fault_kind::tag_list_contradiction:
      return fmt::format("firmware on {}: {}", r.place, of_firmware(r));
    case fault_kind::other:
    case fault_kind::barrier_left_early: break;
  }
  return r.text;
}

}  // namespace diecast
