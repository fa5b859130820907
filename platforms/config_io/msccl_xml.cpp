// SPDX-License-Identifier: Apache-2.0
#include "platforms/config_io/msccl_xml.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <initializer_list>
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <set>
#include <utility>

#include "models/types/error.hpp"
#include "platforms/files/input.hpp"

namespace diecast::platforms {
namespace {

using comm::program_buffer;

/// Line and column (both from 1) of a byte offset.
class line_index {
 public:
  explicit line_index(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] == '\n') starts_.push_back(i + 1);
  }
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> at(std::ptrdiff_t offset) const {
    const auto o = static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0));
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), o);
    const std::size_t start = *std::prev(next);
    return {static_cast<std::uint32_t>(next - starts_.begin()), static_cast<std::uint32_t>(o - start + 1)};
  }

 private:
  std::vector<std::size_t> starts_{0};
};

/// Names that are ignored, each reported once with its count.
class ignored_list {
 public:
  void add(const std::string& what, std::uint32_t line) {
    auto [entry, fresh] = seen_.try_emplace(what, 0u, line);
    ++entry->second.first;
  }
  [[nodiscard]] std::vector<std::string> text(const std::string& file) const {
    std::vector<std::pair<std::uint32_t, std::string>> lines;
    for (const auto& [what, count_line] : seen_)
      lines.emplace_back(
          count_line.second,
          fmt::format("{}:{}: {} ignored{}", file, count_line.second, what,
                      count_line.first > 1 ? fmt::format(" ({} times)", count_line.first) : ""));
    std::ranges::sort(lines);
    std::vector<std::string> out;
    for (auto& [line, t] : lines) out.push_back(std::move(t));
    return out;
  }

 private:
  std::map<std::string, std::pair<std::uint32_t, std::uint32_t>> seen_;  ///< how often, first line
};

class parser {
 public:
  parser(std::string_view text, const std::string& name) : text_(text), name_(name), lines_(text) {}

  msccl_file run() {
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_buffer(text_.data(), text_.size());
    if (!parsed) {
      const auto [line, column] = lines_.at(parsed.offset);
      throw user_error({fmt::format("{}:{}:{}", name_, line, column),
                        fmt::format("broken XML: {}", parsed.description()),
                        {},
                        "an MSCCL program"});
    }
    msccl_file file;
    file.program.source = name_;
    read_document(document, file);
    add_semantic_problems(file.program);
    if (!problems_.empty()) throw user_error(std::move(problems_));
    file.warnings = ignored_.text(name_);
    return file;
  }

 private:
  [[nodiscard]] std::uint32_t line_of(pugi::xml_node n) const { return lines_.at(n.offset_debug()).first; }
  void add(pugi::xml_node n, std::string what, std::string value = {}, std::string expected = {}) {
    if (problems_.size() >= most_problems) return;
    problems_.push_back(
        {fmt::format("{}:{}", name_, line_of(n)), std::move(what), std::move(value), std::move(expected)});
  }

  /// Problems that validate() finds, on lines that have no other problem.
  void add_semantic_problems(const comm::program& p) {
    std::set<std::string> blamed;
    for (const problem& found : problems_) blamed.insert(found.where);
    if (blamed.contains(name_) || blamed.contains(fmt::format("{}:{}", name_, p.line))) return;
    for (problem& found : comm::validate(p, blamed.empty()))
      if (!blamed.contains(found.where)) problems_.push_back(std::move(found));
  }

  /// Duplicate attributes are errors, unknown ones are ignored and reported.
  void check_attributes(pugi::xml_node n, std::initializer_list<std::string_view> known) {
    std::set<std::string_view> seen;
    for (const pugi::xml_attribute a : n.attributes()) {
      if (!seen.insert(a.name()).second)
        add(n, fmt::format("<{}>: attribute {} is given twice", n.name(), a.name()), a.value());
      if (std::ranges::find(known, std::string_view(a.name())) == known.end())
        ignored_.add(fmt::format("unknown attribute {} of <{}>", a.name(), n.name()), line_of(n));
    }
  }

