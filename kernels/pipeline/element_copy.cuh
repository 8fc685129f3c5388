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
  // Along k single elements, else 16 bytes: the way that is taken without branches, or 0.
  static constexpr int FAST = MN_MAJOR ? (divides(CHUNK) ? CHUNK : 0) : divides(1);
  enum class Way : i32 { fast, lines, elements };

 public:
  // data: the tile's first element at k = 0 (if not ORDERED, the operand's). Strides in elements. left: rows (columns) from there, SPAN at most. A barrier must follow.
  GG_DEVICE ElementCopy(const Element* data, i64 mn_stride, i64 k_stride, Line line, i32 left) : line_(line), left_(left) {
    if (thread() == 0) source() = {data, mn_stride, k_stride};
    const bool unit = ORDERED && (MN_MAJOR ? mn_stride : k_stride) == 1;
    const bool aligned = !MN_MAJOR || (((reinterpret_cast<u64>(data) | static_cast<u64>(k_stride * SIZE)) & 15) == 0 && left % CHUNK == 0);
    way_ = unit && FAST && aligned ? Way::fast : unit && MN_MAJOR && divides(1) ? Way::lines : Way::elements;
    if constexpr (FAST) {
      using L = Lines<FAST>;
      const i64 stride = MN_MAJOR ? k_stride : mn_stride;
      step_ = ptx::renewed(stride * L::STEP);
      next_ = data + L::outer() * stride + L::inner() - between();
    }
  }

  // Before the parts of a tile.
  GG_DEVICE void begin() {
    if constexpr (FAST) next_ += between();
  }
  // Starts the copy of tile number `tile` along k, `depth` deep (0 to BK), to `slot` if it does not go the fast way.
  GG_DEVICE void start(Element* slot, i32 tile, i32 depth) const {
    if (depth <= 0 || (way_ == Way::fast && depth == BK)) return;
    if constexpr (MN_MAJOR && divides(1))
      if (way_ == Way::lines && depth == BK) return copy_lines(slot, tile);
    copy_elements(slot, i64(tile) * BK, depth);
  }
  // Starts part `part` of the tile's copy if it goes the fast way.
  GG_DEVICE void issue(Element* slot, i32 depth, int part) {
    if constexpr (FAST) {
      using L = Lines<FAST>;
      constexpr int COUNT = L::PASSES % PARTS == 0 ? L::PASSES / PARTS : L::PASSES < PARTS ? 1 : L::PASSES;  // of lines in a part that has any
      if (part * COUNT < L::PASSES) issue_lines<FAST, COUNT>(slot, part * COUNT, next_, step_, way_ == Way::fast && depth == BK);
    }
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

  // From where a tile's copies end to where the next one's begin.
  GG_DEVICE i64 between() const { return MN_MAJOR ? 0 : BK - Lines<FAST>::PASSES * step_; }

  // COUNT of this thread's lines, from its line `first` of the tile, at `next`, on.
  template <int WIDTH, int COUNT>
  GG_DEVICE void issue_lines(Element* slot, int first, const Element*& next, i64 step, bool active) const {
    using L = Lines<WIDTH>;
    const int outer = L::outer() + first * L::STEP;
    const int left = ptx::renewed(left_ - (MN_MAJOR ? L::inner() : outer));  // compare anew each time: predicates kept through the mainloop would spill
    const u32 target = ptx::shared_address(slot + (MN_MAJOR ? outer * PITCH + L::inner() : L::inner() * PITCH + outer));
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
#pragma unroll
      for (int a = 0; a < L::ACROSS; ++a) {
        const int across = a * L::LANES * WIDTH, down = i * L::STEP;
        if (active) ptx::cp_async<WIDTH * SIZE>(target + (MN_MAJOR ? down * PITCH + across : across * PITCH + down) * SIZE, next + across, (MN_MAJOR ? across : down) < left);
      }
      next = ptx::renewed(next + step);  // one after the other: all of a tile's addresses do not fit in registers
    }
  }

  GG_DEVICE void copy_lines(Element* slot, i32 tile) const {
    using L = Lines<1>;
    const Source from = source();
    const Element* next = from.data + (i64(tile) * BK + L::outer()) * from.k_stride + L::inner();
    issue_lines<1, L::PASSES>(slot, 0, next, L::STEP * from.k_stride, true);
  }

  GG_DEVICE void copy_elements(Element* slot, i64 first, i32 depth) const {
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

  const Element* next_;  // this thread's next copy of a line, on the fast way
  i64 step_;             // from there to the one after
  Line line_;
  i32 left_;
  Way way_;
};

}  // namespace ggemm::kernels
