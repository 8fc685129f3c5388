// SPDX-License-Identifier: Apache-2.0
// What a capture of a stream makes, for the checks that capture.
#pragma once
#include <functional>

#include "checks.hpp"

namespace ggemm::tests {

// A graph of what `work` puts on the stream.
class Graph {
 public:
  Graph(void* stream, int mode, const std::function<void()>& work) : stream_(stream) {
    cuda::check(cuda::driver().cuStreamBeginCapture_v2(stream, mode), "cuStreamBeginCapture");
    try {
      work();
    } catch (...) {
      cuda::driver().cuStreamEndCapture(stream, &graph_);
      if (graph_) cuda::driver().cuGraphDestroy(graph_);
      throw;
    }
    cuda::check(cuda::driver().cuStreamEndCapture(stream, &graph_), "cuStreamEndCapture");
    cuda::check(cuda::driver().cuGraphGetNodes(graph_, nullptr, &nodes_), "cuGraphGetNodes");
  }
  ~Graph() {
    if (executable_) cuda::driver().cuGraphExecDestroy(executable_);
    cuda::driver().cuGraphDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  std::size_t nodes() const { return nodes_; }
  void replay() {
    if (!executable_) cuda::check(cuda::driver().cuGraphInstantiateWithFlags(&executable_, graph_, 0), "cuGraphInstantiate");
    cuda::check(cuda::driver().cuGraphLaunch(executable_, stream_), "cuGraphLaunch");
  }

 private:
  void *stream_, *graph_ = nullptr, *executable_ = nullptr;
  std::size_t nodes_ = 0;
};

}  // namespace ggemm::tests
