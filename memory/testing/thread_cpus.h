// On which CPUs threads may run, from the kernel's own account.
#pragma once

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace penstock {

// "0-3,8"; empty if the thread is gone. `task` is its folder below /proc.
inline std::string CpusOfThread(const std::string& task) {
  const std::string key = "Cpus_allowed_list:\t";
  std::ifstream status(task + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(key, 0) == 0) return line.substr(key.size());
  }
  return "";
}

inline std::string CpusOfThisThread() { return CpusOfThread("/proc/thread-self"); }

// Of each thread of this process that has this name.
inline std::multiset<std::string> CpusOfThreads(const std::string& name) {
  std::multiset<std::string> cpus;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream comm(task.path() / "comm");
    std::string line;
    if (std::getline(comm, line) && line == name) cpus.insert(CpusOfThread(task.path()));
  }
  return cpus;
}

}  // namespace penstock
