// SPDX-License-Identifier: Apache-2.0
// Reading MSCCL programs, their rules, symbolic execution, wiring, slices and images.
#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>

#include <rapidcheck.h>

#include "msccl_programs.hpp"
#include "platforms/config_io/msccl_xml.hpp"
#include "support/test.hpp"
#include "sw/collectives/msccl/program.hpp"

using namespace diecast;
using namespace diecast::comm;
using namespace diecast::testing;

namespace {

program parse(const xml_program& p) { return platforms::parse_msccl(to_xml(p), "test.xml").program; }

/// The message of the user_error that parsing gives; empty if it parses.
std::string refusal(const std::string& text) {
  try {
    (void)platforms::parse_msccl(text, "bad.xml");
  } catch (const user_error& e) {
    return e.what();
  }
  return {};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

void check_all_orders(const program& p, std::uint32_t fifo_messages) {
  INFO(p.source);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const check_result r = check_program(p, {fifo_messages, seed, true});
    INFO("seed " << seed);
    if (!r.blocked.empty()) INFO(r.blocked.front());
    if (!r.wrong.empty()) INFO(r.wrong.front());
    CHECK(r.ok());
  }
}

std::vector<std::filesystem::path> files_of(const char* directory) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (entry.path().extension() == ".xml") files.insert(entry.path());
  return {files.begin(), files.end()};
}

}  // namespace

TEST_CASE("msccl: own programs do what their collective promises, in every order") {
  for (int n : {2, 3, 4, 7})
    for (int channels : {1, 3}) check_all_orders(parse(ring_all_reduce(n, channels)), 2);
  check_all_orders(parse(one_shot_all_reduce(4, 3)), 1);
  check_all_orders(parse(out_of_place_all_reduce(5)), 1);
  check_all_orders(parse(scratch_all_reduce(5)), 1);
  check_all_orders(parse(direct_all_to_all(3, 2)), 1);
  for (bool in_place : {false, true}) {
    check_all_orders(parse(direct_all_gather(4, in_place)), 1);
    check_all_orders(parse(direct_reduce_scatter(4, in_place)), 1);
  }
}

TEST_CASE("msccl: the checker sees a wrong result") {
  SECTION("a contribution counted twice") {
    xml_program p = ring_all_reduce(3, 1);
    p.ranks[1].blocks[0].steps.insert(p.ranks[1].blocks[0].steps.begin(), {"re", "i", 1, "i", 1});
    const check_result r = check_program(parse(p));
    CHECK_FALSE(r.deadlock);
    REQUIRE_FALSE(r.wrong.empty());
    CHECK(r.wrong.front().find("gpu1[1] + gpu1[1]") != std::string::npos);
  }
  SECTION("a result that never arrives") {
    xml_program p = direct_all_gather(3, false);
    p.ranks[2].blocks.back().steps.front().destination = 0;
    const check_result r = check_program(parse(p));
    REQUIRE_FALSE(r.wrong.empty());
    CHECK(r.wrong.front().find("gpu 2 output chunk") != std::string::npos);
  }
}

TEST_CASE("msccl: a program that only receives first is a deadlock that names its blocks") {
  const program p = parse(receive_first());
  const check_result r = check_program(p, {8, 0, true});
  CHECK(r.deadlock);
  REQUIRE(r.blocked.size() == 2);
  CHECK(r.blocked[0] == "test.xml:4: gpu 0 tb 0 step 0 (rrc) waits for a message from gpu 1 on chan 0");
  CHECK_FALSE(fifo_messages_needed(p, 8).has_value());
}

TEST_CASE("msccl: how many messages a FIFO must hold") {
  // All ranks of a ring send before they forward: each FIFO holds a message and takes another.
  const program ring = parse(ring_all_reduce(4, 2));
  CHECK(fifo_messages_needed(ring, 8) == 2u);
  CHECK(check_program(ring, {1, 0, true, true}).ok());
  for (std::uint32_t burst : {1u, 2u, 5u}) {
    const program p = parse(bursting_all_reduce(static_cast<int>(burst)));
    CHECK(fifo_messages_needed(p, 8) == burst);
    CHECK(check_program(p, {burst, 3, true}).ok());
  }
}

