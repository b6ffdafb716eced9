// SPDX-License-Identifier: BSD-2-Clause
#include "tests/packet/wire/cm/cm_oracle.h"

#include <algorithm>
#include <type_traits>

namespace urxe::test {
namespace {

template <class T>
std::string to_bits(const T& value, size_t bits) {
  if constexpr (std::is_same_v<T, Gid>) {
    return bits_of(std::span(value.bytes), 0, 0, bits);
  } else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
    return binary(static_cast<uint64_t>(value), bits);
  } else {
    return binary(value.value(), bits);
  }
}

template <size_t N>
std::string to_bits(const CmBytes<N>& value, size_t bits) {
  return bits_of(std::span(value.bytes), 0, 0, bits);
}

template <class M>
class Table {
 public:
  template <class Getter>
  Table& add(const char* name, size_t byte, size_t bit, size_t bits, Getter getter) {
    fields_.push_back({name, byte, bit, bits, [=](const CmBody& body) {
                         return to_bits(std::invoke(getter, std::get<M>(body)), bits);
                       }});
    return *this;
  }
  template <class Getter>
  Table& sent(const char* name, size_t byte, size_t bit, size_t bits, Getter getter) {
    add(name, byte, bit, bits, getter);
    fields_.back().kept = false;
    return *this;
  }
  Table& both_ids() {
    add("local communication id", 0, 0, 32, &M::local_comm_id);
    return add("remote communication id", 4, 0, 32, &M::remote_comm_id);
  }
  std::vector<OracleField> fields() { return fields_; }

