// SPDX-License-Identifier: Apache-2.0
#include "models/checksum/packet_checksum.hpp"

#include <array>
#include <boost/crc.hpp>
#include <cstring>
#include <string_view>
#include <vector>

#include "testbench/support/test.hpp"

using namespace diecast;
using config::packet_checksum;

namespace {

std::vector<std::byte> counting(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
  return bytes;
}

diecast::abi::packet_header header_of(std::uint32_t bytes) {
  diecast::abi::packet_header h;
  h.kind = diecast::abi::packet_kind::ipcq_data;
  h.payload_bytes = bytes;
  h.ipcq.match_address = 0x1000;
  h.ipcq.message_bytes = bytes;
  return h;
}

constexpr std::array kinds{packet_checksum::xor64, packet_checksum::crc32c};

}  // namespace

TEST_CASE("crc32c gives the check value of RFC 3720") {
  constexpr std::string_view digits = "123456789";
  const auto bytes = std::as_bytes(std::span{digits.data(), digits.size()});
  CHECK(checksum::of_bytes(packet_checksum::crc32c, bytes, {}) == 0xE3069283);
  const std::vector<std::byte> zeros(32);
  CHECK(checksum::of_bytes(packet_checksum::crc32c, zeros, {}) == 0x8A9136AA);
}

TEST_CASE("crc32c is that of all bytes one by one, whatever their number and those of the words") {
  for (std::size_t n = 0; n < 40; ++n) {
    const auto bytes = counting(n);
    const std::vector<std::uint64_t> words(n % 5, 0x0123456789abcdef * (n + 1));
    boost::crc_basic<32> expected(0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true);
    expected.process_bytes(bytes.data(), bytes.size());
    expected.process_bytes(words.data(), words.size() * sizeof words[0]);
    CHECK(checksum::of_bytes(packet_checksum::crc32c, bytes, words) == expected.checksum());
  }
}

TEST_CASE("both checksums see every single flipped bit and every header word") {
  const auto good = counting(100);
  const auto header = header_of(100);
  for (const auto kind : kinds) {
    const std::uint64_t right = checksum::of_packet(kind, header, good);
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
      auto bad = good;
      bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      CHECK(checksum::of_packet(kind, header, bad) != right);
    }
    auto other = header;
    other.offset = 1024;
    CHECK(checksum::of_packet(kind, other, good) != right);
    other = header;
    other.ipcq.sequence = 1;
    CHECK(checksum::of_packet(kind, other, good) != right);
    other = header;
    other.ipcq.match_address += 0x2000;
    CHECK(checksum::of_packet(kind, other, good) != right);
  }
}

TEST_CASE("xor64 misses words that change places and pairs of equal errors; crc32c does not") {
  const auto good = counting(64);
  const auto header = header_of(64);
  auto swapped = good;
  std::swap_ranges(swapped.begin(), swapped.begin() + 8, swapped.begin() + 16);
  auto pair = good;
  pair[3] ^= std::byte{0x10};
  pair[11] ^= std::byte{0x10};
  for (const auto& bad : {swapped, pair}) {
    REQUIRE(bad != good);
    CHECK(checksum::of_packet(packet_checksum::xor64, header, bad) ==
          checksum::of_packet(packet_checksum::xor64, header, good));
    CHECK(checksum::of_packet(packet_checksum::crc32c, header, bad) !=
          checksum::of_packet(packet_checksum::crc32c, header, good));
  }
}

TEST_CASE("the digest of a message is that of its parts in any order") {
  const auto bytes = counting(96);
  const std::span all{bytes};
  const auto a = checksum::digest_of_part(0, all.first(64));
  const auto b = checksum::digest_of_part(64, all.subspan(64));
  CHECK(a + b == b + a);
  CHECK(a + b != checksum::digest_of_part(0, all.first(64)) + checksum::digest_of_part(32, all.subspan(64)));
}

TEST_CASE("what names a tag-matched message, and a part of one that is read, is under the checksum") {
  const auto good = counting(100);
  for (const auto kind : kinds) {
    diecast::abi::packet_header message = header_of(100);
    message.kind = diecast::abi::packet_kind::tag_message;
    const std::uint64_t right = checksum::of_packet(kind, message, good);
    const auto differs = [&](auto change) {
      diecast::abi::packet_header other = message;
      change(other);
      return checksum::of_packet(kind, other, good) != right;
    };
    CHECK(differs([](diecast::abi::packet_header& h) { h.tag.tag = 1; }));
    CHECK(differs([](diecast::abi::packet_header& h) { h.tag.id = 1; }));
    CHECK(differs([](diecast::abi::packet_header& h) { h.tag.app_ctx = 1; }));
    CHECK(differs([](diecast::abi::packet_header& h) { h.transaction = 1; }));
    CHECK(differs([](diecast::abi::packet_header& h) { h.tag.op = diecast::abi::tag_message_op::rndv; }));
    CHECK(differs([](diecast::abi::packet_header& h) { h.offset = 1024; }));
    diecast::abi::packet_header answer = message;
    answer.kind = diecast::abi::packet_kind::read_response;
    diecast::abi::packet_header elsewhere = answer;
    elsewhere.target = 64;
    CHECK(checksum::of_packet(kind, answer, good) != checksum::of_packet(kind, elsewhere, good));
  }
}
