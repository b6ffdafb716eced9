// SPDX-License-Identifier: BSD-2-Clause
// Keys that cannot be guessed from earlier ones, and finding what they name.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <set>
#include <unordered_set>

#include "transport/memory/memory_region.h"

namespace urxe::test {
namespace {

constexpr SipKey kSecret{0x0706050403020100U, 0x0f0e0d0c0b0a0908U};

// The reference implementation's test vectors: message 00 01 02 ... of each length.
TEST(SipHash, ReferenceVectors) {
  uint8_t message[64];
  std::iota(std::begin(message), std::end(message), uint8_t{0});
  const std::pair<size_t, uint64_t> vectors[] = {
      {0, 0x726fdb47dd0e0e31U}, {1, 0x74f839c593dc67fdU}, {2, 0x0d6c8009d9a94f5aU},
      {3, 0x85676696d7fb7e2dU}, {8, 0x93f5f5799a932462U}, {15, 0xa129ca6149be45e5U}};
  for (const auto& [length, expected] : vectors) {
    EXPECT_EQ(siphash(kSecret, {message, length}), expected) << length;
  }
}

TEST(KeySequence, SameSecretSameKeys) {
  KeySequence a(kSecret);
  KeySequence b(kSecret);
  KeySequence c({kSecret.k0, kSecret.k1 ^ 1});
  int same = 0;
  for (int i = 0; i < 1000; ++i) {
    const uint32_t key = a.next();
    EXPECT_EQ(key, b.next());
    same += key == c.next() ? 1 : 0;
  }
  EXPECT_LT(same, 3);
}

// Expect: of many names none comes twice, and none is one of those that no key has.
TEST(KeySequence, NamesDoNotComeBack) {
  KeySequence keys(kSecret);
  std::vector<bool> seen(1U << 24);
  for (int i = 0; i < 1 << 21; ++i) {
    const uint32_t name = keys.next() >> 8;
    ASSERT_FALSE(seen[name]) << i;
    ASSERT_NE(name, 0U);
    ASSERT_NE(name, 0xffffffU);
    seen[name] = true;
  }
}

// Expect: each bit of a key is 1 half of the time, whatever any bit of the key before was; the
// difference from one key to the next takes no value often. 100000 keys, six standard deviations.
TEST(KeySequence, AKeySaysNothingOfTheNext) {
  constexpr int kKeys = 100000;
  constexpr int kTolerance = 950;
  KeySequence keys(kSecret);
  std::array<std::array<int, 32>, 32> equal{};
  std::array<int, 32> ones{};
  std::map<uint32_t, int> steps;
  uint32_t last = keys.next();
  for (int i = 0; i < kKeys; ++i) {
    const uint32_t key = keys.next();
    for (int bit = 0; bit < 32; ++bit) {
      ones[bit] += static_cast<int>(key >> bit & 1);
      const uint32_t agreement = ~(std::rotl(last, bit) ^ key);
      for (int other = 0; other < 32; ++other) equal[bit][other] += agreement >> other & 1;
    }
    ++steps[(key >> 8) - (last >> 8)];
    last = key;
  }
  for (int bit = 0; bit < 32; ++bit) {
    EXPECT_NEAR(ones[bit], kKeys / 2, kTolerance) << bit;
    for (const int count : equal[bit]) EXPECT_NEAR(count, kKeys / 2, kTolerance) << bit;
  }
  for (const auto& [step, count] : steps) ASSERT_LT(count, 6) << step;
}

// Names whose low bits are the same share a place of the table.
TEST(KeyTable, NamesThatCollide) {
  KeyTable<uint32_t> table;
  std::set<uint32_t> there;
  const auto add = [&](uint32_t name) {
    table.insert(name, std::make_unique<uint32_t>(name));
    there.insert(name);
  };
  for (uint32_t i = 1; i <= 7; ++i) add(i << 12 | 0xf);  // wraps around the end of sixteen places
  add(0x2);
  for (const uint32_t gone : {3U << 12 | 0xf, 1U << 12 | 0xf, 0x2U, 7U << 12 | 0xf}) {
    table.erase(gone);
    there.erase(gone);
    EXPECT_EQ(table.find(gone), nullptr);
    for (const uint32_t name : there) {
      ASSERT_NE(table.find(name), nullptr) << name;
      EXPECT_EQ(*table.find(name), name);
    }
  }
  EXPECT_EQ(table.size(), there.size());
}

// Against a set: many additions and removals. Expect: what is in it is found, what is not is not.
TEST(KeyTable, AgreesWithASet) {
  KeyTable<uint32_t> table;
  std::unordered_set<uint32_t> model;
  uint64_t random = 88172645463325252U;
  const auto next = [&random] {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return random;
  };
  for (int i = 0; i < 200000; ++i) {
    // Few different names, with many equal low bits.
    const auto name = static_cast<uint32_t>((next() % 64) << 16 | (next() % 24));
    if (model.contains(name)) {
      ASSERT_NE(table.find(name), nullptr);
      ASSERT_EQ(*table.find(name), name);
      table.erase(name);
      model.erase(name);
    } else {
      ASSERT_EQ(table.find(name), nullptr);
      table.insert(name, std::make_unique<uint32_t>(name));
      model.insert(name);
    }
    ASSERT_EQ(table.size(), model.size());
  }
  size_t visited = 0;
  table.for_each([&](uint32_t name) { visited += model.count(name); });
  EXPECT_EQ(visited, model.size());
}

// Expect: a region is found by its key alone, not by another key of the same name.
TEST(MemoryTable, OnlyTheWholeKeyOpensARegion) {
  MemoryTable table(kSecret, {});
  uint8_t bytes[64];
  const MemoryRegion* region =
      table.add({PdId{1}, bytes, sizeof bytes, 0x1000, IBV_ACCESS_REMOTE_READ}).value();
  const auto opens = [&](uint32_t key) {
    return static_cast<bool>(
        table.remote(PdId{1}, Qpn{2}, RKey{key}, 0x1000, 8, IBV_ACCESS_REMOTE_READ));
  };
  EXPECT_TRUE(opens(region->rkey.value()));
  for (uint32_t tag = 1; tag < 256; ++tag) EXPECT_FALSE(opens(region->rkey.value() ^ tag));
  for (uint32_t bit = 0; bit < 32; ++bit) EXPECT_FALSE(opens(region->rkey.value() ^ (1U << bit)));
}

// Expect: after many regions have come and gone each that is left is found, and no removed one.
TEST(MemoryTable, ManyRegionsComeAndGo) {
  MemoryTable table(kSecret, {});
  uint8_t bytes[64];
  std::vector<MemoryRegion*> alive;
  std::vector<uint32_t> gone;
  for (int i = 0; i < 50000; ++i) {
    alive.push_back(table.add({PdId{1}, bytes, sizeof bytes}).value());
    if (i % 3 == 0) continue;
    MemoryRegion*& victim = alive[static_cast<size_t>(i) * 7919 % alive.size()];
    gone.push_back(victim->lkey.value());
    ASSERT_TRUE(table.remove(victim));
    victim = alive.back();
    alive.pop_back();
  }
  std::unordered_set<uint32_t> keys;
  for (const MemoryRegion* region : alive) {
    keys.insert(region->lkey.value());
    ASSERT_TRUE(table.local(PdId{1}, {0, 8, region->lkey}, false));
  }
  for (const uint32_t key : gone) {
    keys.insert(key);
    ASSERT_FALSE(table.local(PdId{1}, {0, 8, LKey{key}}, false));
  }
  EXPECT_EQ(keys.size(), 50000U);
}

}  // namespace
}  // namespace urxe::test
