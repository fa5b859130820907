// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <utility>

#include "models/types/error.hpp"
#include "platforms/config_io/msccl_xml.hpp"
#include "platforms/files/json_tree.hpp"

namespace diecast::platforms {
namespace {

/// Form of an operation: its sources and destinations; l local, r remote, l+ and r+ at least one.
struct op_form {
  const char* name;
  const char* places;
  bool pairs;   ///< as many sources as destinations
  int packets;  ///< the first source that is a packet; -1: none
};
constexpr std::array<op_form, 27> forms{
    {{"nop", ">", false, -1},        {"copy", "l+>l+", true, -1},     {"put", "l+>r+", true, -1},
     {"pws", "l+>r+", true, -1},     {"pwsf", "l+>r+", true, -1},     {"get", "r+>l+", true, -1},
     {"re", "l+>l", false, -1},      {"res", "l+>lr+", false, -1},    {"rre", "lr+>l", false, -1},
     {"rres", "lr+>lr+", false, -1}, {"signal", ">", false, -1},      {"wait", ">", false, -1},
     {"rlxsignal", ">", false, -1},  {"rlxwait", ">", false, -1},     {"flush", ">", false, -1},
     {"barrier", ">", false, -1},    {"sem_acquire", ">", false, -1}, {"sem_release", ">", false, -1},
     {"pipeline", ">", false, -1},   {"ppkt", "l+>r+", true, -1},     {"rppkt", "l>r+", false, 0},
     {"cpkt", "l+>l+", true, -1},    {"upkt", "l+>l+", true, 0},      {"repkt", "l+>l", false, 1},
     {"respkt", "l+>lr+", false, 1}, {"recpkt", "l+>l+", false, 1},   {"recspkt", "l+>l+r+", false, 1}}};
/// Whether places are those of op_form::places. Precondition: in it no l follows l+, and no r r+.
bool has_form(std::string_view shape, std::string_view places) {
  while (!places.empty()) {
    if (shape.empty() || shape.front() != places.front()) return false;
    const bool several = places.size() > 1 && places[1] == '+';
    const std::size_t end = several ? shape.find_first_not_of(places.front()) : 1;
    shape.remove_prefix(std::min(end, shape.size()));
    places.remove_prefix(several ? 2 : 1);
  }
  return shape.empty();
}

/// All keys of a plan: those of the machine and the program, and those without effect here.
constexpr std::string_view known_keys =
    " name collective protocol inplace gpus id input_chunks output_chunks scratch_chunks threadblocks "
    "channels remote_buffers semaphores init_value ops channel_type channel_ids connected_to rank type "
    "src_buff dst_buff index size buffer_id reduce_op tbg_info tb_id tbg_size barrier_id semaphore_ids "
    "iter_context unit_size num_chunks num_threadblocks remote_buffer_refs remote_buffer_ids "
    "access_channel_type access_channel_types min_message_size max_message_size buffer_alignment "
    "num_threads_per_block reuse_resources use_double_scratch_buffer ";

class plan_reader {
 public:
  plan_reader(std::string_view text, const std::string& name) : name_(name) {
    file_.program.source = name;
    std::vector<problem> problems;
    auto root = read_json(text, name, problems);
    if (!problems.empty()) throw user_error(std::move(problems));
    root_ = std::move(*root);
  }

  msccl_file run() {
    const json_array& gpus = list(root_, "gpus", "");
    if (gpus.empty()) refuse("gpus", "is empty", "[]", "an element per GPU");
    if (find(gpus.front(), "inputChunks", "gpus[0]") != nullptr)
      refuse("gpus[0].inputChunks", "is of MSCCL++'s older form of plans, which is not read", "",
             "one of its present DSL: input_chunks, src_buff");
    read_header();
    comm::program& p = file_.program;
    p.ranks = std::ssize(gpus);
    look_over(root_);
    p.line = place("gpus");
    for (std::size_t i = 0; i < gpus.size(); ++i) read_sizes(gpus[i], fmt::format("gpus[{}]", i));
    const comm::program_rank& first = p.gpus.front();
    p.chunks_per_loop = std::max(first.input_chunks, first.output_chunks);
    for (std::size_t i = 0; i < gpus.size(); ++i) read_gpu(gpus[i], fmt::format("gpus[{}]", i));
    translate(plan_, p);
    if (auto wrong = comm::validate(p); !wrong.empty()) throw user_error(std::move(wrong));
    for (const auto& [key, times] : ignored_)
      file_.warnings.push_back(fmt::format("{}: unknown key {} ignored ({} times)", name_, key, times));
    return std::move(file_);
  }

