// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lab/lab_environment.h"

#include <cstdlib>
#include <string>

#include "tools/lab/mounts.h"

namespace urxe::lab {

void set_lab_environment(const std::vector<HeldNode>& nodes) {
  publish_nodes(nodes);
  const char* const path = std::getenv("PATH");
  setenv("PATH",
         (std::string(kPrograms) + ":" + (path != nullptr ? path : "/usr/bin:/bin")).c_str(), 1);
  // What urxe writes there would be left behind.
  unsetenv("XDG_RUNTIME_DIR");
  const std::string agent = std::string(kPrograms) + "/ssh";
  // The launchers of Open MPI 4 and before, of Open MPI 5, and of MPICH.
  setenv("OMPI_MCA_plm_rsh_agent", agent.c_str(), 1);
  setenv("PRTE_MCA_plm_ssh_agent", agent.c_str(), 1);
  setenv("HYDRA_LAUNCHER", "ssh", 1);
  setenv("HYDRA_LAUNCHER_EXEC", agent.c_str(), 1);
  // The remote shell passes the environment on; URXE_TREE is another one in each node.
  setenv("HYDRA_ENV", "none", 1);
}

}  // namespace urxe::lab