TEST_CASE("msccl: wiring gives each FIFO its queue pair at both ends") {
  SECTION("both ways between two ranks share a queue pair") {
    const program_wiring w = wire(parse(ring_all_reduce(2, 2)));
    CHECK(w.fifos.size() == 4);
    CHECK(w.queue_pairs_needed() == 2);
    CHECK(w.queue_pairs[0][1].name() == "with1.c1");
  }
  SECTION("a ring of three is one-way") {
    const program_wiring w = wire(parse(ring_all_reduce(3, 2)));
    CHECK(w.queue_pairs_needed() == 4);
    CHECK(w.queue_pairs[0][0].name() == "to1.c0");
    CHECK(w.queue_pairs[0][3].name() == "from2.c1");
    group g{rank_set::pe,
            {{sip_id{0}, cube_id{0}, pe_id{0}},
             {sip_id{0}, cube_id{0}, pe_id{1}},
             {sip_id{0}, cube_id{0}, pe_id{2}}}};
    const std::vector<edge> edges = edges_of(w, g);
    REQUIRE(edges.size() == 6);
    CHECK(edges[0].to == g.members[1]);
    CHECK_FALSE(edges[0].bidirectional);
    CHECK(w.queue_pairs[1][static_cast<std::size_t>(edges[0].reverse)].name() == "from0.c0");
  }
}

TEST_CASE("msccl: the image of every rank survives encode and decode") {
  for (const xml_program& x :
       {ring_all_reduce(5, 3), one_shot_all_reduce(3, 4), direct_all_gather(3, true)}) {
    const program p = parse(x);
    const program_wiring w = wire(p);
    for (std::uint32_t r = 0; r < static_cast<std::uint32_t>(p.ranks); ++r) {
      const program_image a = image_of(p, w, r);
      const std::vector<std::uint64_t> words = encode(a);
      CHECK(encode(decode_program_image(words)) == words);
      const program_image b = decode_program_image(words);
      REQUIRE(b.blocks.size() == p.gpus[r].blocks.size());
      CHECK(b.input.first_chunk == a.input.first_chunk);
      CHECK(b.input.chunks == a.input.chunks);
      for (std::size_t k = 0; k < b.blocks.size(); ++k)
        CHECK(b.blocks[k].steps.size() == p.gpus[r].blocks[k].steps.size());
      CHECK_THROWS_AS(decode_program_image(std::span(words).first(words.size() - 1)), protocol_error);
    }
  }
  CHECK_THROWS_AS(decode_program_image(std::vector<std::uint64_t>{0, 0, 0}), protocol_error);
}

