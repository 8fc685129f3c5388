// SPDX-License-Identifier: Apache-2.0
//! Configurations: the ways to run a problem.

use std::{
    ffi::{CStr, CString},
    fmt,
    ptr::NonNull,
    str::FromStr,
};

use ggemm_sys as sys;

use crate::{callback::array_text, error::check, Context, Error, Problem, Result};

/// One way to run a problem. It is parsed from its name and printed as it.
///
/// ```
/// use ggemm::Config;
///
/// let config: Config = "sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8".parse()?;
/// assert_eq!(config.tile, (128, 256, 64));
/// assert_eq!(config.stages, 3);
/// assert!("sm80_bf16".parse::<Config>().is_err());
/// # Ok::<(), ggemm::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Config {
    name: CString,
    /// The kernel's family: `"simt"`, `"sm80"`, `"host"` ...
    pub family: String,
    /// CTA tile BM, BN, BK.
    pub tile: (i32, i32, i32),
    /// Warps along m and n.
    pub warps: (i32, i32),
    /// Stages of the shared-memory ring.
    pub stages: i32,
    /// Rows of tiles that are walked together, for L2.
    pub raster: i32,
    /// CTAs of a cluster, down, across, and along k (1 where none share a tile); 0 in the families that form none.
    pub cluster: (i32, i32, i32),
    /// Whether the product is computed transposed.
    pub swapped: bool,
    /// Parts of k that a tile's sums are added up from, each by a cluster of its own; 1: of the tiles left over alone; 0 where k is not cut.
    pub slices: i32,
    /// 2: so many teams of these warps take turns at tiles, one storing while the other multiplies; 0: one team has them all.
    pub teams: i32,
    /// Of a grouped problem: groups of more rows than this are computed beside, by a kernel of larger tiles; 0: by the same as all.
    pub large_above: i32,
}

impl Config {
    /// Its name, unique and readable.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.to_str().unwrap_or_default()
    }

    #[inline]
    pub(crate) fn as_c_str(&self) -> &CStr {
        &self.name
    }

    /// Takes what a call writes.
    fn read(call: impl FnOnce(*mut sys::ggemm_config) -> sys::ggemm_status) -> Result<Self> {
        let mut raw = sys::GGEMM_CONFIG_INIT;
        check(call(&mut raw))?;
        Ok(Self {
            name: CString::new(array_text(&raw.name)).unwrap_or_default(),
            family: array_text(&raw.family),
            tile: (raw.tile_m, raw.tile_n, raw.tile_k),
            warps: (raw.warps_m, raw.warps_n),
            stages: raw.stages,
            raster: raw.raster,
            cluster: (raw.cluster_m, raw.cluster_n, raw.cluster_k),
            swapped: raw.swapped != 0,
            slices: raw.slices,
            teams: raw.teams,
            large_above: raw.large_above,
        })
    }

    pub(crate) fn of_plan(plan: NonNull<sys::ggemm_plan>) -> Result<Self> {
        // SAFETY: a live plan, and a struct that says its size.
        Self::read(|out| unsafe { sys::ggemm_plan_config(plan.as_ptr(), out) })
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Config {
    type Err = Error;

    /// Says nothing about whether it is legal for a problem.
    fn from_str(name: &str) -> Result<Self> {
        let name = CString::new(name).map_err(|_| Error::argument("a configuration's name holds no NUL"))?;
        // SAFETY: a text, and a struct that says its size.
        Self::read(|out| unsafe { sys::ggemm_config_parse(name.as_ptr(), out) })
    }
}

impl Context {
    /// The configurations of the library's table that are legal for the problem on this device, best estimate first.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument): the problem is wrong.
    pub fn configs<'a>(&self, problem: impl Into<Problem<'a>>) -> Result<Vec<Config>> {
        let raw = problem.into().raw()?;
        let problem = raw.as_sys();
        let mut count = 0;
        // SAFETY: a live context and description, and a place for the number.
        check(unsafe { sys::ggemm_config_count(self.raw(), &problem, &mut count) })?;
        // SAFETY: as above, and a struct that says its size.
        (0..count).map(|i| Config::read(|out| unsafe { sys::ggemm_config_get(self.raw(), &problem, i, out) })).collect()
    }
}
