// SPDX-License-Identifier: Apache-2.0
#include "platforms/observe/vcd_writer.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cerrno>
#include <fmt/format.h>

#include "models/abi/firmware_tasks.hpp"
#include "models/config/text.hpp"
#include "models/types/error.hpp"
#include "platforms/files/output_dir.hpp"

namespace diecast::observe {
namespace {

/// Shortest identifier of printable characters for a number.
std::string code_of(std::uint32_t n) {
  std::string code;
  do {
    code += static_cast<char>('!' + n % 94);
    n /= 94;
  } while (n != 0);
  return code;
}

/// A name as readers of VCD accept it. A name with other characters than letters, digits, _ and - is escaped
/// as in Verilog, by a leading backslash: otherwise a dot would divide it into scopes and $end would end it.
/// Spaces, unprintable characters and % are written as %XX.
std::string vcd_name(const std::string& name) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
  if (!name.empty() && std::ranges::all_of(name, plain)) return name;
  std::string escaped = "\\";
  for (const unsigned char c : name)
    escaped +=
        c > ' ' && c < 0x7f && c != '%' ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  return escaped;
}

}  // namespace

vcd_writer::vcd_writer(const std::string& path, const config::machine_config& config,
                       const fabric::topology* topology, const comm::install_plan& plan,
                       const std::vector<std::string>& channels, const comm::direction_namer& names,
                       instance_filter shown)
    : path_(path),
      shape_(config.shape()),
      glob_(config.trace.vcd_scope),
      shown_(std::move(shown)),
      window_from_(nanoseconds(config.trace.vcd_from_ns)),
      window_to_(nanoseconds(config.trace.vcd_to_ns)),
      window_open_(window_from_.fs == 0),
      with_credits_(config.trace.vcd_credits),
      topology_(topology) {
  errno = 0;
  file_.open(path, std::ios::binary);
  if (!file_) throw platforms::not_written("--vcd " + path);
  file_ << platforms::vcd_head << std::flush;  // known as ours also where nothing follows
  for (const pe_coord pe : config::population(config).pes()) {
    const std::string scope = pe_path(shape_, pe);
    if (!in_scope(scope)) continue;
    core_[pe] = declare(scope + ".core", "state", 3);
    declare(scope + ".core", "step", 32);
  }
  for (const auto& qp : plan.queue_pairs) {
    const std::string scope = pe_path(shape_, qp.owner);
    if (!in_scope(scope)) continue;
    const std::string name = names(qp.owner, qp.dir);
    queue_pairs_[{qp.owner, qp.dir}] = declare(scope + ".ipcq", "my_head", 32, name);
    for (const char* field : {"my_tail", "peer_head_cache", "peer_tail_cache", "free_credits"})
      declare(scope + ".ipcq", field, 32, name);
    // Queue pairs are installed before anything moves: all slots of the peer's ring are free.
    variables_.back().last = qp.tx ? qp.n_slots : 0;
  }
  if (topology != nullptr) declare_links(*topology);
  declare_channels(config, channels);
}

void vcd_writer::begin(const std::vector<initial_credits>& credits) {
  constexpr std::uint32_t usual_width = 16;
  for (const initial_credits& c : credits) {
    if (!with_credits_ || !links_.contains(c.link)) continue;
    const std::string& name = topology_->links()[c.link].name;
    const auto dot = name.rfind('.');
    const std::uint32_t width = std::max(usual_width, static_cast<std::uint32_t>(std::bit_width(c.flits)));
    credits_[{c.link, c.vc}] =
        declare(name.substr(0, dot), fmt::format("{}_credits_vc{}", name.substr(dot + 1), c.vc), width);
    variables_.back().last = c.flits;
  }
  write_header();
}