 private:
  [[noreturn]] void refuse(const std::string& path, const std::string& what, const std::string& value,
                           const std::string& expected) const {
    throw user_error(problem{fmt::format("{}: {}", name_, path), what, value, expected});
  }

  static std::string within(const std::string& path, const std::string& key) {
    return path.empty() ? key : path + "." + key;
  }
  const json_node* find(const json_node& o, const std::string& key, const std::string& path) const {
    if (o.object() == nullptr) refuse(path.empty() ? "plan" : path, "is no object", describe(o), "an object");
    return o.member(key);
  }
  const json_node& need(const json_node& o, const std::string& key, const std::string& path) const {
    if (const json_node* const found = find(o, key, path)) return *found;
    refuse(within(path, key), "is missing", "", "an execution plan of MSCCL++");
  }
  std::int64_t whole(const json_node& n, const std::string& path, std::int64_t low, std::int64_t high) const {
    const auto v = n.count();
    if (!v || std::cmp_less(*v, low) || std::cmp_greater(*v, high))
      refuse(path, "is no whole number in range", describe(n), fmt::format("{} to {}", low, high));
    return static_cast<std::int64_t>(*v);
  }
  std::int64_t whole(const json_node& o, const std::string& key, const std::string& path, std::int64_t low,
                     std::int64_t high) const {
    return whole(need(o, key, path), within(path, key), low, high);
  }
  std::string text(const json_node& o, const std::string& key, const std::string& path) const {
    const json_node& n = need(o, key, path);
    if (n.string() == nullptr) refuse(within(path, key), "is no text", describe(n), "text");
    return *n.string();
  }
  const json_array& list(const json_node& o, const std::string& key, const std::string& path) const {
    static const json_array none;
    const json_node* const n = path.empty() ? &need(o, key, path) : find(o, key, path);
    if (n == nullptr) return none;
    if (n->array() == nullptr) refuse(within(path, key), "is no list", describe(*n), "a list");
    return *n->array();
  }
  std::vector<std::size_t> numbers(const json_node& o, const std::string& key, const std::string& path,
                                   std::size_t below) const {
    std::vector<std::size_t> all;
    const json_array& items = list(o, key, path);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::string at = fmt::format("{}[{}]", within(path, key), i);
      if (below == 0) refuse(at, "names none that exists", describe(items[i]), "there are none");
      all.push_back(static_cast<std::size_t>(whole(items[i], at, 0, static_cast<std::int64_t>(below) - 1)));
    }
    return all;
  }
  comm::program_buffer buffer(const json_node& o, const std::string& key, const std::string& path) const {
    const std::string name = text(o, key, path);
    if (const auto b = comm::parse_program_buffer(name)) return *b;
    refuse(within(path, key), "is no buffer", name, "i, o or s");
  }
  /// Switch channels reduce and multicast in the network.
  std::string channel_type(const json_node& o, const std::string& key, const std::string& path) const {
    std::string type = text(o, key, path);
    if (type == "switch")
      refuse(within(path, key),
             "switch channels (NVLS) sum and multicast in the network, which programs do not", type,
             "memory or port");
    if (type != "memory" && type != "port")
      refuse(within(path, key), "is no channel type", type, "memory or port");
    return type;
  }
  void read_header() {
    comm::program& p = file_.program;
    p.name = text(root_, "name", "");
    const std::string collective = text(root_, "collective", "");
    const auto known = comm::parse_program_collective(collective);
    if (!known)
      refuse("collective", "is not supported", collective, "allreduce, allgather, reducescatter or alltoall");
    p.collective = *known;
    p.protocol = text(root_, "protocol", "");
    if (p.protocol != "Simple" && p.protocol != "LL")
      refuse("protocol", "is unknown", p.protocol, "Simple or LL");
    if (p.protocol == "LL") file_.notes.emplace_back("protocol LL runs as Simple");
    const json_node& in_place = need(root_, "inplace", "");
    if (!in_place.flag()) refuse("inplace", "is no flag", describe(in_place), "true or false");
    p.in_place = *in_place.flag();
    for (auto& [key, bytes] :
         {std::pair{"min_message_size", &p.min_bytes}, {"max_message_size", &p.max_bytes}}) {
      const json_node* const n = find(root_, key, "");
      if (n == nullptr) continue;
      if (!n->count()) refuse(key, "is no number of bytes", describe(*n), "a whole number");
      *bytes = *n->count();
    }
  }

