# SPDX-License-Identifier: Apache-2.0
# The project's kernels on the emulated GPU (tests/emulator): the GPU suite's own programs, with other libraries for CUDA.
set(GGEMM_EMULATED_SCALE 1 CACHE STRING "Random kernels that the tests run on the emulated GPU, as a multiple of the usual number")
set(emulated ${CMAKE_CURRENT_BINARY_DIR}/emulator/run.sh)
add_dependencies(ggemm_conformance ggemm_fake_driver ggemm_emulated_nvrtc)
add_dependencies(ggemm_gpu_capture ggemm_fake_driver ggemm_emulated_nvrtc)

# ggemm_add_emulated_test(<name> <command>...). One worker, so that a seed gives the same launches in the same order.
function(ggemm_add_emulated_test name)
  add_test(NAME "emulated: ${name}" COMMAND ${emulated} ${ARGN})
  set_tests_properties("emulated: ${name}" PROPERTIES LABELS emulated TIMEOUT 900 ENVIRONMENT GGEMM_EMULATOR_RACES=1)
endfunction()
function(ggemm_add_emulated_kernels name count)
  math(EXPR kernels "${count} * ${GGEMM_EMULATED_SCALE}")
  ggemm_add_emulated_test(${name} $<TARGET_FILE:ggemm_conformance> --device cuda --mode kernels --workers 1 --kernels ${kernels} ${ARGN})
endfunction()

# ------------------------------------------------------------------------------------------- kernels of the whole library
ggemm_add_emulated_kernels("sm90" 48 --family sm90 --per-kernel 4 --work 1000000)
ggemm_add_emulated_kernels("sm80" 14 --family sm80 --per-kernel 4 --work 300000)
ggemm_add_emulated_kernels("simt" 12 --family simt --per-kernel 4 --work 300000)
# Clusters in all directions, two consumers beside each other, rings of two slots; several tiles a CTA, several rounds of the ring.
foreach(config IN ITEMS bf16_bf16_f32_tn_64x64x64_w4x1_s2_c2x2_r2 f16_f16_f32_nn_64x128x64_w4x1_s2_c2x2_r1 e4m3_e5m2_f32_tn_64x64x128_w4x1_s2_c2x2_r2 i8_i8_i32_tn_128x64x128_w8x1_s2_c1x4_r1
                        tf32_tf32_f32_nt_64x128x32_w4x2_s3_c2x1_r4 bf16_bf16_f32_tn_64x64x64_w4x1_s4_c1x1x4_k3_r1 f16_f16_f32_nt_128x128x64_w8x1_s3_c2x1_k4_r2
                        bf16_bf16_f32_tn_64x64x64_w4x1_s4_c2x1x2_r1 bf16_bf16_f32_nt_64x64x64_w4x1_s4_c1x2x4_k2_r1 i8_i8_i32_tn_64x64x128_w4x1_s4_c2x2x2_k2_r1
                        i8_i8_i32_tn_16x64x128_w1x4_s4_c1x1x2_k5_swap_r1 e4m3_e4m3_f32_tn_64x96x128_w4x1_s3_c1x1_k2_r1 bf16_bf16_f32_nt_128x64x64_w8x1_s2_c4x1_r2 bf16_bf16_f32_tt_64x64x64_w1x4_s2_c1x2_swap_r2 bf16_bf16_f32_tn_64x64x64_w4x1x2_s3_c1x1_r2
                        i8_i8_i32_tn_128x64x128_w4x1x2_s2_c2x1_r1 f16_f16_f32_nt_64x128x64_w1x4x2_s3_c1x2_swap_r2)
  ggemm_add_emulated_kernels("sm90_${config}" 1 --config sm90_${config} --per-kernel 4 --sizes 300x333x700 --repeat 2)
endforeach()
# Tiles left over: shared evenly by all clusters, with a wave before or without; a whole number of clusters each; one of them by all; fewer than clusters.
foreach(case IN ITEMS bf16_bf16_f32_tn_64x64x64_w4x1_s2_c1x1_kt_r2:60x830x12300 f16_f16_f32_nt_128x128x64_w8x1_s3_c2x1_kt_r2:300x1000x1600 i8_i8_i32_tn_64x64x128_w4x1_s4_c1x2_kt_r1:300x100x3100
                      e4m3_e4m3_f32_tn_64x96x128_w4x1_s3_c1x1_kt_r1:120x470x3100 i8_i8_i32_tn_16x64x128_w1x4_s4_c1x1_kt_swap_r1:33x190x3100 f32x3_f32x3_f32_tn_64x64x64_w4x1_s3_c1x1_kt_r1:170x150x300
                      f16_f16_f32_nn_64x64x64_w4x1_s4_c1x1_kt_r1:60x60x12300 bf16_bf16_f32_nt_64x64x64_w4x1_s4_c1x1_kt_r1:60x310x6200)
  string(REPLACE ":" ";" case ${case})
  list(GET case 0 config)
  list(GET case 1 sizes)
  ggemm_add_emulated_kernels("sm90_${config}" 1 --config sm90_${config} --per-kernel 4 --sizes ${sizes} --repeat 2)
