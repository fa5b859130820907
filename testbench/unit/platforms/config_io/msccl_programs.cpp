// SPDX-License-Identifier: Apache-2.0
#include "msccl_programs.hpp"

#include <fmt/format.h>

namespace diecast::testing {
namespace {

int wrap(int value, int n) { return (value % n + n) % n; }

void append_step(std::string& text, const xml_step& s, std::size_t index) {
  text += fmt::format(
      R"(      <step s="{}" type="{}" srcbuf="{}" srcoff="{}" dstbuf="{}" dstoff="{}" cnt="{}" depid="{}" deps="{}" hasdep="0"/>)"
      "\n",
      index, s.type, s.source_buffer, s.source, s.destination_buffer, s.destination, s.count, s.depends_block,
      s.depends_step);
}

/// One thread block per other rank.
template <class Make>
std::vector<xml_block> block_per_peer(int rank, int ranks, Make make) {
  std::vector<xml_block> blocks;
  for (int d = 1; d < ranks; ++d) {
    const int peer = wrap(rank + d, ranks);
    blocks.push_back({peer, peer, 0, make(peer)});
  }
  return blocks;
}

}  // namespace

std::string to_xml(const xml_program& p) {
  std::string text = fmt::format(
      R"(<algo name="test" proto="{}" nchannels="1" nchunksperloop="{}" ngpus="{}" coll="{}" inplace="{}">)"
      "\n",
      p.protocol, p.chunks, p.ranks.size(), p.coll, p.in_place ? 1 : 0);
  for (std::size_t r = 0; r < p.ranks.size(); ++r) {
    const xml_rank& rank = p.ranks[r];
    text += fmt::format("  <gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">\n", r, rank.input,
                        rank.output, rank.scratch);
    for (std::size_t b = 0; b < rank.blocks.size(); ++b) {
      const xml_block& block = rank.blocks[b];
      text += fmt::format("    <tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n", b, block.send,
                          block.recv, block.channel);
      for (std::size_t s = 0; s < block.steps.size(); ++s) append_step(text, block.steps[s], s);
      text += "    </tb>\n";
    }
    text += "  </gpu>\n";
  }
  return text + "</algo>\n";
}

xml_program ring_all_reduce(int ranks, int channels) {
  xml_program p{.chunks = ranks * channels, .in_place = true, .ranks = {}};
  for (int r = 0; r < ranks; ++r) {
    xml_rank rank{.input = p.chunks, .blocks = {}};
    for (int c = 0; c < channels; ++c) {
      xml_block b{.send = wrap(r + 1, ranks), .recv = wrap(r - 1, ranks), .channel = c, .steps = {}};
      const auto add = [&](std::string_view type, int chunk) {
        const int at = wrap(chunk, ranks) * channels + c;
        b.steps.push_back({type, "i", at, "i", at});
      };
      add("s", r);
      for (int k = 1; k < ranks - 1; ++k) add("rrs", r - k);
      add("rrcs", r - (ranks - 1));
      for (int k = 0; k < ranks - 2; ++k) add("rcs", r - k);
      add("r", r - (ranks - 2));
      rank.blocks.push_back(b);
    }
    p.ranks.push_back(rank);
  }
  return p;
}

xml_program one_shot_all_reduce(int ranks, int chunks) {
  xml_program p{.chunks = chunks, .in_place = true, .ranks = {}};
  for (int r = 0; r < ranks; ++r) {
    xml_rank rank{.input = chunks, .scratch = ranks * chunks, .blocks = {}};
    rank.blocks = block_per_peer(r, ranks, [&](int peer) {
      return std::vector<xml_step>{{"s", "i", 0, "s", r * chunks, chunks},
                                   {"r", "i", 0, "s", peer * chunks, chunks}};
    });
    xml_block local;
    for (int d = 1; d < ranks; ++d) local.steps.push_back({"nop", "i", -1, "o", -1, 0, d - 1, 1});
    for (int d = 1; d < ranks; ++d)
      local.steps.push_back({"re", "s", wrap(r + d, ranks) * chunks, "i", 0, chunks});
    rank.blocks.push_back(local);
    p.ranks.push_back(rank);
  }
  return p;
}

xml_program out_of_place_all_reduce(int chunks) {
  xml_program p{.chunks = chunks, .in_place = false, .ranks = {}};
  for (int r = 0; r < 2; ++r)
    p.ranks.push_back(
        {chunks,
         chunks,
         0,
         {{1 - r, 1 - r, 0, {{"s", "i", 0, "i", 0, chunks}, {"rrc", "i", 0, "o", 0, chunks}}}}});
  return p;
}

xml_program scratch_all_reduce(int chunks) {
  xml_program p{.chunks = chunks, .in_place = true, .ranks = {}};
  for (int r = 0; r < 2; ++r)
    p.ranks.push_back({chunks,
                       0,
                       chunks,
                       {{1 - r, 1 - r, 0, {{"s", "i", 0, "s", 0, chunks}, {"r", "i", 0, "s", 0, chunks}}},
                        {-1, -1, 0, {{"re", "s", 0, "i", 0, chunks, 0, 1}}}}});
  return p;
}

xml_program late_source_all_reduce(std::string_view type, int chunks) {
  xml_program p{.chunks = chunks, .in_place = false, .ranks = {}};
  const auto step = [chunks](std::string_view t, std::string_view from, std::string_view to) {
    return xml_step{t, from, 0, to, 0, chunks};
  };
  // The block that adds is first, so that it comes to its step before the other has filled its source.
  xml_block adds{.send = 1, .recv = 1, .channel = 1, .steps = {step(type, "s", "o")}};
  if (type == "rrc") adds.steps.push_back(step("s", "o", "o"));
  if (type == "rrs") adds.steps.push_back(step("r", "o", "o"));
  const xml_block fills{
      .send = 1, .recv = -1, .channel = 0, .steps = {step("cpy", "i", "s"), step("s", "i", "s")}};
  const xml_block hears{.send = -1, .recv = 0, .channel = 0, .steps = {step("r", "i", "s")}};
  xml_block answers{.send = 0, .recv = 0, .channel = 1, .steps = {step("s", "i", "s"), step("r", "o", "o")}};
  answers.steps[0].depends_block = 0;
  answers.steps[0].depends_step = 0;
  if (type == "rrs") answers.steps.push_back(step("s", "o", "o"));
  p.ranks = {{chunks, chunks, chunks, {adds, fills}}, {chunks, chunks, chunks, {hears, answers}}};
  return p;
}

xml_program bursting_all_reduce(int burst) {
  xml_program p{.chunks = burst, .in_place = true, .ranks = {}};
  for (int r = 0; r < 2; ++r) {
    xml_block b{.send = 1 - r, .recv = 1 - r, .steps = {}};
    for (int c = 0; c < burst; ++c) b.steps.push_back({"s", "i", c, "i", c});
    for (int c = 0; c < burst; ++c) b.steps.push_back({"rrc", "i", c, "i", c});
    p.ranks.push_back({burst, 0, 0, {b}});
  }
  return p;
}

xml_program direct_all_to_all(int ranks, int k) {
  xml_program p{.coll = "alltoall", .chunks = ranks * k, .in_place = false, .ranks = {}};
  for (int r = 0; r < ranks; ++r) {
    xml_rank rank{.input = p.chunks, .output = p.chunks, .blocks = {}};
    rank.blocks = block_per_peer(r, ranks, [&](int peer) {
      return std::vector<xml_step>{{"s", "i", peer * k, "o", r * k, k}, {"r", "i", r * k, "o", peer * k, k}};
    });
    rank.blocks.push_back({-1, -1, 0, {{"cpy", "i", r * k, "o", r * k, k}}});
    p.ranks.push_back(rank);
  }
  return p;
}

xml_program direct_all_gather(int ranks, bool in_place) {
  xml_program p{.coll = "allgather", .chunks = ranks, .in_place = in_place, .ranks = {}};
  for (int r = 0; r < ranks; ++r) {
    xml_rank rank{.input = 1, .output = ranks, .blocks = {}};
    rank.blocks = block_per_peer(r, ranks, [&](int peer) {
      return std::vector<xml_step>{{"s", "i", 0, "o", r}, {"r", "i", 0, "o", peer}};
    });
    if (!in_place) rank.blocks.push_back({-1, -1, 0, {{"cpy", "i", 0, "o", r}}});
    p.ranks.push_back(rank);
  }
  return p;
}

xml_program direct_reduce_scatter(int ranks, bool in_place) {
  xml_program p{.coll = "reducescatter", .chunks = ranks, .in_place = in_place, .ranks = {}};
  for (int r = 0; r < ranks; ++r) {
    xml_rank rank{.input = ranks, .output = 1, .scratch = ranks, .blocks = {}};
    rank.blocks = block_per_peer(r, ranks, [&](int peer) {
      return std::vector<xml_step>{{"s", "i", peer, "s", r}, {"r", "i", r, "s", peer}};
    });
    xml_block local;
    if (!in_place) local.steps.push_back({"cpy", "i", r, "o", 0});
    for (int d = 1; d < ranks; ++d)
      local.steps.push_back({"re", "s", wrap(r + d, ranks), "o", 0, 1, d - 1, 1});
    rank.blocks.push_back(local);
    p.ranks.push_back(rank);
  }
  return p;
}

xml_program receive_first() {
  xml_program p{.chunks = 2, .in_place = true, .ranks = {}};
  for (int r = 0; r < 2; ++r)
    p.ranks.push_back({2, 0, 0, {{1 - r, 1 - r, 0, {{"rrc", "i", r, "i", r}, {"s", "i", r, "i", r}}}}});
  return p;
}

}  // namespace diecast::testing