 private:
  std::vector<OracleField> fields_;
};

/// Bits of a 24-bit vendor id that is sent in pieces.
template <class M>
auto vendor_bits(unsigned from) {
  return [from](const M& m) { return static_cast<uint8_t>(m.ece.vendor_id >> from); };
}

constexpr auto kPermissive = [](const auto&) { return uint16_t{0xffff}; };

void add_req_path(Table<CmReq>& t, size_t at, CmPath CmReq::*path) {
  const auto of = [path](auto member) { return [=](const CmReq& m) { return m.*path.*member; }; };
  t.sent("local LID", at, 0, 16, kPermissive);
  t.sent("remote LID", at + 2, 0, 16, kPermissive);
  t.add("local GID", at + 4, 0, 128, of(&CmPath::local));
  t.add("remote GID", at + 20, 0, 128, of(&CmPath::remote));
  t.add("flow label", at + 36, 0, 20, of(&CmPath::flow_label));
  t.add("packet rate", at + 39, 2, 6, of(&CmPath::packet_rate));
  t.add("traffic class", at + 40, 0, 8, of(&CmPath::traffic_class));
  t.add("hop limit", at + 41, 0, 8, of(&CmPath::hop_limit));
  t.add("SL", at + 42, 0, 4, of(&CmPath::sl));
  t.sent("subnet local", at + 42, 4, 1, [=](const CmReq& m) { return (m.*path).hop_limit < 2; });
  t.add("ACK timeout", at + 43, 0, 5, of(&CmPath::ack_timeout));
}

std::vector<OracleField> req() {
  Table<CmReq> t;
  t.add("local communication id", 0, 0, 32, &CmReq::local_comm_id);
  t.add("vendor id", 5, 0, 24, [](const CmReq& m) { return m.ece.vendor_id; });
  t.add("service id", 8, 0, 64, &CmReq::service_id);
  t.add("local CA GUID", 16, 0, 64, &CmReq::local_ca_guid);
  t.add("local Q_Key", 28, 0, 32, &CmReq::local_qkey);
  t.add("local QPN", 32, 0, 24, &CmReq::local_qpn);
  t.add("responder resources", 35, 0, 8, &CmReq::responder_resources);
  t.add("initiator depth", 39, 0, 8, &CmReq::initiator_depth);
  t.add("remote CM response timeout", 43, 0, 5, &CmReq::remote_cm_response_timeout);
  t.add("transport service type", 43, 5, 2, &CmReq::transport);
  t.add("end-to-end flow control", 43, 7, 1, &CmReq::flow_control);
  t.add("starting PSN", 44, 0, 24, &CmReq::starting_psn);
  t.add("local CM response timeout", 47, 0, 5, &CmReq::local_cm_response_timeout);
  t.add("retry count", 47, 5, 3, &CmReq::retry_count);
  t.add("partition key", 48, 0, 16, &CmReq::pkey);
  t.add("path MTU", 50, 0, 4, &CmReq::path_mtu);
  t.add("RDC exists", 50, 4, 1, &CmReq::rdc_exists);
  t.add("RNR retry count", 50, 5, 3, &CmReq::rnr_retry_count);
  t.add("max CM retries", 51, 0, 4, &CmReq::max_cm_retries);
  t.add("SRQ", 51, 4, 1, &CmReq::srq);
  t.add("extended transport type", 51, 5, 3, &CmReq::extended_transport);
  add_req_path(t, 52, &CmReq::primary);
  add_req_path(t, 96, &CmReq::alternate);
  return t.add("private data", 140, 0, 736, &CmReq::private_data).fields();
}

std::vector<OracleField> mra() {
  return Table<CmMra>{}
      .both_ids()
      .add("message MRAed", 8, 0, 2, &CmMra::answered)
      .add("service timeout", 9, 0, 5, &CmMra::service_timeout)
      .add("private data", 10, 0, 1776, &CmMra::private_data)
      .fields();
}

std::vector<OracleField> rej() {
  return Table<CmRej>{}
      .both_ids()
      .add("message rejected", 8, 0, 2, &CmRej::rejected)
      .add("reason", 10, 0, 16, &CmRej::reason)
      .add("additional information", 12, 0, 576, &CmRej::additional_info)
      .add("private data", 84, 0, 1184, &CmRej::private_data)
      .fields();
}

std::vector<OracleField> rep() {
  Table<CmRep> t;
  t.both_ids();
  t.add("local Q_Key", 8, 0, 32, &CmRep::local_qkey);
  t.add("local QPN", 12, 0, 24, &CmRep::local_qpn);
  t.add("vendor id, high", 15, 0, 8, vendor_bits<CmRep>(16));
  t.add("local EE context number", 16, 0, 24, &CmRep::local_eecn);
  t.add("vendor id, middle", 19, 0, 8, vendor_bits<CmRep>(8));
  t.add("starting PSN", 20, 0, 24, &CmRep::starting_psn);
  t.add("vendor id, low", 23, 0, 8, vendor_bits<CmRep>(0));
  t.add("responder resources", 24, 0, 8, &CmRep::responder_resources);
  t.add("initiator depth", 25, 0, 8, &CmRep::initiator_depth);
  t.add("target ACK delay", 26, 0, 5, &CmRep::target_ack_delay);
  t.add("failover accepted", 26, 5, 2, &CmRep::failover_accepted);
  t.add("end-to-end flow control", 26, 7, 1, &CmRep::flow_control);
  t.add("RNR retry count", 27, 0, 3, &CmRep::rnr_retry_count);
  t.add("SRQ", 27, 3, 1, &CmRep::srq);
  t.add("local CA GUID", 28, 0, 64, &CmRep::local_ca_guid);
  return t.add("private data", 36, 0, 1568, &CmRep::private_data).fields();
}

std::vector<OracleField> rtu() {
  return Table<CmRtu>{}.both_ids().add("private data", 8, 0, 1792, &CmRtu::private_data).fields();
}

std::vector<OracleField> dreq() {
  return Table<CmDreq>{}
      .both_ids()
      .add("remote QPN", 8, 0, 24, &CmDreq::remote_qpn)
      .add("private data", 12, 0, 1760, &CmDreq::private_data)
      .fields();
}

std::vector<OracleField> drep() {
  return Table<CmDrep>{}.both_ids().add("private data", 8, 0, 1792, &CmDrep::private_data).fields();
}

std::vector<OracleField> sidr_req() {
  return Table<CmSidrReq>{}
      .add("request id", 0, 0, 32, &CmSidrReq::request_id)
      .add("partition key", 4, 0, 16, &CmSidrReq::pkey)
      .add("service id", 8, 0, 64, &CmSidrReq::service_id)
      .add("private data", 16, 0, 1728, &CmSidrReq::private_data)
      .fields();
}

std::vector<OracleField> sidr_rep() {
  return Table<CmSidrRep>{}
      .add("request id", 0, 0, 32, &CmSidrRep::request_id)
      .add("status", 4, 0, 8, &CmSidrRep::status)
      .add("vendor id, high", 6, 0, 8, vendor_bits<CmSidrRep>(16))
      .add("vendor id, middle", 7, 0, 8, vendor_bits<CmSidrRep>(8))
      .add("QPN", 8, 0, 24, &CmSidrRep::qpn)
      .add("vendor id, low", 11, 0, 8, vendor_bits<CmSidrRep>(0))
      .add("service id", 12, 0, 64, &CmSidrRep::service_id)
      .add("Q_Key", 20, 0, 32, &CmSidrRep::qkey)
      .add("additional information", 24, 0, 576, &CmSidrRep::additional_info)
      .add("private data", 96, 0, 1088, &CmSidrRep::private_data)
      .fields();
}

std::vector<OracleField> lap() {
  const auto of = [](auto member) { return [=](const CmLap& m) { return m.alternate.*member; }; };
  return Table<CmLap>{}
      .both_ids()
      .add("remote QPN", 12, 0, 24, &CmLap::remote_qpn)
      .add("remote CM response timeout", 15, 0, 5, &CmLap::remote_cm_response_timeout)
      .sent("local LID", 20, 0, 16, kPermissive)
      .sent("remote LID", 22, 0, 16, kPermissive)
      .add("local GID", 24, 0, 128, of(&CmPath::local))
      .add("remote GID", 40, 0, 128, of(&CmPath::remote))
      .add("flow label", 56, 0, 20, of(&CmPath::flow_label))
      .add("traffic class", 59, 0, 8, of(&CmPath::traffic_class))
      .add("hop limit", 60, 0, 8, of(&CmPath::hop_limit))
      .add("packet rate", 61, 2, 6, of(&CmPath::packet_rate))
      .add("SL", 62, 0, 4, of(&CmPath::sl))
      .sent("subnet local", 62, 4, 1, [](const CmLap& m) { return m.alternate.hop_limit < 2; })
      .add("ACK timeout", 63, 0, 5, of(&CmPath::ack_timeout))
      .add("private data", 64, 0, 1344, &CmLap::private_data)
      .fields();
}

std::vector<OracleField> apr() {
  return Table<CmApr>{}
      .both_ids()
      .add("status", 9, 0, 8, &CmApr::status)
      .add("additional information", 12, 0, 576, &CmApr::additional_info)
      .add("private data", 84, 0, 1184, &CmApr::private_data)
      .fields();
}

}  // namespace

