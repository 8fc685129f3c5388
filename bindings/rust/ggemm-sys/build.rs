// SPDX-License-Identifier: Apache-2.0
//! Finds libggemm by pkg-config, or builds it from the sources in `vendor/`.

use std::{env, path::Path};

/// What these bindings were made from, and what may no longer be the same.
const VERSIONS: std::ops::Range<&str> = "0.1.0".."0.2.0";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=DOCS_RS");
    println!("cargo:rerun-if-env-changed=GGEMM_NO_VENDOR");
    if env::var_os("DOCS_RS").is_some() {
        return; // documentation links nothing
    }
    if env::var_os("CARGO_FEATURE_VENDORED").is_some() {
        return build_vendored();
    }
    match pkg_config::Config::new().range_version(VERSIONS).probe("ggemm") {
        Ok(library) => {
            for path in &library.include_paths {
                println!("cargo:include={}", path.display());
            }
        }
        Err(error) if env::var_os("GGEMM_NO_VENDOR").is_some_and(|value| value != "0") => {
            panic!(
                "libggemm {}: not found by pkg-config, and GGEMM_NO_VENDOR forbids to build it\n{error}",
                VERSIONS.start
            )
        }
        Err(_) => build_vendored(),
    }
}

/// Builds the library as an archive, so that programs carry it in themselves. Needs CMake, a C++20 compiler and xxhash.h.
fn build_vendored() {
    let source = Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("vendor");
    for part in ["CMakeLists.txt", "cmake", "include", "kernels", "lib"] {
        println!("cargo:rerun-if-changed={}", source.join(part).display());
    }
    let output = cmake::Config::new(&source)
        .profile("Release") // a debug build of the products would be of no use to anyone
        .define("GGEMM_BUILD_TOOLS", "OFF")
        .define("GGEMM_BUILD_TESTS", "OFF")
        .define("GGEMM_INSTALL", "OFF")
        .build_target("ggemm_internal")
        .build();
    println!("cargo:rustc-link-search=native={}", output.join("build").display());
    println!("cargo:rustc-link-lib=static=ggemm_internal");
    for library in ["stdc++", "dl", "pthread"] {
        println!("cargo:rustc-link-lib={library}");
    }
    println!("cargo:include={}", source.join("include").display());
}
