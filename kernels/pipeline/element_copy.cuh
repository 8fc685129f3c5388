// SPDX-License-Identifier: Apache-2.0
// An operand's way from global memory to shared memory where elements stay as they are but may change their order: in shared memory successive k lie PITCH elements
// apart, whichever index is contiguous in global memory. By cp.async of single elements (4 or 8 bytes), which takes any base and strides; of 16 bytes where m or n
// is contiguous and lines lie at multiples of that. Elements outside the operand are never read; zeros take their place.
#pragma once
#include "ptx/async.cuh"
#include "ptx/memory.cuh"

namespace ggemm::kernels {

// Of SPAN rows (columns) by BK of k. Line: has(mn), and at(mn), which row (column) of the operand is the tile's mn-th; ORDERED: it is the mn-th. OPERAND tells A's
// from B's.
template <int OPERAND, class Element, bool MN_MAJOR, int SPAN, int BK, int PITCH, int THREADS, int PARTS, class Line, bool ORDERED>
class ElementCopy {
  static constexpr int SIZE = sizeof(Element), CHUNK = 16 / SIZE;
  // Threads side by side in a line of global memory. Along k 8, and the warp's others in successive lines: their elements lie in different banks then.
  GG_HD static constexpr int lanes(int width) { return !MN_MAJOR ? 8 : SPAN / width < THREADS ? SPAN / width : THREADS; }
  static constexpr int INNER = MN_MAJOR ? SPAN : BK, OUTER = MN_MAJOR ? BK : SPAN;
  GG_HD static constexpr bool divides(int width) {
    const int n = lanes(width);
    return INNER % (n * width) == 0 && THREADS % n == 0 && OUTER % (THREADS / n) == 0;
  }
  enum class Way : i32 { chunks, lines, elements };

 public:
  // data: the tile's first element at k = 0 (if not ORDERED, the operand's). Strides in elements. left: rows (columns) from there, SPAN at most. A barrier must follow.
  GG_DEVICE ElementCopy(const Element* data, i64 mn_stride, i64 k_stride, Line line, i32 left) : line_(line), left_(left) {
    if (thread() == 0) source() = {data, mn_stride, k_stride};
    const bool unit = ORDERED && (MN_MAJOR ? mn_stride : k_stride) == 1;
    const bool aligned = ((reinterpret_cast<u64>(data) | static_cast<u64>(k_stride * SIZE)) & 15) == 0 && left % CHUNK == 0;
    way_ = !unit ? Way::elements : MN_MAJOR && divides(CHUNK) && aligned ? Way::chunks : divides(1) ? Way::lines : Way::elements;
    const i64 stride = MN_MAJOR ? k_stride : mn_stride;
    const bool chunks = way_ == Way::chunks;
    next_ = data + (chunks ? Lines<CHUNK>::outer() : Lines<1>::outer()) * stride + (chunks ? Lines<CHUNK>::inner() : Lines<1>::inner());
    step_ = ptx::renewed(stride * (chunks ? Lines<CHUNK>::STEP : Lines<1>::STEP));
  }

  // Starts part `part` of the copy of the next tile, number `tile` along k and `depth` deep (0 to BK), to `slot`; moves on with the last part.
  GG_DEVICE void issue(Element* slot, i32 tile, i32 depth, int part) {
    // Along k a thread has many copies, which are spread over the parts, without branches; else few.
    if constexpr (!MN_MAJOR && divides(1)) issue_lines<1>(slot, part, way_ == Way::lines && depth == BK);
    if (part == 0 && depth > 0) {
      if (way_ == Way::elements || depth < BK) issue_elements(slot, i64(tile) * BK, depth);
      else if constexpr (MN_MAJOR) issue_all(slot);
    }
    if constexpr (!MN_MAJOR)
      if (part == PARTS - 1) next_ += BK - Lines<1>::PASSES * step_;
  }

 private:
  // How the threads share a tile WIDTH elements at a time: LANES of them in a line, a STEP of lines at once.
  template <int WIDTH>
  struct Lines {
    static constexpr int LANES = lanes(WIDTH), ACROSS = INNER / (LANES * WIDTH), STEP = THREADS / LANES, PASSES = OUTER / STEP;
    GG_DEVICE static int outer() { return thread() / LANES; }
    GG_DEVICE static int inner() { return thread() % LANES * WIDTH; }
  };
  GG_DEVICE static int thread() { return static_cast<int>(threadIdx.x); }

  GG_DEVICE void issue_all(Element* slot) {
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
      if constexpr (divides(CHUNK))
        if (way_ == Way::chunks) issue_lines<CHUNK>(slot, part, true);
      if constexpr (divides(1))
        if (way_ == Way::lines) issue_lines<1>(slot, part, true);
    }
  }

  // All of k is there.
  template <int WIDTH>
  GG_DEVICE void issue_lines(Element* slot, int part, bool active) {
    using L = Lines<WIDTH>;
    const int left = ptx::renewed(left_ - (MN_MAJOR ? L::inner() : L::outer()));  // compare anew each time: predicates kept through the mainloop would spill
    const u32 target = ptx::shared_address(slot + (MN_MAJOR ? L::outer() * PITCH + L::inner() : L::inner() * PITCH + L::outer()));
#pragma unroll
    for (int i = 0; i < L::PASSES; ++i)
      if (i * PARTS / L::PASSES == part) {
#pragma unroll
        for (int a = 0; a < L::ACROSS; ++a) {
          const int across = a * L::LANES * WIDTH, down = i * L::STEP;
          if (active) ptx::cp_async<WIDTH * SIZE>(target + (MN_MAJOR ? down * PITCH + across : across * PITCH + down) * SIZE, next_ + across, (MN_MAJOR ? across : down) < left);
        }
        next_ = ptx::renewed(next_ + step_);  // one after the other: all of a tile's addresses do not fit in registers
      }
  }

  GG_DEVICE void issue_elements(Element* slot, i64 first, i32 depth) const {
    const Source from = source();
#pragma unroll 1
    for (int e = thread(); e < SPAN * BK; e += THREADS) {
      const int mn = MN_MAJOR ? e % SPAN : e / BK, k = MN_MAJOR ? e / SPAN : e % BK;
      const bool on = k < depth && line_.has(mn);
      ptx::cp_async<SIZE>(ptx::shared_address(slot + k * PITCH + mn), on ? from.data + line_.at(mn) * from.mn_stride + (first + k) * from.k_stride : from.data, on);
    }
  }

  // What copies of elements need alone rests in shared memory: registers are dear here.
  struct Source {
    const Element* data;
    i64 mn_stride, k_stride;
  };
  GG_DEVICE static Source& source() {
    __shared__ Source shared;
    return shared;
  }

  const Element* next_;  // this thread's next copy of a line
  i64 step_;             // from there to the one after
  Line line_;
  i32 left_;
  Way way_;
};

}  // namespace ggemm::kernels
