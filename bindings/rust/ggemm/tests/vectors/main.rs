// SPDX-License-Identifier: Apache-2.0
//! The vectors that all languages share (tests/vectors/README.md), by every way that this crate has to run them.
#![cfg(feature = "half")]

mod case;
mod forms;

use std::path::{Path, PathBuf};

use case::{device_scale, dtype, gate, host_scale, Buffers, Case, File, Matrix, Product};
use forms::Form;
use ggemm::{BiasKind, Context, DeviceSlice, Gemm, Group, GroupMemory, GroupedProblem, PlanRun, Source};

#[derive(Debug, Copy, Clone)]
enum Way {
    Run,
    Launch,
    PlanRun,
    PlanLaunch,
}

/// What calls and runs of plans take alike, in either memory.
macro_rules! operands {
    ($call:expr, $case:expr, $c:expr, $bias:expr) => {
        operands!($call, $case, $c, $bias, None::<GroupMemory<'_>>, None::<GroupMemory<'_>>)
    };
    ($call:expr, $case:expr, $c:expr, $bias:expr, $scale_a:expr, $scale_b:expr) => {{
        let (alpha, beta) = $case.scalars();
        let mut call = $call.alpha(alpha).beta(beta);
        if let Some(c) = $c {
            call = call.c(c);
        }
        if let Some(bias) = $bias {
            call = call.bias(bias);
        }
        if let Some(scale) = $scale_a {
            call = call.scale_a(scale);
        }
        if let Some(scale) = $scale_b {
            call = call.scale_b(scale);
        }
        call
    }};
}

fn run_plain(context: &Context, case: &Case, product: &Product, way: Way) -> ggemm::Result<()> {
    let Product { m, n, k, .. } = *product;
    let cols = product.cols(case);
    let Buffers { a, b, c, mut d, bias, scales: [scale_a, scale_b] } = product.buffers();
    let kind = case.bias.as_str();
    match way {
        Way::Run | Way::PlanRun => {
            let (a, b) = (product.a.host(&a, m, k), product.b.host(&b, k, n));
            let c = c.as_ref().map(|c| product.c().unwrap().host(c, m, n));
            let bias = bias.as_ref().map(|buffer| product.bias_vector.as_ref().unwrap().host(buffer, kind));
            let scale_a = scale_a.as_ref().map(|s| host_scale(product.scales.scale_a.as_ref().unwrap(), s, m, k, true));
            let scale_b =
                scale_b.as_ref().map(|s| host_scale(product.scales.scale_b.as_ref().unwrap(), s, n, k, false));
            let plan = {
                let call: Gemm<'_> =
                    operands!(context.gemm(a, b, product.d.host_mut(&mut d, m, cols)), case, c, bias, scale_a, scale_b);
                let call = call.activation(case.activation()).gate(gate(&case.gate)).compute(case.compute());
                match way {
                    Way::Run => return call.run().map(|()| product.d.check(&case.name, way, &d)),
                    _ => call.plan()?,
                }
            };
            let run: PlanRun<'_> =
                operands!(plan.gemm(a, b, product.d.host_mut(&mut d, m, cols)), case, c, bias, scale_a, scale_b);
            run.run()?;
        }
        Way::Launch | Way::PlanLaunch => {
            let (a, b) = (product.a.device(&a, m, k), product.b.device(&b, k, n));
            let c = c.as_ref().map(|c| product.c().unwrap().device(c, m, n));
            let bias = bias.as_ref().map(|buffer| product.bias_vector.as_ref().unwrap().device(buffer, kind));
            let scale_a =
                scale_a.as_ref().map(|s| device_scale(product.scales.scale_a.as_ref().unwrap(), s, m, k, true));
            let scale_b =
                scale_b.as_ref().map(|s| device_scale(product.scales.scale_b.as_ref().unwrap(), s, n, k, false));
            let plan = {
                let call = operands!(
                    context.gemm(a, b, product.d.device_mut(&mut d, m, cols)),
                    case,
                    c,
                    bias,
                    scale_a,
                    scale_b
                );
                let call = call.activation(case.activation()).gate(gate(&case.gate)).compute(case.compute());
                match way {
                    // SAFETY: the host device is done on return.
                    Way::Launch => return unsafe { call.launch() }.map(|()| product.d.check(&case.name, way, &d)),
                    _ => call.plan()?,
                }
            };
            let run =
                operands!(plan.gemm(a, b, product.d.device_mut(&mut d, m, cols)), case, c, bias, scale_a, scale_b);
            // SAFETY: as above.
            unsafe { run.launch()? };
        }
    }
    product.d.check(&case.name, way, &d);
    Ok(())
}