  template <class Integer>
  std::optional<Integer> integer(pugi::xml_node n, const char* key) {
    const std::string_view text = n.attribute(key).value();
    Integer value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size()) return value;
    add(n, fmt::format("<{}>: attribute {} is no whole number in range", n.name(), key),
        fmt::format("\"{}\"", text), "a whole number");
    return std::nullopt;
  }
  std::int64_t required(pugi::xml_node n, const char* key) {
    if (n.attribute(key)) return integer<std::int64_t>(n, key).value_or(0);
    add(n, fmt::format("<{}>: attribute {} is missing", n.name(), key), {}, "a whole number");
    return 0;
  }
  std::int64_t optional(pugi::xml_node n, const char* key, std::int64_t otherwise) {
    return n.attribute(key) ? integer<std::int64_t>(n, key).value_or(otherwise) : otherwise;
  }
  bool flag(pugi::xml_node n, const char* key, bool otherwise) {
    const std::int64_t v = optional(n, key, otherwise ? 1 : 0);
    if (v != 0 && v != 1)
      add(n, fmt::format("<{}>: attribute {} is no flag", n.name(), key), std::to_string(v), "0 or 1");
    return v == 1;
  }
  std::optional<std::uint64_t> bytes(pugi::xml_node n, const char* key) {
    return n.attribute(key) ? integer<std::uint64_t>(n, key) : std::nullopt;
  }

  /// Elements called `wanted`; others are ignored and reported.
  std::vector<pugi::xml_node> children(pugi::xml_node n, std::string_view wanted) {
    std::vector<pugi::xml_node> found;
    for (const pugi::xml_node child : n.children()) {
      if (child.type() != pugi::node_element) continue;
      if (child.name() == wanted) {
        found.push_back(child);
      } else {
        ignored_.add(fmt::format("unknown element <{}> in <{}>", child.name(), n.name()), line_of(child));
      }
    }
    return found;
  }

  void read_document(const pugi::xml_document& document, msccl_file& file) {
    std::vector<pugi::xml_node> roots;
    for (const pugi::xml_node n : document.children())
      if (n.type() == pugi::node_element) roots.push_back(n);
    if (roots.size() != 1 || std::string_view(roots.front().name()) != "algo") {
      problems_.push_back({name_, "the document is no MSCCL program",
                           roots.empty() ? "" : fmt::format("<{}>", roots.back().name()),
                           "one <algo> element"});
      return;
    }
    read_algo(roots.front(), file);
  }

  void read_algo(pugi::xml_node n, msccl_file& file) {
    check_attributes(n, {"name", "proto", "ngpus", "nchannels", "nchunksperloop", "inplace", "outofplace",
                         "coll", "minBytes", "maxBytes", "redop"});
    comm::program& p = file.program;
    p.line = line_of(n);
    p.name = n.attribute("name").value();
    if (n.attribute("proto")) p.protocol = n.attribute("proto").value();
    if (p.protocol == "LL" || p.protocol == "LL128") {
      file.notes.push_back(fmt::format("protocol {} runs as Simple", p.protocol));
    } else if (p.protocol != "Simple") {
      add(n, "<algo>: attribute proto is unknown", p.protocol, "Simple, LL or LL128");
    }
    p.ranks = required(n, "ngpus");
    p.chunks_per_loop = required(n, "nchunksperloop");
    p.min_bytes = bytes(n, "minBytes");
    p.max_bytes = bytes(n, "maxBytes");
    const std::string_view coll = n.attribute("coll").value();
    if (const auto c = comm::parse_program_collective(coll)) {
      p.collective = *c;
    } else {
      add(n, "<algo>: attribute coll is missing or unknown", fmt::format("\"{}\"", coll),
          "allreduce, allgather, reduce_scatter (reducescatter) or alltoall");
    }
    for (const pugi::xml_node gpu : children(n, "gpu")) p.gpus.push_back(read_gpu(gpu));
    std::ranges::stable_sort(p.gpus, {}, &comm::program_rank::id);
    p.in_place = flag(n, "inplace", shares_buffers(p));
  }

  /// Without inplace: a program that declares no output (or no input) of its own, or writes none, works in
  /// place.
  static bool shares_buffers(const comm::program& p) {
    return std::ranges::all_of(p.gpus, [](const comm::program_rank& r) {
      return r.input_chunks == 0 || r.output_chunks == 0 || !writes_output(r);
    });
  }
  static bool writes_output(const comm::program_rank& r) {
    const auto writes = [](const comm::program_step& s) {
      return comm::writes_destination(s.type) && s.destination == program_buffer::output;
    };
    return std::ranges::any_of(
        r.blocks, [&](const comm::thread_block& b) { return std::ranges::any_of(b.steps, writes); });
  }

  comm::program_rank read_gpu(pugi::xml_node n) {
    check_attributes(n, {"id", "i_chunks", "o_chunks", "s_chunks"});
    comm::program_rank r;
    r.line = line_of(n);
    r.id = required(n, "id");
    r.input_chunks = required(n, "i_chunks");
    r.output_chunks = required(n, "o_chunks");
    r.scratch_chunks = optional(n, "s_chunks", 0);
    for (const pugi::xml_node tb : children(n, "tb")) r.blocks.push_back(read_block(tb));
    return r;
  }

  comm::thread_block read_block(pugi::xml_node n) {
    check_attributes(n, {"id", "send", "recv", "chan"});
    comm::thread_block b;
    b.line = line_of(n);
    b.id = required(n, "id");
    b.send_peer = optional(n, "send", -1);
    b.recv_peer = optional(n, "recv", -1);
    b.channel = optional(n, "chan", 0);
    for (const pugi::xml_node s : children(n, "step")) {
      const std::int64_t position = optional(s, "s", std::ssize(b.steps));
      if (position != std::ssize(b.steps))
        add(s, fmt::format("tb {}: steps are not numbered in order", b.id), std::to_string(position),
            std::to_string(b.steps.size()));
      b.steps.push_back(read_step(s));
    }
    return b;
  }

  comm::program_step read_step(pugi::xml_node n) {
    check_attributes(n,
                     {"s", "type", "srcbuf", "srcoff", "dstbuf", "dstoff", "cnt", "depid", "deps", "hasdep"});
    comm::program_step s;
    s.line = line_of(n);
    const std::string_view type = n.attribute("type").value();
    const auto parsed = comm::parse_step_type(type);
    if (!parsed) {
      add(n, "<step>: attribute type is missing or unknown", fmt::format("\"{}\"", type),
          "s, r, rcs, rrc, rrcs, rrs, cpy, re or nop");
      return s;
    }
    s.type = *parsed;
    s.count = s.type == comm::step_type::nop ? optional(n, "cnt", 0) : required(n, "cnt");
    read_place(n, "srcbuf", "srcoff", comm::reads_source(s.type), s.source, s.source_offset);
    read_place(n, "dstbuf", "dstoff", comm::writes_destination(s.type), s.destination, s.destination_offset);
    s.depends_block = optional(n, "depid", -1);
    s.depends_step = optional(n, "deps", -1);
    s.has_dependents = flag(n, "hasdep", false);
    return s;
  }

  /// Buffer and offset; a step that does not use them may leave them out.
  void read_place(pugi::xml_node n, const char* buffer_key, const char* offset_key, bool used,
                  program_buffer& buffer, std::int64_t& offset) {
    const std::string_view text = n.attribute(buffer_key).value();
    const auto parsed = comm::parse_program_buffer(text);
    if (parsed) buffer = *parsed;
    if (!parsed && (used || !text.empty()))
      add(n, fmt::format("<step>: attribute {} is missing or unknown", buffer_key),
          fmt::format("\"{}\"", text), "i, o or s");
    offset = used ? required(n, offset_key) : optional(n, offset_key, -1);
  }

  std::string_view text_;
  std::string name_;
  line_index lines_;
  std::vector<problem> problems_;
  ignored_list ignored_;
};

}  // namespace

