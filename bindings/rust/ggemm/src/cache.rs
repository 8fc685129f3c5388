// SPDX-License-Identifier: Apache-2.0
//! The disk cache of a context.

use std::{
    ffi::{c_void, CStr, CString, OsStr},
    os::unix::ffi::OsStrExt,
    path::PathBuf,
    ptr,
    time::{Duration, SystemTime},
};

use ggemm_sys as sys;

use crate::{
    callback::{text, Guarded},
    error::check,
    Context, Error, Result,
};

/// One file of the disk cache.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheEntry {
    /// `"cubin"` or `"tuning"`.
    pub kind: String,
    /// Kernel or problem.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// Version of the NVRTC that made it; `None` for tuning records.
    pub nvrtc: Option<String>,
    /// Its size.
    pub bytes: u64,
    /// When it was last used.
    pub last_used: SystemTime,
}

impl Context {
    /// The entries of this context's own cache folder; those that cannot be read are passed over.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) only.
    pub fn cache_entries(&self) -> Result<Vec<CacheEntry>> {
        unsafe extern "C" fn visit(user: *mut c_void, entry: *const sys::ggemm_cache_entry) {
            // SAFETY: `user` is the guarded list below; the entry and its texts live as long as this call.
            let (entries, entry) = unsafe { (Guarded::<Vec<CacheEntry>>::from_user(user), &*entry) };
            entries.call((), |entries| {
                // SAFETY: as above.
                let text = |pointer| unsafe { text(pointer) }.into_owned();
                // SAFETY: as above; never NULL.
                let path = unsafe { CStr::from_ptr(entry.path) };
                entries.push(CacheEntry {
                    kind: text(entry.kind),
                    name: text(entry.name),
                    path: OsStr::from_bytes(path.to_bytes()).into(),
                    nvrtc: Some(text(entry.nvrtc)).filter(|version| !version.is_empty()),
                    bytes: entry.bytes,
                    last_used: SystemTime::UNIX_EPOCH + Duration::from_secs(entry.last_used.max(0) as u64),
                });
            });
        }
        let mut entries = Guarded::new(Vec::new());
        // SAFETY: a live context; the list outlives the call.
        check(unsafe { sys::ggemm_cache_visit(self.raw(), Some(visit), entries.as_user()) })?;
        Ok(entries.finish())
    }

    /// Removes all kernels and tuning records from this context's own cache folder and says how many. Kernels that are
    /// loaded stay; what was chosen by the records is forgotten.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) only.
    pub fn clear_cache(&self) -> Result<usize> {
        self.clear(None)
    }

    /// Removes the kernels that this version of NVRTC made, such as `"13.0"`.
    ///
    /// # Errors
    /// As [`clear_cache`](Context::clear_cache), and [`ErrorKind::Argument`](crate::ErrorKind::Argument): the version is
    /// empty or holds a NUL.
    pub fn clear_cache_of_nvrtc(&self, version: &str) -> Result<usize> {
        let version = CString::new(version).map_err(|_| Error::argument("a version of NVRTC holds no NUL"))?;
        self.clear(Some(&version))
    }

    fn clear(&self, nvrtc: Option<&CStr>) -> Result<usize> {
        let mut removed = 0;
        // SAFETY: a live context, a text or NULL, and a place for the number.
        check(unsafe { sys::ggemm_cache_clear(self.raw(), nvrtc.map_or(ptr::null(), CStr::as_ptr), &mut removed) })?;
        Ok(removed)
    }
}
