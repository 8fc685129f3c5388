// SPDX-License-Identifier: Apache-2.0
// From a kernel's name and defines to a cubin: disk cache, else NVRTC. NVRTC is not loaded on a cache hit.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/disk.hpp"
#include "core/embedded.hpp"
#include "core/log.hpp"

namespace ggemm::jit {

// One kernel to compile. The root is a file of kernels/, such as "sm80.cu"; the defines make it this kernel.
struct Request {
  std::string name;  // of the configuration and of the kernel's symbol
  std::string root;
  std::vector<std::pair<std::string, std::string>> defines;
  std::string arch;  // "sm_90a"
};

struct Cubin {
  std::string bytes;
  std::string nvrtc;       // version that made it
  bool from_disk = false;
  double seconds = 0;      // spent here
  std::string complaint;   // ptxas's word that it runs wgmma one after the other; "": it does not
  std::string log;         // NVRTC's and ptxas's words, when it was compiled here; of registers and spills only with Options::verbose
};

struct Options {
  std::string nvrtc_path;      // "": search
  int driver_version = 0;      // an NVRTC of a newer major version than this is passed over; 0: any
  bool verbose = false;        // ptxas -v, so that the log names registers and spills; such a compile leaves the disk cache alone
  int compute_capability = 0;  // an NVRTC that does not compile for it is passed over; 0: any
};

class Jit {
 public:
  Jit(Options options, std::shared_ptr<core::Disk> disk, const core::Log& log);
  ~Jit();
  // Thread-safe, and parallel for different requests. Throws GGEMM_ERROR_COMPILE: NVRTC's log, or every path tried when there is no NVRTC.
  // anew: as if the disk cache had none; the new one takes that one's place.
  Cubin get(const Request& request, bool anew = false) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The key text of a cubin in the disk cache: source hash, options, arch, schema.
std::string cubin_key(const Request& request);
// Messages of ptxas that make a configuration unfit: spills, and the codes by which it says that wgmma was serialised or setmaxnreg ignored. "" if there are none.
std::string ptxas_complaint(const std::string& log);

// The first of those of wgmma, from its code on; "" if there is none.
std::string serialised_wgmma(const std::string& log);

// What ggemm_diagnose says of NVRTC; never throws.
struct NvrtcReport {
  bool found = false;
  std::string version, path, detail;
};
NvrtcReport diagnose(const Options& options);

// The kernels' sources, embedded at build time. Made by cmake/embed.cmake.
using core::EmbeddedFile;  // named relative to kernels/
const std::vector<EmbeddedFile>& embedded_files();
// XXH3-128 over all names and texts, in hexadecimal.
const std::string& embedded_hash();

}  // namespace ggemm::jit
