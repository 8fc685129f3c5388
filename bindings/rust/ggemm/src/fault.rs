// SPDX-License-Identifier: Apache-2.0
//! What checked mode finds.

use std::fmt;

use ggemm_sys as sys;

/// What is wrong with the numbers or pointers of a group in device memory.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// A size or count is below 0, a count above the room, or n is odd with gated pairs.
    Size,
    /// A group ends before it begins, or above the size in all.
    End,
    /// A pointer that is followed is NULL.
    Null,
    /// A pointer is not a multiple of its element's size.
    Align,
    /// Elements of D coincide: a stride is 0, or too short for the rows or columns that it leads over.
    Stride,
    /// A matrix spans 2^63 bytes or more.
    Span,
    /// An index of a row of A or D is not below its number of rows.
    Index,
    /// Something that this crate does not know.
    Other(i32),
}

/// The first thing that checked mode found wrong: see [`GroupedProblem::checked`](crate::GroupedProblem::checked).
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Fault {
    /// What it is.
    pub kind: FaultKind,
    /// The lowest group that is wrong.
    pub group: i32,
    /// Of what it is: `"m"`, `"n"`, `"k"`, `"a"`, `"b"`, `"c"`, `"d"`, `"bias"`, `"scale_a"` or `"scale_b"`.
    pub field: &'static str,
    /// Of an index: the row in the groups' order.
    pub row: i32,
}

impl Fault {
    /// What a launch left in the four numbers of its status, copied from the device; `None` for nothing.
    #[must_use]
    pub fn read(status: [i32; 4]) -> Option<Self> {
        const FIELDS: [&str; 11] = ["", "m", "n", "k", "a", "b", "c", "d", "bias", "scale_a", "scale_b"];
        let [fault, group, field, row] = status;
        let kind = match fault as sys::ggemm_fault {
            sys::GGEMM_FAULT_NONE => return None,
            sys::GGEMM_FAULT_SIZE => FaultKind::Size,
            sys::GGEMM_FAULT_END => FaultKind::End,
            sys::GGEMM_FAULT_NULL => FaultKind::Null,
            sys::GGEMM_FAULT_ALIGN => FaultKind::Align,
            sys::GGEMM_FAULT_STRIDE => FaultKind::Stride,
            sys::GGEMM_FAULT_SPAN => FaultKind::Span,
            sys::GGEMM_FAULT_INDEX => FaultKind::Index,
            _ => FaultKind::Other(fault),
        };
        let field = usize::try_from(field).ok().and_then(|field| FIELDS.get(field)).copied().unwrap_or_default();
        Some(Self { kind, group, field, row })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, group, field, row } = self;
        let what = match kind {
            FaultKind::Size => "a size or count is below 0 or above the room, or n is odd with gated pairs",
            FaultKind::End => "it ends before it begins, or above the size in all",
            FaultKind::Null => "a pointer that is followed is NULL",
            FaultKind::Align => "a pointer is not a multiple of its element's size",
            FaultKind::Stride => {
                "elements of D coincide: a stride is 0, or too short for the rows or columns that it leads over"
            }
            FaultKind::Span => "a matrix spans 2^63 bytes or more",
            FaultKind::Index => {
                return write!(f, "{field}_index[{row}], group {group}: it is not below the number of rows")
            }
            FaultKind::Other(number) => return write!(f, "{field} of group {group}: fault {number}"),
        };
        write!(f, "{field} of group {group}: {what}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told() {
        assert_eq!(Fault::read([0, 7, 7, 7]), None);
        let fault = Fault::read([2, 1, 1, 0]).unwrap();
        assert_eq!((fault.kind, fault.group, fault.field), (FaultKind::End, 1, "m"));
        assert_eq!(fault.to_string(), "m of group 1: it ends before it begins, or above the size in all");
        let index = Fault::read([7, 3, 4, 9]).unwrap();
        assert_eq!(index.to_string(), "a_index[9], group 3: it is not below the number of rows");
        assert_eq!(Fault::read([99, 0, 99, 0]).unwrap().to_string(), " of group 0: fault 99");
    }
}
