// SPDX-License-Identifier: BSD-2-Clause
// urxe_rdma_cm_verify server|client CASE NODE SERVICE [ib]
//
// One side of a case of rdma_cm. The server says "ready" when it listens; NODE is its address for
// both. Ends with 0 where all was as it should be, else says what was not, and ends with 1.
#include <cstdio>
#include <string>

#include "tests/apps/rdma_cm_verify/support.h"

namespace {

using namespace verify;

const Case* find_case(const std::string& name) {
  for (const auto* cases :
       {&kConnectionCases, &kDataCases, &kForkCases, &kKilledCases, &kOptionCases, &kPathCases,
        &kQueuePairCases, &kReplyCases, &kSlowCases}) {
    for (const Case& candidate : *cases) {
      if (candidate.name == name) return &candidate;
    }
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string side = argc > 1 ? argv[1] : "";
  const Case* const found = argc > 2 ? find_case(argv[2]) : nullptr;
  const bool is_server = side == "server";
  const Part part = found == nullptr ? nullptr : is_server ? found->server : found->client;
  if (argc < 5 || (!is_server && side != "client") || part == nullptr) {
    std::fprintf(stderr, "usage: %s server|client CASE NODE SERVICE [ib]\n", argv[0]);
    return 2;
  }
  part(Place{argv[3], argv[4], argc > 5 && std::string(argv[5]) == "ib"});
  return 0;
}
