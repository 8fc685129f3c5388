# SPDX-License-Identifier: Apache-2.0
# What run.sh runs besides random kernels, and fill.sh compiles ahead: options of ggemm_conformance. More than 128 sums a thread, by turns; and what a tile stores waits for the next one's products. Sizes
# with which the copy engine brings C. Scales by blocks and by rows. Not many random kernels or products have these.
chosen=()
for config in bf16_bf16_f32_tn_128x176x64_w4x1x2_s5_c2x1_r4 bf16_bf16_f32_nt_128x176x64_w4x1x2_s5_c2x1_r4 bf16_bf16_f32_tt_176x128x64_w1x4x2_s5_c1x2_swap_r4 f16_f16_f32_tn_128x256x64_w8x1_s4_c2x1_r4 bf16_bf16_f32_tt_128x256x64_w8x1_s4_c1x1_kt_r4; do
  chosen+=("--kind plain --epilogue bare --config sm90_$config --per-kernel 8 --sizes 2700x5100x330")
done
for config in bf16_bf16_f32_tn_128x256x64_w8x1_s4_c2x1_r4 f16_f16_f32_nn_256x128x64_w8x1_s4_c1x2_r4 bf16_bf16_f32_tn_128x128x64_w8x1_s6_c1x1_r4; do
  chosen+=("--kind grouped --epilogue bare --config sm90_$config --per-kernel 40")
done
# The largest tiles of groups, some of them cut along k.
for options in "bf16_bf16_f32_tn_128x256x64_w8x1_s4_c2x1_kt_r4 --sizes 1500x1000x4100,0x1000x4100,3x1000x4100" "f16_f16_f32_nt_128x256x64_w8x1_s4_c2x1_kt_r2 --sizes 300x1024x3904,1200x1024x3904" "e4m3_e4m3_f32_tn_128x192x128_w8x1_s4_c2x1_kt_r4 --sizes 700x992x7424,3x992x7424 --scales 1x128,128x128"; do
  chosen+=("--kind grouped --epilogue bare --config sm90_$options --per-kernel 6")
done
# One round of small tiles, in clusters of four that bring for each other both ways, or one; sizes in between; slices of wide tiles.
for options in bf16_bf16_f32_tn_64x64x64_w4x1_s8_c2x2_r4 bf16_bf16_f32_nn_64x64x64_w1x4_s8_c4x1_swap_r4 f16_f16_f32_tt_64x64x64_w1x4_s8_c1x4_swap_r4 bf16_bf16_f32_nt_64x96x64_w4x1_s8_c4x1_r4 bf16_bf16_f32_tn_96x64x64_w1x4_s8_c1x4_swap_r4 \
  bf16_bf16_f32_tt_64x128x64_w4x1_s8_c1x4_r4 bf16_bf16_f32_nn_64x192x64_w4x1_s6_c2x2_r4 f16_f16_f32_tn_64x192x64_w4x1_s6_c1x1_r4 bf16_bf16_f32_tn_64x80x64_w4x1_s10_c1x2_r4 bf16_bf16_f32_tn_80x64x64_w1x4_s10_c2x2_swap_r4 bf16_bf16_f32_tn_144x64x64_w1x4_s7_c1x1_swap_r4 \
  f16_f16_f32_nn_128x96x64_w8x1_s6_c1x2_r4 bf16_bf16_f32_tn_128x160x64_w8x1_s5_c2x1_k3_r4 e4m3_e4m3_f32_tn_64x64x128_w4x1_s8_c2x2_r4 e4m3_e4m3_f32_nt_64x192x128_w4x1_s6_c2x2_r4 i8_i8_i32_tn_80x64x128_w1x4_s10_c2x2_swap_r4 tf32_tf32_f32_tn_64x96x32_w4x1_s8_c4x1_r4 \
  bf16_bf16_f32_tt_80x64x64_w1x4_s10_c1x1_swap_r4 "e4m3_e4m3_f32_tn_64x128x128_w4x1_s7_c1x4_r4 --scales 1x128,128x128" "e4m3_e4m3_f32_tn_64x192x128_w4x1_s6_c1x1_r4 --scales 1x128,128x128" "e4m3_e4m3_f32_tn_144x64x128_w1x4_s7_c1x1_swap_r4 --scales 1x128,128x128" \
  "e4m3_e4m3_f32_tn_128x160x128_w8x1_s5_c2x1_k3_r4 --scales 1x128,128x128"; do
  chosen+=("--kind plain --config sm90_$options --per-kernel 10")