void vcd_writer::declare_links(const fabric::topology& topology) {
  for (std::uint32_t l = 0; l < topology.links().size(); ++l) {
    const std::string& name = topology.links()[l].name;
    const auto dot = name.rfind('.');
    if (!in_scope(name.substr(0, dot)) && !in_scope(name)) continue;
    links_[l] = declare(name.substr(0, dot), name.substr(dot + 1) + "_busy", 1);
  }
}

void vcd_writer::declare_channels(const config::machine_config& config,
                                  const std::vector<std::string>& channels) {
  for (const std::string& path : channels) {
    if (!in_scope(path)) continue;
    for (std::uint32_t pc = 0; pc < config.hbm.pseudo_channels; ++pc) {
      const std::string scope = fmt::format("{}.pc{}", path, pc);
      const std::uint32_t first = declare(scope, "column_command", 4);
      if (pc == 0) channels_[path] = first;
      declare(scope, "row_command", 4);
      declare(scope, "row", 32);
    }
  }
}

bool vcd_writer::in_scope(const std::string& path) const {
  return config::matches(glob_, path) && (!shown_ || shown_(path));
}

std::uint32_t vcd_writer::declare(const std::string& scope, const std::string& name, std::uint32_t width,
                                  const std::string& inner) {
  const auto index = static_cast<std::uint32_t>(variables_.size());
  variables_.push_back({code_of(index), width, 0});
  std::vector<std::string> path = config::split(scope, '.');
  if (!inner.empty()) path.push_back(inner);
  scopes_[std::move(path)].emplace_back(name, index);
  return index;
}

void vcd_writer::write_header() {
  file_ << "$timescale 1 fs $end\n";
  std::vector<std::string> open;
  for (const auto& [scope, vars] : scopes_) {
    std::size_t shared = 0;
    while (shared < open.size() && shared < scope.size() && open[shared] == scope[shared]) ++shared;
    for (; open.size() > shared; open.pop_back()) file_ << "$upscope $end\n";
    for (; open.size() < scope.size(); open.push_back(scope[open.size()]))
      file_ << "$scope module " << vcd_name(scope[open.size()]) << " $end\n";
    for (const auto& [name, index] : vars) {
      const variable& v = variables_[index];
      file_ << "$var wire " << v.width << ' ' << v.code << ' ' << name << " $end\n";
    }
  }
  for (; !open.empty(); open.pop_back()) file_ << "$upscope $end\n";
  file_ << "$enddefinitions $end\n$dumpvars\n";
  for (const variable& v : variables_)
    file_ << (v.width == 1 ? "0" + v.code : fmt::format("b{:b} {}", v.last, v.code)) << '\n';
  file_ << "$end\n";
}

void vcd_writer::put(sim_time at, std::uint32_t var, std::uint64_t value) {
  pending_.push({at, sequence_++, var, value, false});
}

void vcd_writer::add(sim_time at, std::uint32_t var, std::int64_t difference) {
  pending_.push({at, sequence_++, var, static_cast<std::uint64_t>(difference), true});
}

void vcd_writer::flush(sim_time before) {
  while (!pending_.empty() && pending_.top().at < before) {
    change c = pending_.top();
    pending_.pop();
    // All changes of a count at one instant are one change.
    while (c.relative && !pending_.empty() && pending_.top().at == c.at && pending_.top().var == c.var) {
      c.value += pending_.top().value;
      pending_.pop();
    }
    if (c.relative) c.value += variables_[c.var].last;
    write_value(c);
  }
}

void vcd_writer::write_value(const change& c) {
  variable& v = variables_[c.var];
  if (v.last == c.value || c.at > window_to_) return;
  const bool shows = v.width > 1 || (v.last == 0) != (c.value == 0);  // a link may carry several at a time
  if (shows && c.at >= window_from_) open_window();
  v.last = c.value;
  if (!shows) return;
  if (!window_open_) return;
  write_time(c.at);
  write_code(v);
}

void vcd_writer::write_time(sim_time at) {
  if (any_time_ && at == written_until_) return;
  file_ << '#' << at.fs << '\n';
  written_until_ = at;
  any_time_ = true;
}

