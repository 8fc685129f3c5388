// SPDX-License-Identifier: Apache-2.0
//! Closures behind the C interface's callbacks. A panic must not unwind through C: it is caught there and goes on once
//! the C function has returned.

use std::{
    any::Any,
    ffi::{c_char, CStr},
    ops::ControlFlow,
    panic::{catch_unwind, resume_unwind, AssertUnwindSafe},
};

/// A closure that one C call may invoke, and what it panicked with.
pub(crate) struct Guarded<F> {
    function: F,
    panic: Option<Box<dyn Any + Send>>,
}

impl<F> Guarded<F> {
    pub(crate) fn new(function: F) -> Self {
        Self { function, panic: None }
    }

    /// What C hands back to [`from_user`](Guarded::from_user).
    pub(crate) fn as_user(&mut self) -> *mut core::ffi::c_void {
        std::ptr::from_mut(self).cast()
    }

    /// # Safety
    /// `user` came from [`as_user`](Guarded::as_user) of the same type, and nothing else uses it meanwhile.
    pub(crate) unsafe fn from_user<'a>(user: *mut core::ffi::c_void) -> &'a mut Self {
        // SAFETY: the caller's promise.
        unsafe { &mut *user.cast() }
    }

    /// Runs `call` on the closure; after a panic, now or before, answers `otherwise`.
    pub(crate) fn call<R>(&mut self, otherwise: R, call: impl FnOnce(&mut F) -> R) -> R {
        if self.panic.is_some() {
            return otherwise;
        }
        // The closure is not called again after a panic, so nobody sees what it left half done but its owner, who is told.
        match catch_unwind(AssertUnwindSafe(|| call(&mut self.function))) {
            Ok(result) => result,
            Err(panic) => {
                self.panic = Some(panic);
                otherwise
            }
        }
    }

    /// Lets a panic go on. To be called when the C function has returned.
    pub(crate) fn finish(self) -> F {
        self.panic.map_or(self.function, |panic| resume_unwind(panic))
    }
}

/// What C callbacks return: 0 to go on.
pub(crate) fn flow(flow: ControlFlow<()>) -> i32 {
    i32::from(flow.is_break())
}

/// # Safety
/// `text` is NULL or a text that lives for `'a`.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> std::borrow::Cow<'a, str> {
    if text.is_null() {
        return "".into();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy()
}

/// The text in a C array that a NUL ends.
pub(crate) fn array_text(array: &[c_char]) -> String {
    let bytes: Vec<u8> = array.iter().take_while(|&&c| c != 0).map(|&c| c as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_kept_until_the_end() {
        let mut calls = 0;
        let mut guarded = Guarded::new(|| {
            calls += 1;
            panic!("no further")
        });
        assert_eq!(guarded.call(7, |f| f()), 7);
        assert_eq!(guarded.call(8, |f| f()), 8, "not called again");
        let Err(panic) = catch_unwind(AssertUnwindSafe(|| guarded.finish())) else { panic!("it goes on") };
        assert_eq!(panic.downcast_ref(), Some(&"no further"));
        assert_eq!(calls, 1);
    }

    #[test]
    fn arrays_end_at_the_first_nul() {
        assert_eq!(array_text(&[b'a' as c_char, b'b' as c_char, 0, b'c' as c_char]), "ab");
        assert_eq!(array_text(&[b'a' as c_char; 2]), "aa");
    }
}
