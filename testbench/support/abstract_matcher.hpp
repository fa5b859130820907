// SPDX-License-Identifier: Apache-2.0
// What tag matching means, and nothing else: the oracle of the tests of unit and shadow, of which it knows
// no header.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace diecast::test {

struct abstract_matcher {
  struct item {
    unsigned id;
    std::uint64_t tag, mask;
  };
  std::vector<item> sends, receives;   // waiting, in order
  std::map<unsigned, unsigned> pairs;  // receive -> send

  static bool match(const item& r, const item& s) { return ((r.tag ^ s.tag) & r.mask) == 0; }
  void send(const item& s) {
    for (auto r = receives.begin(); r != receives.end(); ++r) {
      if (match(*r, s)) return pairs[r->id] = s.id, receives.erase(r), void();
    }
    sends.push_back(s);
  }
  void receive(const item& r) {
    for (auto s = sends.begin(); s != sends.end(); ++s) {
      if (match(r, *s)) return pairs[r.id] = s->id, sends.erase(s), void();
    }
    receives.push_back(r);
  }
};

}  // namespace diecast::test
