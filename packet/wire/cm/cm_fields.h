// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "packet/wire/cm/cm_message.h"
#include "packet/wire/cm/mad.h"

namespace urxe {

// The two ways through a message's layout (cm_layout.h): out of a MAD and into one. A field is
// named as the specification's tables name it: the byte from the end of the MAD header, the bit in
// that byte from the most significant one, and the number of bits.

/// The value of any kind of field as a number.
template <class T>
constexpr uint64_t wire_number(const T& field) {
  if constexpr (requires { field.value(); }) {
    return field.value();
  } else {
    return static_cast<uint64_t>(field);
  }
}

/// Reads a message's fields from a MAD. Reserved bits are ignored.
class CmFieldReader {
 public:
  explicit CmFieldReader(MadView mad) : mad_(mad) {}

  template <class T>
  void bits(size_t byte, unsigned bit, unsigned width, T& field) const {
    field = T{static_cast<Number<T>>(number(byte, bit, width))};
  }
  template <class T>
  void field(size_t byte, unsigned width, T& value) const {
    bits(byte, 0, width, value);
  }
  /// As bits(), but values above `last` are illegal.
  template <class T>
  void limited(size_t byte, unsigned bit, unsigned width, T& field, T last) {
    const uint64_t value = number(byte, bit, width);
    legal_ = legal_ && value <= wire_number(last);
    field = static_cast<T>(value);
  }
  /// A field that is always sent with the same value; any value is accepted.
  void constant(size_t, unsigned, unsigned, uint64_t) const {}
  void gid(size_t byte, Gid& gid) const { copy(byte, gid.bytes.size(), gid.bytes.data()); }
  template <size_t N>
  void data(size_t byte, CmBytes<N>& bytes) const {
    bytes.size = N;
    copy(byte, N, bytes.bytes.data());
  }
  /// Bytes whose number is another field.
  template <size_t N>
  void counted(size_t count_byte, unsigned count_bits, size_t byte, CmBytes<N>& bytes) {
    const uint64_t count = number(count_byte, 0, count_bits);
    legal_ = legal_ && count <= N;
    bytes = {};
    bytes.size = static_cast<uint8_t>(std::min<uint64_t>(count, N));
    copy(byte, bytes.size, bytes.bytes.data());
  }

  /// Three bytes that are far apart, the highest first.
  void scattered(const size_t (&bytes)[3], uint32_t& field) const {
    field = 0;
    for (const size_t byte : bytes) field = field << 8 | mad_[kMadHeaderBytes + byte];
  }
  /// Whether an optional part is there: if not, `count` bytes from `byte` are all 0.
  bool present(size_t byte, size_t count, bool& field) const {
    const auto bytes = mad_.subspan(kMadHeaderBytes + byte, count);
    return field = std::any_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b != 0; });
  }

  /// Whether all values read were legal.
  [[nodiscard]] bool legal() const { return legal_; }

 private:
  template <class T>
  struct NumberOf {
    using type = T;
  };
  template <class T>
  requires requires(T value) { value.value(); }
  struct NumberOf<T> {
    using type = decltype(T{}.value());
  };
  template <class T>
  using Number = typename NumberOf<T>::type;

  [[nodiscard]] uint64_t number(size_t byte, unsigned bit, unsigned width) const {
    const unsigned end = bit + width;
    uint64_t value = 0;
    for (size_t i = 0; i < (end + 7) / 8; ++i)
      value = value << 8 | mad_[kMadHeaderBytes + byte + i];
    value >>= (8 - end % 8) % 8;
    return width == 64 ? value : value & ((uint64_t{1} << width) - 1);
  }
  void copy(size_t byte, size_t count, uint8_t* to) const {
    std::copy_n(mad_.data() + kMadHeaderBytes + byte, count, to);
  }

  MadView mad_;
  bool legal_ = true;
};

/// Writes a message's fields into a MAD that was zero. Values are cut to their fields' widths.
class CmFieldWriter {
 public:
  explicit CmFieldWriter(MadBytes& mad) : mad_(mad) {}

  template <class T>
  void bits(size_t byte, unsigned bit, unsigned width, const T& field) {
    constant(byte, bit, width, wire_number(field));
  }
  template <class T>
  void field(size_t byte, unsigned width, const T& value) {
    constant(byte, 0, width, wire_number(value));
  }
  template <class T>
  void limited(size_t byte, unsigned bit, unsigned width, const T& field, T) {
    bits(byte, bit, width, field);
  }
  void constant(size_t byte, unsigned bit, unsigned width, uint64_t value) {
    const unsigned end = bit + width;
    if (width < 64) value &= (uint64_t{1} << width) - 1;
    value <<= (8 - end % 8) % 8;
    for (size_t i = (end + 7) / 8; i-- > 0; value >>= 8) {
      mad_[kMadHeaderBytes + byte + i] |= static_cast<uint8_t>(value);
    }
  }
  void gid(size_t byte, const Gid& gid) { copy(byte, gid.bytes.size(), gid.bytes.data()); }
  template <size_t N>
  void data(size_t byte, const CmBytes<N>& bytes) {
    copy(byte, std::min<size_t>(bytes.size, N), bytes.bytes.data());
  }
  template <size_t N>
  void counted(size_t count_byte, unsigned count_bits, size_t byte, const CmBytes<N>& bytes) {
    constant(count_byte, 0, count_bits, std::min<size_t>(bytes.size, N));
    data(byte, bytes);
  }
  void scattered(const size_t (&bytes)[3], uint32_t field) {
    for (const size_t byte : bytes) {
      mad_[kMadHeaderBytes + byte] = static_cast<uint8_t>(field >> 16);
      field <<= 8;
    }
  }
  [[nodiscard]] bool present(size_t, size_t, bool field) const { return field; }

 private:
  void copy(size_t byte, size_t count, const uint8_t* from) {
    std::copy_n(from, count, mad_.begin() + static_cast<std::ptrdiff_t>(kMadHeaderBytes + byte));
  }

  MadBytes& mad_;
};

}  // namespace urxe
