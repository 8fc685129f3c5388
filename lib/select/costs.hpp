// SPDX-License-Identifier: Apache-2.0
// What a step of k and the storing of a tile cost a CTA, from the device's facts. Numbers of the cost model that are no facts of a data sheet, of costs.cpp, deal.cpp, estimates.cpp and model.cpp, were fitted to times measured on an
// H200 (docs/performance.md, "The cost model, fitted").
#pragma once
#include <limits>

#include "core/config.hpp"

namespace ggemm::select {

// Whether the CUDA cores multiply elements as they are stored: such kernels, from sm_80 on, wait for the products above all.
bool unconverted_f32(const core::ProblemType& type, core::Family family);
// Whether elements are multiplied as they are stored, f64 by tensor cores among them: the copies of some tiles are under way at once.
bool as_stored(const core::ProblemType& type, core::Family family);

// What a cluster takes: clocks of a step of k, and of storing a tile; bytes of its sums that a CTA brings where pieces of a tile meet. Of CTAs of which a multiprocessor has several: how many, which a step's clocks are
// for, and those that it takes however few there are.
struct TileCosts {
  double step, store, sums, at_once = 1, least = 0;
};

// What L2 brings to one multiprocessor, bytes a clock of A and of B; and what one takes by itself, however few ask (no limit: it is not counted).
constexpr double from_l2 = 52;
struct Brought {
  double a = from_l2, b = from_l2, alone_a = std::numeric_limits<double>::infinity(), alone_b = alone_a;
};
// A plain product, or one of a batch, as the kernel sees it. line_a, line_b: bytes from one line to the next; busy: the part of the multiprocessors that has tiles; alone: no batch; readers: CTAs of a GPC that read the same lines of it at about the same time; small: tiles of 64x128 at most.
struct Asked {
  double m, n, k, size, line_a, line_b, busy;
  bool alone;
  double readers_a, readers_b;
  bool small;
};
// Where a product is narrow one way, operands that stay in L2 come faster. Lines that are no multiples of 64 bytes apart come slowly: what the copy engine reads of one is believed to lie in two of L2's (line of 0: unknown, whole).
Brought brought(const Asked& asked);

// A persistent CTA multiplies from a ring that a producer keeps full, so that a step takes what its slowest part takes. c: as the kernel sees it. turned: part of the tiles.
TileCosts tensor_costs(const core::ProblemType& type, const core::Config& c, bool even = false, double turned = 0, const Brought& rates = {});

// The same of a CTA of the other families, of which a multiprocessor has so many at once: they share its units; fills and stores of one hide behind the others' products.
TileCosts loop_costs(const core::ProblemType& type, const core::Config& c, double at_once);

// Slices of k: every CTA writes its sums; then a launch of its own reads those of all pieces, 64 x 8 elements of D at a time, and stores D element by element. values: of D, with its tiles' ends.
double sum_of_slices(double values, double slices, double multiprocessors);

}  // namespace ggemm::select
