// SPDX-License-Identifier: Apache-2.0
//! The scenarios of tests/loader: what is said where the driver or NVRTC is missing or unfit. Each is a process of its own.

use std::{collections::HashMap, env, fs, os::unix::fs::symlink, path::Path, process::Command};

use ggemm::{Config, Context, DType, ErrorKind, GemmProblem, Result};
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    format: u32,
    scenarios: Vec<Scenario>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    name: String,
    step: String,
    environment: HashMap<String, String>,
    status: String,
    text: String,
}

extern "C" {
    fn fork() -> i32;
    fn waitpid(child: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(code: i32) -> !;
}

fn open() -> Result<Context> {
    Context::builder().cuda(0).build()
}

fn report<T>(outcome: &Result<T>) {
    let (status, text) = match outcome {
        Ok(_) => ("GGEMM_OK", String::new()),
        Err(error) if error.kind() == ErrorKind::Device => ("GGEMM_ERROR_DEVICE", error.to_string()),
        Err(error) if error.kind() == ErrorKind::Compile => ("GGEMM_ERROR_COMPILE", error.to_string()),
        Err(error) => panic!("{error:?}"),
    };
    fs::write(env::var("GGEMM_TEST_OUTPUT").unwrap(), format!("{status}\n{text}")).unwrap();
}

fn take(step: &str) {
    let context = open();
    match (step, &context) {
        ("context", _) | (_, Err(_)) => report(&context),
        ("plan", Ok(context)) => {
            let config: Config = "simt_f32_f32_f32_tt_32x32x16_w2x1_s2_r1".parse().unwrap();
            let problem = GemmProblem::with_dtypes(DType::F32, DType::F32, DType::F32, 2, 2, 2).config(&config);
            report(&context.plan(&problem));
        }
        ("fork", Ok(_)) => {
            // SAFETY: no lock that the child takes is held by another thread; it ends without what a process does at its end.
            unsafe {
                let child = fork();
                if child == 0 {
                    report(&open());
                    _exit(0);
                }
                assert_eq!(waitpid(child, &mut 0, 0), child);
            }
        }
        _ => panic!("an unknown step: {step}"),
    }
}

#[test]
fn loader_scenarios() {
    if let Ok(step) = env::var("GGEMM_TEST_STEP") {
        return take(&step);
    }
    let Ok(driver) = env::var("GGEMM_FAKE_DRIVER") else {
        return println!("skipped: needs $GGEMM_FAKE_DRIVER, the project's libcuda.so.1 for tests");
    };
    let nvrtc = Path::new(&driver).parent().unwrap().with_file_name("fake_nvrtc").join("libnvrtc.so.13");
    let folder = env::temp_dir().join(format!("ggemm-loader-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    symlink(&nvrtc, folder.join("libnvrtc.so.13")).unwrap();
    fs::write(folder.join("libcuda.so.1"), "no library").unwrap();
    let (nvrtc, place) = (nvrtc.to_str().unwrap(), folder.to_str().unwrap());
    let replaced = |text: &str| {
        let path = env::var("LD_LIBRARY_PATH").unwrap_or_default();
        let text = text.replace("{driver}", &driver).replace("{nvrtc}", nvrtc).replace("{folder}", place);
        text.replace("{LD_LIBRARY_PATH}", &path)
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/loader/scenarios.json");
    let file: File = serde_json::from_str(&fs::read_to_string(source).unwrap()).unwrap();
    assert_eq!(file.format, 1, "this reader knows format 1");
    let output = folder.join("output");
    for scenario in &file.scenarios {
        let said = Command::new(env::current_exe().unwrap())
            .args(["--exact", "loader_scenarios", "--nocapture"])
            .env("GGEMM_TEST_STEP", &scenario.step)
            .env("GGEMM_TEST_OUTPUT", &output)
            .envs([("GGEMM_LIBCUDA", driver.as_str()), ("GGEMM_NVRTC", nvrtc), ("GGEMM_FAKE_DEVICES", "90")])
            .env("GGEMM_CACHE_DIR", folder.join("cache"))
            .envs(scenario.environment.iter().map(|(name, value)| (name, replaced(value))))
            .output()
            .unwrap();
        assert!(said.status.success(), "{}: {}", scenario.name, String::from_utf8_lossy(&said.stderr));
        let got = fs::read_to_string(&output).unwrap();
        assert_eq!(got, format!("{}\n{}", scenario.status, replaced(&scenario.text)), "{}", scenario.name);
    }
    fs::remove_dir_all(&folder).unwrap();
}