done
# Few columns; f32 in long tiles, and in small ones of which one is cut into hundreds of pieces; f32 as f64.
for options in sm90_bf16_bf16_f32_tn_64x16x64_w4x1_s8_c1x1_r4 sm90_f16_f16_f32_nn_64x32x64_w4x1_s8_c1x1x2_r4 sm90_i8_i8_i32_tn_64x32x128_w4x1_s8_c1x1_r1 sm90_e4m3_e4m3_f32_tn_64x16x128_w4x1_s8_c1x1x4_r4 \
  "sm90_e4m3_e4m3_f32_tn_64x32x128_w4x1_s8_c1x1x2_r2 --scales 1x128,128x128" sm90_f32x3_f32x3_f32_nn_64x16x64_w4x1_s6_c1x1x2_r1 sm90_tf32_tf32_f32_tn_64x32x32_w4x1_s8_c1x1_r4 simt_f32_f32_f32_tt_256x16x16_w4x1_s3_r8 simt_f32_f32_f32_tn_16x256x16_w1x4_s3_r1 \
  simt_f32_f32_f32_nt_128x16x32_w4x1_s3_kt_r4 simt_f32_f32_f32_tn_16x128x32_w1x4_s3_kt_r1 simt_f32_f32_f32_tt_64x16x32_w4x1_s4_kt_r8 simt_f32_f32_f32_nn_32x128x16_w1x4_s4_kt_r2 simt_f32_f32_f32_tt_128x32x16_w4x1_s4_kt_r2 \
  "simt_f32_f32_f32_nt_16x32x64_w2x1_s4_kt_r1 --sizes 13x30x200001" "simt_f32_f32_f32_nt_32x32x64_w2x2_s3_kt_r1 --sizes 31x29x100003" "sm80_f64_f64_f64_nt_32x32x32_w2x2_s4_kt_r1 --sizes 31x29x100003" \
  sm80_f32_f32_f32_tn_64x64x64_w2x2_s3_kt_r4 sm80_f32_f32_f32_tt_64x64x64_w2x2_s3_r4 sm80_f32_f32_f32_nn_64x64x32_w2x2_s4_r4 sm80_f32_f32_f32_nt_128x64x64_w4x2_s4_r2 sm80_f32_f32_f32_tn_32x128x32_w1x4_s4_r4 sm80_f32_f32_f32_tt_64x32x64_w2x2_s4_r1 \
  "sm80_f32_f32_f32_nt_32x32x64_w2x2_s4_kt_r1 --sizes 31x29x100003" sm80_f64_f64_f64_tt_64x64x32_w2x2_s3_kt_r4 sm80_f64_f64_f64_nn_32x64x32_w2x2_s4_r2; do
  chosen+=("--kind plain --config $options --per-kernel 8")
done
# Lines of f32 and f64 off 16 bytes, which are copied first.
for options in f32_f32_f32_tt_64x64x64_w2x2_s3_kt_r4 f64_f64_f64_nt_128x128x16_w2x4_s3_r4; do
  chosen+=("--kind plain --config sm80_$options --per-kernel 6 --sizes 1801x1633x1511")
done
# Few rows and columns, of many CTAs each. (The reference takes a second for each of the first two.)
for options in "bf16_bf16_f32_tn_16x8x512_w1x16_s2_r1 --sizes 20001x7x2063 --per-kernel 3" "bf16_bf16_f32_tn_8x32x256_w1x8_s2_r1 --sizes 8x20000x2048 --per-kernel 3" "f32_f32_f32_tt_1x16x128_w1x8_s4_r1 --sizes 1x9002x3000 --per-kernel 8" "i8_i8_i32_nn_16x8x1024_w1x16_s2_r1 --sizes 9000x8x3001 --per-kernel 8"; do
  chosen+=("--kind plain --config gemv_$options")
