// SPDX-License-Identifier: Apache-2.0
//! `cargo run -p ggemm-bindgen` writes `ggemm-sys/src/bindings.rs`; with `--check` it only compares.
//!
//! libclang is opened at run time: `LIBCLANG_PATH` names its folder. The text depends on its version a little; the
//! one checked in is made with 18.1.1 (`pip install libclang==18.1.1`). Compiler headers come from `cc`.

use std::{fs, path::Path, process::Command, process::ExitCode};

use bindgen::callbacks::ParseCallbacks;

/// Turns the header's Doxygen into what rustdoc reads.
#[derive(Debug)]
struct Comments;

impl ParseCallbacks for Comments {
    fn process_comment(&self, comment: &str) -> Option<String> {
        let mut text = comment.strip_prefix('<').unwrap_or(comment).to_owned();
        for special in ['[', ']', '<', '>', '*', '_'] {
            text = text.replace(special, &format!("\\{special}"));
        }
        for (tag, word) in [("@param ", "Parameter "), ("@retval ", "Returns "), ("@since ", "Since ")] {
            text = text.replace(tag, &format!("\n{word}"));
        }
        // A paragraph for each part of the comment.
        let starts = [
            "Shapes",
            "Units",
            "Memory",
            "Stream",
            "Capture",
            "Threads",
            "Lifetime",
            "Parameter ",
            "Returns ",
            "Since ",
        ];
        let mut lines: Vec<String> = Vec::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if !lines.is_empty() && starts.iter().any(|start| line.starts_with(start)) {
                lines.push(String::new());
            }
            lines.push(format!(" {line}"));
        }
        Some(lines.join("\n"))
    }
}

fn generate(header: &Path) -> String {
    let include = Command::new("cc").arg("-print-file-name=include").output().expect("cc runs");
    let include = String::from_utf8(include.stdout).expect("a path");
    let bindings = bindgen::Builder::default()
        .header(header.to_str().expect("a path in UTF-8"))
        // Freestanding: stddef.h and stdint.h of the compiler itself, nothing of the system's.
        .clang_args(["-ffreestanding", "-isystem", include.trim()])
        .allowlist_item("(ggemm|GGEMM)_.*")
        .use_core()
        .merge_extern_blocks(true)
        .prepend_enum_name(false)
        .default_macro_constant_type(bindgen::MacroTypeVariation::Signed)
        .derive_default(false)
        .rust_target(bindgen::RustTarget::stable(80, 0).unwrap_or_else(|_| panic!("bindgen knows Rust 1.80")))
        .formatter(bindgen::Formatter::Prettyplease)
        .parse_callbacks(Box::new(Comments))
        .disable_header_comment()
        .generate()
        .expect("the header is read");
    let from =
        "// SPDX-License-Identifier: Apache-2.0\n// Made by `cargo run -p ggemm-bindgen` from include/ggemm.h.\n\n";
    format!("{from}{bindings}")
}

fn main() -> ExitCode {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder above");
    let target = workspace.join("ggemm-sys/src/bindings.rs");
    let text = generate(&workspace.join("ggemm-sys/vendor/include/ggemm.h"));
    match std::env::args().nth(1).as_deref() {
        None => fs::write(&target, text).expect("bindings.rs is written"),
        Some("--check") => {
            if fs::read_to_string(&target).ok().as_deref() != Some(&text) {
                eprintln!("{} is not what include/ggemm.h gives: cargo run -p ggemm-bindgen", target.display());
                return ExitCode::FAILURE;
            }
        }
        Some(other) => {
            eprintln!("usage: ggemm-bindgen [--check], not '{other}'");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