void vcd_writer::write_code(const variable& v) {
  if (v.width == 1) {
    file_ << (v.last != 0 ? '1' : '0') << v.code << '\n';
  } else {
    file_ << fmt::format("b{:b} {}\n", v.last, v.code);
  }
}

/// The window begins with the values of its first instant.
void vcd_writer::open_window() {
  if (window_open_) return;
  window_open_ = true;
  write_time(window_from_);
  for (const variable& v : variables_) write_code(v);
}

void vcd_writer::flush_unless_dram(sim_time before) {
  if (!has_dram()) flush(before);
}

/// A command shows for one tick: two of a kind in a row are two pulses. Of each tick's commands at most one
/// is a column command, and they have names of their own.
void vcd_writer::on_dram(const dram_channel& channel, const timing::dram_event& e) {
  const auto found = channels_.find(channel.path);
  if (found == channels_.end()) return;
  const sim_time at = channel.parameters->tick * e.at;
  const std::uint32_t first = found->second + 3 * e.where.pseudo_channel;
  const std::uint32_t command = first + (is_column(e.command) ? 0 : 1);
  put(at, command, static_cast<std::uint64_t>(e.command) + 1);
  put(at + channel.parameters->tick, command, 0);
  if (e.command == timing::dram_command::activate) put(at, first + 2, e.where.row);
}

void vcd_writer::on(const events::core_state_changed& e) {
  flush_unless_dram(e.at);
  const auto found = core_.find(e.pe);
  if (found != core_.end()) put(e.at, found->second, static_cast<std::uint64_t>(e.state));
}

void vcd_writer::on(const events::step_entered& e) {
  // Steps are marked ahead of the time the firmware still owes, so only what is older is final.
  const auto found = core_.find(e.pe);
  if (found != core_.end()) put(e.at, found->second + 1, e.index == abi::no_step_index ? 0 : e.index);
}

void vcd_writer::on(const events::queue_pair_changed& e) {
  flush_unless_dram(e.at);
  const auto found = queue_pairs_.find({e.pe, e.qp});
  if (found == queue_pairs_.end()) return;
  std::uint32_t var = found->second;
  for (const std::uint32_t value :
       {e.my_head, e.my_tail, e.peer_head_cache, e.peer_tail_cache, e.free_credits})
    put(e.at, var++, value);
}

void vcd_writer::on(const events::link_occupied& e) {
  const auto found = links_.find(e.link);
  if (found == links_.end()) return;
  add(e.head, found->second, 1);
  add(e.tail, found->second, -1);
}

namespace {

/// Time at which the credit of flit `n` of a batch, from 1, is back at the sender.
sim_time back_at(const events::link_credits& e, std::uint64_t n) {
  if (e.last == e.first || e.flits == 1) return e.first;
  const auto steps = static_cast<std::uint64_t>(e.flits - 1);
  const std::uint64_t cycles = (e.last.fs - e.first.fs) / e.cycle.fs;
  return e.first + e.cycle * (((n - 1) * cycles + steps - 1) / steps);
}

}  // namespace

void vcd_writer::on(const events::link_credits& e) {
  const auto found = credits_.find({e.link, e.vc});
  if (found == credits_.end()) return;
  const std::uint32_t var = found->second;
  if (e.flits < 0 || e.first == e.last) return add(e.first, var, e.flits);
  for (std::uint64_t n = 1; n <= static_cast<std::uint64_t>(e.flits); ++n) add(back_at(e, n), var, 1);
}

void vcd_writer::stop_at(sim_time end) {
  flush(end + sim_time{1});
  pending_ = {};
}

void vcd_writer::close(sim_time end) {
  flush(sim_time::never());
  if (end >= window_from_) open_window();
  write_time(std::max(std::min(end, window_to_), written_until_));
  file_.close();
  if (!file_) throw platforms::not_finished("--vcd " + path_);
}

}  // namespace diecast::observe
