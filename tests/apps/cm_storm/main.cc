// SPDX-License-Identifier: BSD-2-Clause
// Many connections at once, by stock librdmacm.
//
// urxe_cm_storm server SERVICE NODE... [--backlog N] [--reject-every N]
// urxe_cm_storm client SERVICE NODE... [--connects N] [--at-once N] [--send] [--until-killed]
//     [--hold]: a round's connections until SIGTERM, with a message over each at each SIGUSR1

#include <cstdlib>
#include <cstring>

#include "tests/apps/cm_storm/storm.h"

namespace {

storm::Options parse(int argc, char** argv) {
  if (argc < 4) storm::fail("usage: server|client SERVICE NODE... [OPTION...]");
  storm::Options options;
  options.is_server = std::strcmp(argv[1], "server") == 0;
  options.service = argv[2];
  for (int i = 3; i < argc; ++i) {
    const std::string word = argv[i];
    const auto number = [&] {
      if (++i == argc) storm::fail(word + " needs a number");
      return std::atoi(argv[i]);
    };
    if (word == "--backlog") {
      options.backlog = number();
    } else if (word == "--reject-every") {
      options.reject_every = number();
    } else if (word == "--connects") {
      options.connects = number();
    } else if (word == "--at-once") {
      options.at_once = number();
    } else if (word == "--send") {
      options.sends = true;
    } else if (word == "--hold") {
      options.holds = true;
    } else if (word == "--until-killed") {
      options.until_killed = true;
    } else if (word[0] == '-') {
      storm::fail("no option " + word);
    } else {
      options.nodes.push_back(word);
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const storm::Options options = parse(argc, argv);
  return options.is_server ? storm::run_server(options) : storm::run_client(options);
}