  /// Checks the whole plan: unknown keys, and the parts of a chunk when groups of thread blocks share an
  /// operation.
  void look_over(const json_node& n) {
    if (const json_array* const items = n.array())
      for (const json_node& item : *items) look_over(item);
    if (n.object() == nullptr) return;
    for (const auto& [key, value] : *n.object()) {
      if (known_keys.find(" " + key + " ") == known_keys.npos) ++ignored_[key];
      if (key == "tbg_size") parts_ = std::lcm(parts_, whole(value, key, 1, most_parts));
      if (parts_ > most_parts) refuse(key, "have no common multiple in range", "", "up to 4096");
      look_over(value);
    }
  }

  std::int64_t chunks(const json_node& o, const std::string& key, const std::string& path) const {
    return whole(o, key, path, 0, comm::max_program_chunks / parts_) * parts_;
  }

  void read_sizes(const json_node& n, const std::string& path) {
    comm::program& p = file_.program;
    comm::program_rank r;
    r.id = std::ssize(p.gpus);
    (void)whole(n, "id", path, r.id, r.id);
    r.input_chunks = chunks(n, "input_chunks", path);
    r.output_chunks = chunks(n, "output_chunks", path);
    r.scratch_chunks = chunks(n, "scratch_chunks", path);
    r.line = place(path);
    p.gpus.push_back(r);
  }

  void demand_other_gpu(const std::string& path, std::int64_t peer) const {
    if (peer == std::ssize(plan_.gpus))
      refuse(path, "names the gpu itself", std::to_string(peer), "another gpu");
  }

  void read_gpu(const json_node& n, const std::string& path) {
    read_channels(n, path);
    remotes_.clear();
    for (const json_node& b : list(n, "remote_buffers", path)) {
      const std::string at = fmt::format("{}.remote_buffers[{}]", path, remotes_.size());
      remotes_.push_back(
          {whole(b, "rank", at, 0, file_.program.ranks - 1), true, buffer(b, "type", at), 0, 0});
      demand_other_gpu(at + ".rank", remotes_.back().rank);
    }
    plan_gpu& gpu = plan_.gpus.emplace_back();
    for (const json_node& s : list(n, "semaphores", path))
      gpu.semaphores.push_back(whole(s, "init_value", path + ".semaphores", 0, most_initial));
    const json_array& blocks = list(n, "threadblocks", path);
    for (std::size_t i = 0; i < blocks.size(); ++i)
      read_block(blocks[i], fmt::format("{}.threadblocks[{}]", path, i), gpu);
  }