endforeach()
# Groups, in clusters that turn and in such that do not.
foreach(config IN ITEMS bf16_bf16_f32_tn_128x128x64_w8x1_s6_c2x1_r1 e4m3_e4m3_f32_tn_128x192x128_w8x1_s4_c2x1_r2)
  ggemm_add_emulated_kernels("sm90_${config}, groups" 4 --config sm90_${config} --kind grouped --per-kernel 4 --sizes 100x300x190,300x230x170,270x600x80 --repeat 2)
endforeach()
# Promoted sums, of which registers hold one set besides.
foreach(config IN ITEMS e4m3_e5m2_f32_tn_128x192x128_w8x1_s2_c1x1_r1 e4m3_e4m3_f32_tn_256x128x128_w8x1_s2_c1x2_r1)
  ggemm_add_emulated_kernels("sm90_${config}" 1 --config sm90_${config} --per-kernel 4 --sizes 300x333x700 --repeat 2)
endforeach()
foreach(family sm80 sm90)
  ggemm_add_emulated_kernels("rows by index, ${family}" 8 --family ${family} --kind grouped --rows by-index --per-kernel 4 --work 200000)
endforeach()
# f32 by terms, whose copies are another kernel's; k that ends within a tile, slices of its six products; what is not finite.
foreach(config IN ITEMS f32x3_f32x3_f32_tn_64x64x64_w4x1_s3_c1x1_r1 f32x3_f32x3_f32_nt_128x64x64_w8x1_s2_c2x1_r2 f32x3_f32x3_f32_nn_64x64x64_w4x1_s4_c1x1x4_k3_r1 f32x3_f32x3_f32_tt_16x64x64_w1x4_s4_c1x1_swap_r1)
  ggemm_add_emulated_kernels("sm90_${config}" 1 --config sm90_${config} --per-kernel 6 --sizes 90x150x130 --repeat 2)
endforeach()
ggemm_add_emulated_kernels("copies" 4 --family sm90 --dtype i8 --per-kernel 6 --sizes 300x333x517)
foreach(family simt sm80 sm90)
  ggemm_add_emulated_test("corner cases, ${family}" $<TARGET_FILE:ggemm_conformance> --device cuda --mode degenerate --workers 1 --family ${family} --dtype bf16)
endforeach()
# Tuning verifies what real kernels compute, groups with an empty one included.
if(GGEMM_BUILD_TOOLS)
  ggemm_add_emulated_test("tuning" $<TARGET_FILE:ggemm_cli> tune --device cuda --gemm 100x96x200 --config sm90_bf16_bf16_f32_tn_64x64x64_w4x1_s4_c1x1_r1 sm80_bf16_bf16_f32_tn_64x64x64_w2x2_s3_r1)
  ggemm_add_emulated_test("tuning, grouped" $<TARGET_FILE:ggemm_cli> tune --device cuda --grouped 40x64x128,0x64x128,70x128x64 --dtype e4m3
                          --config sm90_e4m3_e4m3_f32_tn_64x64x128_w4x1_s4_c1x1_r1 simt_e4m3_e4m3_f32_tn_32x32x16_w2x1_s2_r1)
  foreach(form IN ITEMS "" ", grouped")
    set_tests_properties("emulated: tuning${form}" PROPERTIES PASS_REGULAR_EXPRESSION "\\(2 timed, 0 rejected")
  endforeach()
endif()
ggemm_add_emulated_test("CUDA graphs" $<TARGET_FILE:ggemm_gpu_capture> --only "capture and replay with changes: bf16")
ggemm_add_emulated_test("rows of D that meet" $<TARGET_FILE:ggemm_gpu_capture> --only "rows of D that meet are added up as on the host: bf16")
ggemm_add_emulated_test("rows of D that meet, in order" $<TARGET_FILE:ggemm_gpu_capture> --only "rows of D that meet are added up in their order")
ggemm_add_emulated_test("plans in CUDA graphs" $<TARGET_FILE:ggemm_gpu_capture> --only "a plan is captured: bf16")