std::string bits_of(std::span<const uint8_t> bytes, size_t byte, size_t bit, size_t bits) {
  std::string text;
  for (size_t i = byte * 8 + bit; text.size() < bits; ++i) {
    text += (bytes[i / 8] >> (7 - i % 8) & 1) != 0 ? '1' : '0';
  }
  return text;
}

std::string binary(uint64_t value, size_t bits) {
  std::string text;
  for (size_t i = bits; i-- > 0;) text += i < 64 && (value >> i & 1) != 0 ? '1' : '0';
  return text;
}

std::vector<OracleField> oracle_fields(CmAttribute attribute) {
  switch (attribute) {
    case CmAttribute::kReq:
      return req();
    case CmAttribute::kMra:
      return mra();
    case CmAttribute::kRej:
      return rej();
    case CmAttribute::kRep:
      return rep();
    case CmAttribute::kRtu:
      return rtu();
    case CmAttribute::kDreq:
      return dreq();
    case CmAttribute::kDrep:
      return drep();
    case CmAttribute::kSidrReq:
      return sidr_req();
    case CmAttribute::kSidrRep:
      return sidr_rep();
    case CmAttribute::kLap:
      return lap();
    case CmAttribute::kApr:
      return apr();
  }
  return {};
}

std::optional<OracleLength> oracle_length(CmAttribute attribute) {
  if (attribute == CmAttribute::kRej) return OracleLength{9, 7, 72};
  if (attribute == CmAttribute::kApr) return OracleLength{8, 8, 72};
  if (attribute == CmAttribute::kSidrRep) return OracleLength{5, 8, 72};
  return std::nullopt;
}

std::optional<size_t> oracle_answered(CmAttribute attribute) {
  if (attribute == CmAttribute::kMra || attribute == CmAttribute::kRej) return 8;
  return std::nullopt;
}

MadBytes blank_mad(CmAttribute attribute, uint8_t fill) {
  MadBytes mad{};
  const uint8_t header[24] = {1, 7, 2, 3, 0, 0, 0, 0, 1,
                              2, 3, 4, 5, 6, 7, 8, 0, static_cast<uint8_t>(attribute)};
  std::fill(mad.begin(), mad.end(), fill);
  std::copy(std::begin(header), std::end(header), mad.begin());
  return mad;
}

}  // namespace urxe::test