  void read_channels(const json_node& n, const std::string& path) {
    channels_.clear();
    std::map<std::pair<std::string, std::size_t>, std::int64_t> count;
    const json_array& all = list(n, "channels", path);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string at = fmt::format("{}.channels[{}]", path, i);
      const std::string type = channel_type(all[i], "channel_type", at);
      for (const std::size_t peer :
           numbers(all[i], "connected_to", at, static_cast<std::size_t>(file_.program.ranks))) {
        demand_other_gpu(at + ".connected_to", static_cast<std::int64_t>(peer));
        channels_[type].push_back({type, static_cast<std::int64_t>(peer), count[{type, peer}]++});
      }
    }
  }

  void read_block(const json_node& n, const std::string& path, plan_gpu& gpu) {
    (void)whole(n, "id", path, std::ssize(gpu.blocks), std::ssize(gpu.blocks));
    own_channels_.clear();
    own_remotes_.clear();
    for (const json_node& c : list(n, "channels", path)) {
      const std::string type = channel_type(c, "channel_type", path + ".channels");
      for (const std::size_t id : numbers(c, "channel_ids", path + ".channels", channels_[type].size()))
        own_channels_[type].push_back(channels_[type][id]);
    }
    for (const json_node& b : list(n, "remote_buffer_refs", path)) {
      const std::string at = path + ".remote_buffer_refs";
      const std::string type = channel_type(b, "access_channel_type", at);
      for (const std::size_t id : numbers(b, "remote_buffer_ids", at, remotes_.size()))
        own_remotes_[type].push_back(remotes_[id]);
    }
    plan_block block;
    read_ops(n, path, block, gpu.semaphores.size());
    gpu.blocks.push_back(std::move(block));
  }