# --------------------------------------------------------------------------------------------------- kernels that are wrong
# Each change must be noticed, by the emulator or in the result: else the tests above see less than they should.
# ggemm_add_emulated_mutant(<what is wrong> <configuration> <file> <from> <to> <option of ggemm_conformance>...)
function(ggemm_add_emulated_mutant name config file from to)
  ggemm_add_emulated_kernels("noticed: ${name}" 1 --config ${config} --per-kernel 16 --values exact --sizes 300x333x700 --seed 2 ${ARGN})
  set_tests_properties("emulated: noticed: ${name}" PROPERTIES PASS_REGULAR_EXPRESSION "emulated GPU: (kernel|deadlock)|must be exactly"
                       ENVIRONMENT "GGEMM_EMULATOR_RACES=1;GGEMM_EMULATOR_EDIT=${file}=>${from}=>${to}")
endfunction()
set(small sm90_bf16_bf16_f32_tn_64x64x64_w4x1_s2_c1x1_r2)
set(pair sm90_bf16_bf16_f32_tn_64x64x64_w4x1_s2_c2x1_r2)
set(elements simt_f32_f32_f32_tn_64x64x16_w2x2_s4_r1)
set(multistage sm80_bf16_bf16_f32_tn_64x64x64_w2x2_s4_r1)
set(sliced sm90_bf16_bf16_f32_tn_64x64x64_w4x1_s2_c1x1_k3_r2)
set(listed sm90_bf16_bf16_f32_tn_64x64x64_w4x1_s8_c1x1_r1)
set(teams sm90_bf16_bf16_f32_tn_64x64x64_w4x1x2_s2_c1x1_r2)
set(tail sm90_bf16_bf16_f32_tn_64x64x64_w4x1_s2_c1x1_kt_r2)
ggemm_add_emulated_mutant("a slot is released while its products read it" ${small} mainloop/wgmma.cuh "release(ring, former)" "release(ring, at.slot)")
ggemm_add_emulated_mutant("products are not waited for" ${small} mainloop/wgmma.cuh "ptx::wgmma_wait<1>()" "")
ggemm_add_emulated_mutant("the ring is filled before it is empty" ${small} mainloop/wgmma.cuh "ring.wait_empty(at)" "")
ggemm_add_emulated_mutant("the ring is read before it is full" ${small} mainloop/wgmma.cuh "ring.wait_full(at)" "")
ggemm_add_emulated_mutant("a phase's parity is wrong" ${small} pipeline/ring.cuh "at.phase ^ 1" "at.phase")
ggemm_add_emulated_mutant("stores are not waited for" ${small} epilogue/staged.cuh "ptx::store_wait_read<store_slots - 1>()" "(void)0")
ggemm_add_emulated_mutant("stores are not fenced" ${small} epilogue/staged.cuh "ptx::fence_async()" "(void)0")
ggemm_add_emulated_mutant("a CTA leaves before others arrive at its barriers" ${pair} sm90.cu "if constexpr (Mainloop::CLUSTER > 1) {" "if constexpr (false) {")
ggemm_add_emulated_mutant("a barrier of a cluster is used before it is made" ${pair} sm90.cu "ptx::cluster_sync()" "__syncthreads()")
ggemm_add_emulated_mutant("a cluster that has turned shares its columns" ${pair} mainloop/wgmma.cuh "if (TURNS && turned) TileB" "if (false) TileB" --sizes 60x100x90)
ggemm_add_emulated_mutant("groups' clusters do not say that they have turned" sm90_bf16_bf16_f32_tn_128x128x64_w8x1_s6_c2x1_r1 scheduler/board.cuh "note.turned = tile.turned" "note.turned = 0" --kind grouped --sizes 100x300x90,300x200x70)
ggemm_add_emulated_mutant("a slot is released before its lower rows are multiplied" sm90_e4m3_e4m3_f32_tn_256x128x128_w8x1_s2_c1x2_r1 mainloop/wgmma.cuh "if (b == BLOCKS - 1) release" "if (b == 0) release")
ggemm_add_emulated_mutant("a slice goes to the wrong place" ${pair} mainloop/wgmma.cuh "0 : slice * HEIGHT" "0 : 0")
ggemm_add_emulated_mutant("copied words are not moved into place" ${small} repack.cu "static_cast<u32>(8 * shift)" "0u")
ggemm_add_emulated_mutant("copies of operands are not waited for" ${small} sm90.cu "ptx::launch_wait()" "(void)0")
ggemm_add_emulated_mutant("groups' records are not waited for" ${listed} sm90.cu "ptx::launch_wait()" "(void)0" --kind grouped)
ggemm_add_emulated_mutant("terms are paired wrongly" sm90_f32x3_f32x3_f32_tn_64x64x64_w4x1_s3_c1x1_r1 tile/terms.cuh "0x001102 >> 4 * product & 15" "0")
ggemm_add_emulated_mutant("a team does not wait for its turn" ${teams} sm90.cu "cta.turns.wait(own)" "(void)own")
ggemm_add_emulated_mutant("a slice's sums are added twice" ${sliced} epilogue/slices.cuh "u32 i = all ? 1 : 0" "u32 i = 0")
ggemm_add_emulated_mutant("the counter of slices is not 0 again" ${sliced} epilogue/slices.cuh "count_arrival(arrivals, others) == others" "count_arrival(arrivals, others + 1) == others")
ggemm_add_emulated_mutant("sums that stay are added once more" ${tail} epilogue/slices.cuh "piece >= own ? 1 : 0" "0" --sizes 60x690x3100)
ggemm_add_emulated_mutant("who writes nothing does not count" ${tail} epilogue/slices.cuh "if (thread == 0) ptx::count_arrival(arrivals, others)" "" --sizes 60x690x3100)
ggemm_add_emulated_mutant("a share begins where its tile does" ${tail} tile/depth.cuh "tile == begin.tile ? begin.step : 0" "0u" --sizes 60x690x3100)
ggemm_add_emulated_mutant("pieces of two tiles have one place" ${tail} tile/depth.cuh "deal.sharers % deal.cut ? cell : 0" "0u" --sizes 60x310x6200)
ggemm_add_emulated_mutant("copies are waited for too late" ${multistage} mainloop/multistage.cuh "cp_async_wait<T::STAGES - 2>" "cp_async_wait<T::STAGES - 1>")
ggemm_add_emulated_mutant("copies are waited for too late, CUDA cores" ${elements} mainloop/simt.cuh "cp_async_wait<T::STAGES - 2>" "cp_async_wait<T::STAGES - 1>")
ggemm_add_emulated_mutant("the last tile's depth is not cut off, CUDA cores" ${elements} pipeline/element_copy.cuh "k < depth && line_.has(mn)" "line_.has(mn)")
# Seeds that draw a kernel of rows of A, of D, by index.
set(gathered --kind grouped --rows by-index --seed 8 --per-kernel 4)
set(scattered --kind grouped --rows by-index --seed 10)
ggemm_add_emulated_mutant("a row that is nowhere is read" ${multistage} pipeline/copy.cuh "NOWHERE : at" "0 : at" ${gathered})
ggemm_add_emulated_mutant("rows are used before they are looked up" ${listed} mainloop/wgmma.cuh "all_threads()" "(void)0" ${gathered})
ggemm_add_emulated_mutant("a row of D that is nowhere is stored" ${listed} epilogue/staged.cuh "if (line < 0) continue" "(void)0" ${scattered})
ggemm_add_emulated_mutant("a tile's end is not cut off" ${multistage} pipeline/copy.cuh "outer_stride_, i * ROW_STEP < rows" "outer_stride_, true")
# Lines of any alignment, of groups.
set(lines ${listed} pipeline/line_copy.cuh)
ggemm_add_emulated_mutant("lines are not moved to their place" ${lines} "joined(in[i], in[i + 1], off)" "in[i]" --kind grouped)
ggemm_add_emulated_mutant("the end of the tile before is not gathered" ${lines} "? 0 : -16" "? 0 : 0" --kind grouped --sizes 16x193x129 --seed 21)
ggemm_add_emulated_mutant("the next tile's lines are not waited for" ${listed} mainloop/wgmma.cuh "ptx::cp_async_wait<AHEAD - 1>()" "ptx::cp_async_wait<AHEAD>()" --kind grouped)
ggemm_add_emulated_mutant("operands are described while others are read" ${listed} mainloop/wgmma.cuh "if (tiles == 0) return" "if (tiles < 0) return" --kind grouped --sizes 30x33x0,130x33x0)
ggemm_add_emulated_mutant("the end of a line along n is not brought" sm90_bf16_bf16_f32_nt_64x64x64_w4x1_s8_c1x1_r1 pipeline/line_copy.cuh "else if (valid + off > LINE)" "else if (valid + off > 2 * LINE)" --kind grouped)
ggemm_add_emulated_mutant("CTAs that share k begin at the same place" sm90_bf16_bf16_f32_tn_64x64x64_w4x1_s4_c1x1x4_r1 mainloop/wgmma.cuh "all.first + own, (all" "all.first, (all")