fn run_list(context: &Context, case: &Case, products: &[Product]) -> ggemm::Result<()> {
    let mut buffers: Vec<_> = products.iter().map(Product::buffers).collect();
    let groups = products.iter().zip(&mut buffers).map(|(product, buffers)| {
        let Product { m, n, k, .. } = *product;
        let (a, b) = (product.a.host(&buffers.a, m, k), product.b.host(&buffers.b, k, n));
        let mut group = Group::new(a, b, product.d.host_mut(&mut buffers.d, m, n));
        if let Some(c) = product.c() {
            group = group.c(c.host(buffers.c.as_ref().unwrap(), m, n));
        }
        if let Some(bias) = &product.bias_vector {
            group = group.bias(bias.host(buffers.bias.as_ref().unwrap(), &case.bias));
        }
        group
    });
    let (alpha, beta) = case.scalars();
    let call = context.grouped(groups).alpha(alpha).beta(beta);
    call.activation(case.activation()).compute(case.compute()).run()?;
    for (product, buffers) in products.iter().zip(&buffers) {
        product.d.check(&case.name, "a list", &buffers.d);
    }
    Ok(())
}

/// The numbers of all groups as the case says: constants, or arrays of either width, which `narrow` and `wide` keep.
fn sources<const N: usize>(how: &str, rows: &[[i64; N]], narrow: &mut Vec<[i32; N]>, column: usize) -> Source {
    let stride = |size: usize| (N * size) as isize;
    match how {
        "packed" => Source::PACKED,
        "const" => Source::constant(rows[0][column]),
        "i64" => Source::i64_at(rows.as_ptr().cast::<i64>().wrapping_add(column), stride(8)),
        "i32" => {
            if narrow.is_empty() {
                *narrow = rows.iter().map(|row| row.map(|value| i32::try_from(value).unwrap())).collect();
            }
            Source::i32_at(narrow.as_ptr().cast::<i32>().wrapping_add(column), stride(4))
        }
        other => panic!("an unknown source: {other}"),
    }
}

