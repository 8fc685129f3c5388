// SPDX-License-Identifier: Apache-2.0
//! The whole interface on the host device: what it computes, refuses, reports and keeps alive.

mod contexts;
mod forms;
mod products;

use std::path::PathBuf;

use ggemm::{Context, ErrorKind};

fn host() -> Context {
    Context::builder().host().cache_dir("").build().unwrap()
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ggemm-rust-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The text of a refused argument.
fn refused<T: std::fmt::Debug>(result: ggemm::Result<T>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    error.to_string()
}

const A: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
const B: [f32; 6] = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0];