msccl_file parse_msccl(std::string_view text, const std::string& name) { return parser(text, name).run(); }

namespace {

/// A program whose result depends on which step comes first is refused.
void check_order(msccl_file& file) {
  if (!comm::order_can_be_checked(file.program)) {
    file.notes.emplace_back("the program is too large to check the order of its accesses");
    return;
  }
  const comm::check_options any_order{.fifo_messages = UINT32_MAX, .data = false, .races = true};
  auto races = comm::check_program(file.program, any_order).races;
  if (!races.empty()) throw user_error(std::move(races));
}

}  // namespace

msccl_file load_msccl(const std::string& path) {
  const input_file& file = read_input("--workload", path);
  const bool long_one = file.text.size() > input_limits::program_mib << 20;
  const std::string failure =
      long_one ? fmt::format("longer than {} MiB", input_limits::program_mib) : file.failure;
  if (!failure.empty())
    throw user_error(cannot_be_read("--workload", path, failure, "an MSCCL program (XML, JSON)"));
  const std::size_t first = file.text.find_first_not_of(" \t\r\n");
  const bool xml = first == std::string::npos || file.text[first] == '<';
  msccl_file read = xml ? parse_msccl(file.text, path) : parse_mscclpp(file.text, path);
  check_order(read);
  return read;
}

}  // namespace diecast::platforms