fn run_pointers(context: &Context, case: &Case, products: &[Product], by_plan: bool) -> ggemm::Result<()> {
    let Some(first) = products.first() else {
        let problem = GroupedProblem::new::<f32, f32, f32>(0);
        // SAFETY: arrays of nothing.
        unsafe {
            let none = DeviceSlice::<u64>::from_raw_parts(std::ptr::null(), 0);
            return context.device_groups(&problem, none, none, none).launch();
        }
    };
    let mut buffers: Vec<_> = products.iter().map(Product::buffers).collect();
    let sizes: Vec<[i64; 3]> = products.iter().map(|p| [p.m, p.n, p.k].map(|size| size as i64)).collect();
    let strides: Vec<[i64; 8]> = products
        .iter()
        .map(|p| {
            let of = |matrix: &Matrix| [matrix.row_stride as i64, matrix.col_stride as i64];
            let all = [of(&p.a), of(&p.b), p.c().map_or([0, 0], of), of(&p.d)];
            std::array::from_fn(|i| all[i / 2][i % 2])
        })
        .collect();
    let (mut narrow_sizes, mut narrow_strides) = (Vec::new(), Vec::new());
    let how = case.sizes.as_deref().expect("sizes");
    let [m, n, k] = [0, 1, 2].map(|column| sources(how, &sizes, &mut narrow_sizes, column));
    let how = case.strides.as_deref().expect("strides");
    let mut stride = |column| sources(how, &strides, &mut narrow_strides, column);

    let mut problem = GroupedProblem::with_dtypes(
        dtype(&first.a.dtype),
        dtype(&first.b.dtype),
        dtype(&first.d.dtype),
        products.len(),
    )
    .m(m)
    .n(n)
    .k(k)
    .a_strides(stride(0), stride(1))
    .b_strides(stride(2), stride(3))
    .d_strides(stride(6), stride(7))
    .activation(case.activation())
    .compute(case.compute());
    if let Some(c) = first.c() {
        problem = problem.c(dtype(&c.dtype), stride(4), stride(5));
    }
    if let Some(bias) = &first.bias_vector {
        let kind = if case.bias == "column" { BiasKind::PerColumn } else { BiasKind::PerRow };
        problem = problem.bias_of(kind, dtype(&bias.dtype));
    }

    let mut addresses = |of: fn(&Product, &mut Buffers) -> Option<u64>| -> Option<Vec<u64>> {
        products.iter().zip(&mut buffers).map(|(product, buffers)| of(product, buffers)).collect()
    };
    let a = addresses(|product, buffers| Some(product.a.address(&mut buffers.a))).unwrap();
    let b = addresses(|product, buffers| Some(product.b.address(&mut buffers.b))).unwrap();
    let c = addresses(|product, buffers| Some(product.c()?.address(buffers.c.as_mut()?)));
    let d = addresses(|product, buffers| Some(product.d.address(&mut buffers.d))).unwrap();
    let bias = addresses(|_, buffers| Some(buffers.bias.as_ref()?.words.as_ptr() as u64));
    // SAFETY: arrays of this program, for the host device.
    let array = |addresses: &'_ [u64]| unsafe { DeviceSlice::from_raw_parts(addresses.as_ptr(), addresses.len()) };

    let plan;
    let call = if by_plan {
        plan = context.plan_grouped(&problem)?;
        plan.device_groups(array(&a), array(&b), array(&d))
    } else {
        context.device_groups(&problem, array(&a), array(&b), array(&d))
    };
    let call = operands!(call, case, c.as_deref().map(array), bias.as_deref().map(array));
    // SAFETY: addresses, sizes and strides are the case's; the host device is done on return.
    unsafe { call.launch()? };
    for (product, buffers) in products.iter().zip(&buffers) {
        product.d.check(&case.name, if by_plan { "a plan of addresses" } else { "addresses" }, &buffers.d);
    }
    Ok(())
}

#[test]
fn every_case_by_every_way() {
    let path = std::env::var_os("GGEMM_VECTORS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/vectors/vectors.json"),
        PathBuf::from,
    );
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file: File = serde_json::from_str(&text).unwrap();
    assert_eq!(file.format, 2, "this reader knows format 2");
    assert!(file.cases.len() > 50, "only {} cases", file.cases.len());
    // No CBLAS: its sums may be rounded otherwise.
    let context = Context::builder().host().cblas_path("").cache_dir("").build().unwrap();
    for value in &file.cases {
        let case: Case = serde_json::from_value(value.clone()).unwrap();
        let failed = |error| panic!("{}: {error}", case.name);
        match case.form.as_str() {
            "plain" => {
                let product: Product = serde_json::from_value(value.clone()).unwrap();
                for way in [Way::Run, Way::Launch, Way::PlanRun, Way::PlanLaunch] {
                    run_plain(&context, &case, &product, way).unwrap_or_else(failed);
                }
            }
            "pointers" => {
                let products: Vec<Product> = serde_json::from_value(value["groups"].clone()).unwrap();
                run_list(&context, &case, &products).unwrap_or_else(failed);
                run_pointers(&context, &case, &products, false).unwrap_or_else(failed);
                run_pointers(&context, &case, &products, true).unwrap_or_else(failed);
            }
            _ => {
                let form: Form = serde_json::from_value(value.clone()).unwrap();
                form.run(&context, &case, false).unwrap_or_else(failed);
                form.run(&context, &case, true).unwrap_or_else(failed);
            }
        }
    }
}
