// SPDX-License-Identifier: BSD-2-Clause
#include "tests/apps/cm_storm/storm.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace storm {
namespace {

long entries(const char* directory) {
  DIR* dir = need_object(opendir(directory), directory);
  long count = 0;
  while (const dirent* entry = readdir(dir)) count += entry->d_name[0] != '.';
  closedir(dir);
  return count;
}

constexpr int kQueueEntries = 60000;

}  // namespace

void fail(const std::string& what) {
  std::fprintf(stderr, "urxe_cm_storm: %s\n", what.c_str());
  std::exit(1);
}

void need(int result, const char* what) {
  if (result != 0) fail(std::string(what) + ": " + std::strerror(errno));
}

Footprint footprint() {
  Footprint f;
  f.descriptors = entries("/proc/self/fd");
  f.threads = entries("/proc/self/task");
  FILE* file = need_object(std::fopen("/proc/self/statm", "r"), "/proc/self/statm");
  long size = 0;
  if (std::fscanf(file, "%ld %ld", &size, &f.resident_kb) != 2) fail("cannot read statm");
  std::fclose(file);
  f.resident_kb *= sysconf(_SC_PAGESIZE) / 1024;
  return f;
}

std::string to_json(const Footprint& f) {
  return "{\"descriptors\": " + std::to_string(f.descriptors) +
         ", \"threads\": " + std::to_string(f.threads) +
         ", \"resident_kb\": " + std::to_string(f.resident_kb) + "}";
}

Shared& Resources::of(ibv_context* device) {
  auto [entry, is_new] = devices_.try_emplace(device);
  Shared& shared = entry->second;
  if (!is_new) return shared;
  shared.pd = need_object(ibv_alloc_pd(device), "ibv_alloc_pd");
  ibv_device_attr limits{};
  if (ibv_query_device(device, &limits) != 0) fail("ibv_query_device fails");
  const int entries = std::min(kQueueEntries, limits.max_cqe);
  shared.cq = need_object(ibv_create_cq(device, entries, nullptr, nullptr, 0), "ibv_create_cq");
  ibv_srq_init_attr attributes{};
  const int receives = std::min(kReceives, limits.max_srq_wr);
  attributes.attr.max_wr = static_cast<uint32_t>(receives);
  attributes.attr.max_sge = 1;
  shared.srq = need_object(ibv_create_srq(shared.pd, &attributes), "ibv_create_srq");
  shared.mr = need_object(ibv_reg_mr(shared.pd, buffer_, sizeof buffer_, IBV_ACCESS_LOCAL_WRITE),
                          "ibv_reg_mr");
  for (int i = 0; i < receives; ++i) post_receive(shared);
  return shared;
}

void Resources::post_receive(Shared& shared) {
  ibv_sge sge{reinterpret_cast<uintptr_t>(buffer_), kMessage, shared.mr->lkey};
  ibv_recv_wr work{};
  work.sg_list = &sge;
  work.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  errno = ibv_post_srq_recv(shared.srq, &work, &bad);
  need(errno != 0 ? -1 : 0, "ibv_post_srq_recv");
}

void Resources::create_qp(rdma_cm_id* id) {
  const Shared& shared = of(id->verbs);
  ibv_qp_init_attr attributes{};
  attributes.qp_type = IBV_QPT_RC;
  attributes.send_cq = attributes.recv_cq = shared.cq;
  attributes.srq = shared.srq;
  attributes.cap.max_send_wr = 2;
  attributes.cap.max_send_sge = 1;
  attributes.sq_sig_all = 1;
  need(rdma_create_qp(id, shared.pd, &attributes), "rdma_create_qp");
}

void Resources::post_send(rdma_cm_id* id) {
  const Shared& shared = of(id->verbs);
  ibv_sge sge{reinterpret_cast<uintptr_t>(buffer_), kMessage, shared.mr->lkey};
  ibv_send_wr work{};
  work.wr_id = reinterpret_cast<uintptr_t>(id);
  work.sg_list = &sge;
  work.num_sge = 1;
  work.opcode = IBV_WR_SEND;
  ibv_send_wr* bad = nullptr;
  errno = ibv_post_send(id->qp, &work, &bad);
  need(errno != 0 ? -1 : 0, "ibv_post_send");
}

int Resources::poll() {
  int completed = 0;
  for (auto& [device, shared] : devices_) {
    ibv_wc wc[32];
    int count = 0;
    while ((count = ibv_poll_cq(shared.cq, 32, wc)) > 0) {
      for (int i = 0; i < count; ++i) {
        if (wc[i].status != IBV_WC_SUCCESS) continue;
        if (wc[i].opcode == IBV_WC_RECV) post_receive(shared);
        ++completed;
      }
    }
    if (count < 0) fail("ibv_poll_cq failed");
  }
  return completed;
}

int signal_descriptor() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGUSR1);
  need(sigprocmask(SIG_BLOCK, &signals, nullptr), "sigprocmask");
  const int descriptor = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  need(descriptor < 0 ? -1 : 0, "signalfd");
  return descriptor;
}

int take_signal(int descriptor) {
  signalfd_siginfo information{};
  if (read(descriptor, &information, sizeof information) != sizeof information) return 0;
  return static_cast<int>(information.ssi_signo);
}

void set_nonblocking(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFL);
  need(fcntl(descriptor, F_SETFL, flags | O_NONBLOCK), "fcntl");
}

}  // namespace storm
