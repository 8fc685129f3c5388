// SPDX-License-Identifier: Apache-2.0
//! Says on which device it runs, and what 1 * 3 + 2 * 4 is there.

use ggemm::{Context, Mat, MatMut};
use half::bf16;

fn main() -> ggemm::Result<()> {
    let context = Context::host()?;
    println!("ggemm {} on {}", ggemm::version(), context.device()?.name);
    let (a, b) = ([1.0, 2.0].map(bf16::from_f32), [3.0, 4.0].map(bf16::from_f32));
    let mut d = [0.0_f32];
    context.gemm(Mat::row_major(&a, 1, 2), Mat::row_major(&b, 2, 1), MatMut::row_major(&mut d, 1, 1)).run()?;
    println!("{}", d[0]);
    Ok(())
}
