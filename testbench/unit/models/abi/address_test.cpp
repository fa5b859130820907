// SPDX-License-Identifier: Apache-2.0
#include "models/abi/address.hpp"

#include <rapidcheck.h>

#include "support/test.hpp"

using namespace diecast;
using namespace diecast::abi;

TEST_CASE("address: every location survives encode and decode") {
  const bool ok = rc::check("round trip", [] {
    const location l{sip_id{*rc::gen::inRange(0u, max_sips)},
                     cube_id{*rc::gen::inRange(0u, max_cubes_per_sip)},
                     static_cast<region>(*rc::gen::inRange(1, 9)), *rc::gen::inRange(0u, max_units),
                     *rc::gen::inRange<std::uint64_t>(0, max_offset + 1)};
    RC_ASSERT(decode(encode(l)) == l);
  });
  CHECK(ok);
}

TEST_CASE("address: every valid address survives decode and encode") {
  const bool ok = rc::check("round trip", [] {
    const auto a = *rc::gen::arbitrary<std::uint64_t>();
    const auto l = decode(a);
    const auto kind = a >> 44 & 0xf;
    RC_ASSERT(l.has_value() == (kind >= 1 && kind <= 8));
    if (l) RC_ASSERT(encode(*l) == a);
  });
  CHECK(ok);
}

TEST_CASE("address: zero and unknown regions do not decode") {
  CHECK_FALSE(decode(0));
  CHECK_FALSE(decode(std::uint64_t{0x9} << 44));
}

TEST_CASE("address: a field beyond its width is refused by name") {
  CHECK_THROWS_WITH(encode({sip_id{256}, cube_id{0}, region::tcm, 0, 0}), Catch::Contains("sip 256"));
  CHECK_THROWS_WITH(encode({sip_id{0}, cube_id{0}, region::tcm, 0, max_offset + 1}),
                    Catch::Contains("offset"));
}

TEST_CASE("address: documented example") {
  const address a = encode({sip_id{1}, cube_id{5}, region::tcm, 3, 0x1000});
  CHECK(a == 0x0105103000001000);
  CHECK(describe(a) == "0x0105103000001000 (sip1 cube5 tcm[3]+0x1000)");
}