done
# Warps that have rows each, or columns.
for options in "bf16_bf16_f32_tt_512x32x32_w8x1_s1_r1 --sizes 100001x32x32" "bf16_bf16_f32_tn_512x32x32_w8x1_s1_r1 --sizes 20001x30x30" "f16_f16_f32_tt_1024x16x32_w8x1_s1_r1 --sizes 100001x16x16" "f16_f16_f32_tn_1024x16x32_w8x1_s1_r1 --sizes 5001x40x70" \
  "f32_f32_f32_tt_1024x4x4_w8x1_s1_r1 --sizes 200001x3x3" "f32_f32_f32_tn_1024x8x8_w8x1_s1_r1 --sizes 100001x8x8" "f64_f64_f64_tt_1024x4x4_w8x1_s1_r1 --sizes 200001x3x3" "f64_f64_f64_tn_1024x8x8_w8x1_s1_r1 --sizes 5001x11x19" \
  "f32_f32_f32_tt_4x512x4_w4x1_s1_r1 --sizes 3x200000x3" "f32_f32_f32_nt_8x512x8_w4x1_s1_r1 --sizes 8x100001x8" "f64_f64_f64_tt_4x512x4_w4x1_s1_r1 --sizes 3x200000x3" "f64_f64_f64_nt_8x512x8_w4x1_s1_r1 --sizes 19x5001x11"; do
  chosen+=("--kind plain --config gemv_$options --per-kernel 10")
done
# Smaller tiles of these.
for options in "bf16_bf16_f32_tt_256x16x32_w8x1_s1_r1 --sizes 20001x16x32" "f16_f16_f32_tn_256x32x32_w8x1_s1_r1 --sizes 20001x24x32" "f32_f32_f32_tt_64x4x4_w2x1_s1_r1 --sizes 20001x3x3" "f32_f32_f32_tn_64x8x8_w2x1_s1_r1 --sizes 20001x8x8" \
  "f64_f64_f64_tt_64x4x4_w2x1_s1_r1 --sizes 20001x4x3" "f64_f64_f64_tn_64x8x8_w2x1_s1_r1 --sizes 5001x11x19"; do
  chosen+=("--kind plain --config gemv_$options --per-kernel 6")
done
# Batches of small products, by CTAs of one warp.
for options in "sm80_f64_f64_f64_tt_16x16x16_w1x1_s2_r1 20x33x40" "sm80_f64_f64_f64_nn_32x32x16_w1x1_s2_r1 70x30x15" "sm80_bf16_bf16_f32_tn_16x16x32_w1x1_s2_r1 20x16x70" "sm80_f16_f16_f32_tt_32x32x32_w1x1_s2_r1 33x40x70" "sm80_i8_i8_i32_tn_32x32x64_w1x1_s2_r1 33x64x100" \
  "simt_f32_f32_f32_nt_16x16x16_w1x1_s2_r1 20x33x40" "simt_f32_f32_f32_tt_32x32x16_w1x1_s2_r1 64x32x33"; do
  read -r config size <<< "$options"
  chosen+=("--kind grouped --config $config --per-kernel 6 --sizes $size,$size,$size,$size,$size")
done
for kind in plain grouped; do
  for config in bf16_bf16_f32_tn_128x256x64_w8x1_s4_c2x1_r4 bf16_bf16_f32_nt_128x128x64_w8x1_s6_c1x1_r4 f16_f16_f32_tn_256x112x64_w8x1_s4_c1x1_r4; do
    chosen+=("--kind $kind --epilogue bare --config sm90_$config --per-kernel 8 --sizes 1320x1344x192,256x1344x64")
  done
  for options in "128x128x128_w8x1_s5_c2x1_r4 --scales 1x128,128x128" "128x192x128_w8x1_s4_c2x1_r4 --scales 1x128,128x128" "128x128x128_w1x8_s5_c1x1_swap_r4 --scales 128x128,1x128" "64x128x128_w1x8_s7_c1x1_swap_r4 --scales 1x128,128x128" \
    "128x192x128_w8x1_s4_c2x1_r4 --scales vector,vector"; do
    chosen+=("--kind $kind --per-kernel 10 --config sm90_e4m3_e4m3_f32_tn_$options")
  done
done