  void read_ops(const json_node& n, const std::string& path, plan_block& block, std::size_t semaphores) {
    const json_array& ops = list(n, "ops", path);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const std::string at = fmt::format("{}.ops[{}]", path, i);
      plan_op op = read_op(ops[i], at, semaphores);
      if (op.name != "pipeline") {
        block.push_back(std::move(op));
      } else {  // every slice of the vector is an iteration
        read_ops(ops[i], at, block, semaphores);
      }
    }
  }

  plan_op read_op(const json_node& n, const std::string& path, std::size_t semaphores) {
    plan_op op;
    op.name = text(n, "name", path);
    const auto form = std::ranges::find(forms, op.name, &op_form::name);
    if (form == forms.end())
      refuse(within(path, "name"), "is no supported operation", op.name,
             "put, get, signal, wait, copy, re, res, rre, rres, ... (no multicast: gstore, glre, glres)");
    op.place = place(fmt::format("{} ({})", path, op.name));
    const std::string type =
        find(n, "channel_type", path) == nullptr || text(n, "channel_type", path) == "none"
            ? ""
            : channel_type(n, "channel_type", path);
    const std::string reduction = find(n, "reduce_op", path) == nullptr ? "sum" : text(n, "reduce_op", path);
    if (reduction != "sum" && reduction != "min" && reduction != "max")
      refuse(within(path, "reduce_op"), "is unknown", reduction, "sum, min or max");
    for (const std::size_t id : numbers(n, "channel_ids", path, own_channels_[type].size()))
      op.channels.push_back(own_channels_[type][id]);
    read_places(n, path, type, op);
    op.packets = form->packets < 0 ? op.sources.size() : static_cast<std::size_t>(form->packets);
    op.writes_packets = op.name == "cpkt" || op.name == "recpkt" || op.name == "recspkt";
    check_places(*form, op, path);
    if (op.name == "barrier") {
      op.barrier = whole(n, "barrier_id", path, 0, comm::max_program_chunks);
      op.blocks = whole(n, "num_threadblocks", path, 1, comm::max_program_chunks);
    }
    op.semaphores = numbers(n, "semaphore_ids", path, semaphores);
    return op;
  }

  void read_places(const json_node& n, const std::string& path, const std::string& type, plan_op& op) {
    std::int64_t part = 0, of = 1;
    if (const json_node* const group = find(n, "tbg_info", path)) {
      of = whole(*group, "tbg_size", path + ".tbg_info", 1, most_parts);
      part = whole(*group, "tb_id", path + ".tbg_info", 0, of - 1);
    }
    for (auto& [key, places] : {std::pair{"src_buff", &op.sources}, {"dst_buff", &op.destinations}}) {
      const json_array& all = list(n, key, path);
      if (all.size() > most_buffers)
        refuse(within(path, key), "has too many buffers", std::to_string(all.size()),
               std::to_string(most_buffers));
      for (std::size_t i = 0; i < all.size(); ++i) {
        const std::string at = fmt::format("{}.{}[{}]", path, key, i);
        plan_chunks c{std::ssize(plan_.gpus) - 1, false, {}, 0, 0};
        if (find(all[i], "buffer_id", at) != nullptr) {
          const auto& remotes = own_remotes_[type];
          if (remotes.empty()) refuse(at + ".buffer_id", "names none that exists", "", "there are none");
          c = remotes[static_cast<std::size_t>(whole(all[i], "buffer_id", at, 0, std::ssize(remotes) - 1))];
        } else {
          if (find(all[i], "switch_channel_id", at) != nullptr)
            refuse(at + ".switch_channel_id", "switch channels (NVLS) are not supported", "",
                   "type or buffer_id");
          c.buffer = buffer(all[i], "type", at);
        }
        const std::int64_t first = chunks(all[i], "index", at), count = chunks(all[i], "size", at);
        const comm::program& p = file_.program;
        const auto& owner = p.gpus[static_cast<std::size_t>(c.rank)];
        if (const std::int64_t has = extent_of(p, owner, c.buffer).chunks; first + count > has)
          refuse(at, fmt::format("is beyond its buffer of gpu {}", c.rank),
                 fmt::format("index {}, size {}", first / parts_, count / parts_),
                 fmt::format("within its {} chunks", has / parts_));
        c.first = first + part * (count / of);
        c.count = count / of;
        places->push_back(c);
      }
    }
  }

  void check_places(const op_form& form, const plan_op& op, const std::string& path) const {
    const auto& s = op.sources;
    const auto& d = op.destinations;
    std::string shape;
    for (const plan_chunks& c : s) shape += c.remote ? 'r' : 'l';
    shape += '>';
    for (const plan_chunks& c : d) shape += c.remote ? 'r' : 'l';
    if (!has_form(shape, form.places) || (form.pairs && s.size() != d.size()))
      refuse(path, fmt::format("{} has other buffers, local or remote (l, r), than it must have", op.name),
             shape, form.places);
    for (const auto* const all : {&s, &d})
      for (const plan_chunks& c : *all)
        if (c.count != s.front().count)
          refuse(path, "has buffers of different size", std::to_string(c.count / parts_),
                 std::to_string(s.front().count / parts_));
    const bool speaks = op.name.ends_with("signal") || op.name.ends_with("wait") || op.name == "flush";
    if ((speaks && op.channels.empty()) ||
        (op.name.starts_with("pws") && op.channels.size() != op.destinations.size()))
      refuse(within(path, "channel_ids"), "are too few", std::to_string(op.channels.size()),
             "one for each peer");
  }

  std::uint32_t place(const std::string& path) {
    auto& places = file_.program.places;
    places.push_back(fmt::format("{}: {}", name_, path));
    return static_cast<std::uint32_t>(places.size() - 1);
  }

  static constexpr std::int64_t most_parts = 4096;
  static constexpr std::size_t most_buffers = 1024;
  static constexpr std::int64_t most_initial = 64;

  std::string name_;
  json_node root_;
  msccl_file file_;
  execution_plan plan_;
  std::int64_t parts_{1};
  std::map<std::string, std::vector<plan_channel>> channels_, own_channels_;  ///< by type, of GPU and block
  std::vector<plan_chunks> remotes_;
  std::map<std::string, std::vector<plan_chunks>> own_remotes_;
  std::map<std::string, std::size_t> ignored_;
};

}  // namespace

msccl_file parse_mscclpp(std::string_view text, const std::string& name) {
  return plan_reader(text, name).run();
}

}  // namespace diecast::platforms