TEST_CASE("msccl: slices cover the vector and messages fit their FIFO") {
  const program ring = parse(ring_all_reduce(3, 2));
  const program wide = parse(one_shot_all_reduce(3, 5));
  const program gather = parse(direct_all_gather(4, true));
  CHECK(rc::check("all_reduce", [&] {
    const program& p = *rc::gen::arbitrary<bool>() ? ring : wide;
    const std::uint64_t largest = &p == &ring ? 1 : 5;
    const auto chunks = static_cast<std::uint64_t>(p.chunks_per_loop);
    const auto count = *rc::gen::inRange<std::uint64_t>(1, 300'000);
    const auto element = *rc::gen::element<std::uint64_t>(2, 4);
    const auto slot = *rc::gen::inRange<std::uint64_t>(1, 129) * 64;
    const auto n_slots = *rc::gen::inRange<std::uint32_t>(1, 9);
    const auto messages = *rc::gen::inRange<std::uint32_t>(1, n_slots + 1);
    const slicing s = slice(p, count, element, {n_slots, slot}, messages);
    RC_ASSERT(s.slices >= 1);
    RC_ASSERT((s.slices - 1) * s.chunk * chunks + s.last_elements == count);
    RC_ASSERT(s.last_elements > 0);
    RC_ASSERT(s.last_chunk <= s.chunk);
    RC_ASSERT(s.last_chunk * chunks >= s.last_elements);
    RC_ASSERT(s.last_chunk * chunks - s.last_elements < chunks);
    const std::uint64_t slot_elements = slot / element;
    RC_ASSERT((largest * s.chunk + slot_elements - 1) / slot_elements * messages <= n_slots);
  }));
  CHECK(rc::check("by position", [&] {
    const std::uint64_t chunk = *rc::gen::inRange<std::uint64_t>(1, 50'000);
    const slicing s = slice(gather, 4 * chunk, 2, {4, 1024}, 1);
    RC_ASSERT((s.slices - 1) * s.chunk + s.last_chunk == chunk);
    RC_ASSERT(s.stride == (s.slices > 1 ? chunk : 0));
    RC_ASSERT(s.chunk * 2 <= 4 * 1024);
  }));
  CHECK(slice(ring, 0, 2, {4, 1024}, 1).slices == 0);
}

TEST_CASE("msccl: what is missing or unknown is handled as MSCCL does, and said") {
  const std::string text = R"(<?xml version="1.0"?>
<!-- a comment -->
<algo name="x" proto="LL" ngpus="2" nchunksperloop="2" coll="allreduce" color="red" redop="sum">
  <gpu id="1" i_chunks="2" o_chunks="0"><copy i_off="0"/><copy i_off="1"/>
    <tb id="7" send="0" recv="0">
      <step type="s" srcbuf="i" srcoff="0" cnt="2"/>
      <step type="rrc" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2"/>
      <step type="nop"/>
    </tb></gpu>
  <gpu id="0" i_chunks="2" o_chunks="0" s_chunks="0">
    <tb id="0" send="1" recv="1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="2"/>
      <step s="1" type="rrc" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="2"/>
    </tb></gpu>
</algo>)";
  const platforms::msccl_file f = platforms::parse_msccl(text, "t.xml");
  CHECK(f.program.in_place);
  CHECK(f.program.gpus[0].id == 0);
  CHECK(f.program.gpus[1].blocks[0].channel == 0);
  CHECK(check_program(f.program).ok());
  CHECK(f.notes == std::vector<std::string>{"protocol LL runs as Simple"});
  CHECK(f.warnings == std::vector<std::string>{"t.xml:3: unknown attribute color of <algo> ignored",
                                               "t.xml:4: unknown element <copy> in <gpu> ignored (2 times)"});
  // Without the attribute inplace a program that writes no output works in place, whatever it declares.
  std::string declared = replaced(text, "o_chunks=\"0\"", "o_chunks=\"2\"");
  declared = replaced(declared, "o_chunks=\"0\"", "o_chunks=\"2\"");
  const auto in_place = [](const std::string& xml) {
    return platforms::parse_msccl(xml, "t.xml").program.in_place;
  };
  CHECK_FALSE(in_place(declared));
  CHECK(in_place(replaced(declared, "dstbuf=\"o\"", "dstbuf=\"i\"")));
}

TEST_CASE("msccl: both spellings of a collective") {
  for (const char* name : {"reduce_scatter", "reducescatter"}) {
    xml_program p = direct_reduce_scatter(3, false);
    p.coll = name;
    CHECK(parse(p).collective == collective::reduce_scatter);
  }
}

TEST_CASE("msccl: broken XML gives line and column") {
  const std::string good = to_xml(ring_all_reduce(2, 1));
  CHECK_THAT(refusal(replaced(good, "</gpu>", "</gpo>")),
             Catch::StartsWith("bad.xml:8:") && Catch::Contains("broken XML"));
  CHECK_THAT(refusal(good.substr(0, good.size() / 2)), Catch::Contains("broken XML"));
  CHECK_THAT(refusal(""), Catch::Contains("bad.xml"));
  CHECK_THAT(refusal("<workload/>"), Catch::Contains("<workload>") && Catch::Contains("one <algo> element"));
}

TEST_CASE("msccl: every kind of impossible program is refused with its line") {
  struct row {
    const char* from;
    const char* to;
    const char* message;
  };
  // Line 3 is the thread block of gpu 0, lines 4 to 6 its steps (s, rrcs, r).
  const std::vector<row> rows{
      {"send=\"1\"", "send=\"2\"",
       "bad.xml:3: gpu 0: tb 0: send names an impossible peer (value 2; expected -1 or a gpu 0 to 1)"},
      {"recv=\"1\"", "recv=\"-2\"", "bad.xml:3: gpu 0: tb 0: recv names an impossible peer (value -2"},
      {"send=\"1\"", "send=\"0\"", "send names the gpu itself"},
      {"send=\"1\"", "send=\"-1\"", "bad.xml:4: gpu 0: tb 0: step 0 (s) sends, but the tb has no send peer"},
      {"recv=\"1\"", "recv=\"-1\"",
       "bad.xml:5: gpu 0: tb 0: step 1 (rrcs) receives, but the tb has no recv peer"},
      {"type=\"s\"", "type=\"send\"",
       "bad.xml:4: <step>: attribute type is missing or unknown (value \"send\""},
      {"srcoff=\"0\"", "srcoff=\"2\"",
       "bad.xml:4: gpu 0: tb 0: step 0 (s): source is beyond its buffer (value chunk 2, cnt 1"},
      {"srcbuf=\"i\"", "srcbuf=\"s\"", "source is beyond its buffer"},
      {"srcbuf=\"i\"", "srcbuf=\"x\"", "attribute srcbuf is missing or unknown"},
      {"cnt=\"1\"", "cnt=\"-1\"", "cnt is out of range"},
      {"cnt=\"1\"", "cnt=\"1.5\"", "attribute cnt is no whole number in range"},
      {"cnt=\"1\"", "cnt=\"99999999999999999999\"", "attribute cnt is no whole number in range"},
      {"cnt=\"1\"", "cnt=\"2\"", "message 0 is sent and received with different cnt"},
      {"depid=\"-1\" deps=\"-1\"", "depid=\"4\" deps=\"0\"", "depid names a tb this gpu does not have"},
      {"depid=\"-1\" deps=\"-1\"", "depid=\"0\" deps=\"9\"", "deps names a step tb 0 does not have"},
      {"depid=\"-1\" deps=\"-1\"", "depid=\"0\" deps=\"1\"", "waits for itself or a later step"},
      {"step s=\"1\"", "step s=\"3\"", "steps are not numbered in order"},
      {"type=\"r\"", "type=\"nop\"", "sends and receives do not match (value 2 sends, 1 receives"},
      {"gpu id=\"1\"", "gpu id=\"0\"", "gpu: id is used twice"},
      {"gpu id=\"1\"", "gpu id=\"5\"", "gpu: id is out of range"},
      {"ngpus=\"2\"", "ngpus=\"3\"", "2 gpu elements"},
      {"ngpus=\"2\"", "ngpus=\"0\"", "ngpus is out of range"},
      {"ngpus=\"2\"", "ngpus=\"2\" ngpus=\"2\"", "attribute ngpus is given twice"},
      {"ngpus=\"2\"", "", "attribute ngpus is missing"},
      {"nchunksperloop=\"2\"", "nchunksperloop=\"0\"", "nchunksperloop is out of range"},
      {"nchunksperloop=\"2\"", "nchunksperloop=\"4\"",
       "input buffer of all_reduce (value 2 chunks; expected 4 chunks)"},
      {"coll=\"allreduce\"", "coll=\"allsum\"", "attribute coll is missing or unknown (value \"allsum\""},
      {"proto=\"Simple\"", "proto=\"Fancy\"", "attribute proto is unknown"},
      {"inplace=\"1\"", "inplace=\"7\"", "attribute inplace is no flag"},
      {"i_chunks=\"2\"", "i_chunks=\"-2\"", "i_chunks is out of range"},
  };
  const std::string good = to_xml(ring_all_reduce(2, 1));
  REQUIRE(refusal(good).empty());
  for (const row& r : rows) {
    INFO(r.from << " -> " << r.to);
    CHECK_THAT(refusal(replaced(good, r.from, r.to)), Catch::Contains(r.message));
  }
}

TEST_CASE("msccl: two thread blocks may not share a FIFO end, nor an id") {
  xml_program p = ring_all_reduce(2, 2);
  p.ranks[0].blocks[1].channel = 0;
  const std::string text = refusal(to_xml(p));
  CHECK_THAT(text, Catch::Contains("send: another tb of this gpu uses peer 1 on chan 0"));
  CHECK_THAT(text, Catch::Contains("recv: another tb of this gpu uses peer 1 on chan 0"));
  CHECK_THAT(refusal(replaced(to_xml(ring_all_reduce(2, 2)), "tb id=\"1\"", "tb id=\"0\"")),
             Catch::Contains("tb 0: id is used twice on this gpu"));
}

TEST_CASE("msccl: all problems of a file are reported at once") {
  std::string text = to_xml(ring_all_reduce(3, 1));
  text = replaced(text, "send=\"1\"", "send=\"12\"");
  text = replaced(text, "type=\"rrs\"", "type=\"rrx\"");
  text = replaced(text, "type=\"r\" srcbuf=\"i\" srcoff=\"2\" dstbuf=\"i\" dstoff=\"2\"",
                  "type=\"r\" srcbuf=\"i\" srcoff=\"2\" dstbuf=\"i\" dstoff=\"200\"");
  const std::string all = refusal(text);
  CHECK_THAT(all, Catch::Contains("impossible peer (value 12"));
  CHECK_THAT(all, Catch::Contains("value \"rrx\""));
  CHECK_THAT(all, Catch::Contains("chunk 200"));
}

TEST_CASE("msccl: a file damaged anywhere is refused or still a program that ends or deadlocks") {
  const std::string good = to_xml(one_shot_all_reduce(3, 2));
  CHECK(rc::check("damage", [&] {
    std::string text = good;
    for (int edits = *rc::gen::inRange(1, 4); edits > 0; --edits) {
      const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
      const auto length = *rc::gen::inRange<std::size_t>(0, 4);
      text.replace(at, length,
                   *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123456789-<>/\"aisr"))));
    }
    try {
      const program p = platforms::parse_msccl(text, "damaged.xml").program;
      const program_wiring w = wire(p);
      for (std::uint32_t r = 0; std::cmp_less(r, p.ranks); ++r) (void)encode(image_of(p, w, r));
      const check_result result = check_program(p, {1, 0, false});
      RC_ASSERT(result.deadlock == !result.blocked.empty());
    } catch (const user_error& e) {
      RC_ASSERT(!e.problems().empty());
    }
  }));
}

TEST_CASE("msccl: a file that cannot be read says why") {
  CHECK_THROWS_WITH(platforms::load_msccl("."), Catch::StartsWith("--workload: cannot be read: a folder"));
  CHECK_THROWS_WITH(platforms::load_msccl("none.xml"),
                    Catch::StartsWith("--workload: cannot be read: No such file or directory"));
}

TEST_CASE("msccl: programs of a directory are correct under the documented semantics") {
  const char* directory = std::getenv("DIECAST_MSCCL_DIR");
  if (directory == nullptr) {
    WARN("skipped: DIECAST_MSCCL_DIR names no directory with MSCCL programs");
    return;
  }
  std::size_t checked = 0;
  for (const auto& path : files_of(directory)) {
    const platforms::msccl_file f = platforms::load_msccl(path.string());
    check_all_orders(f.program, 2);
    const program_wiring w = wire(f.program);
    CHECK(w.queue_pairs_needed() > 0);
    CHECK(fifo_messages_needed(f.program, 2).has_value());
    ++checked;
  }
  CHECK(checked > 0);
}
