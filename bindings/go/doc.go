// SPDX-License-Identifier: Apache-2.0

// Package ggemm computes plain and grouped matrix products,
//
//	D = act(alpha scale A B + beta C + bias)
//
// on CUDA GPUs and on the CPU. It is a binding of the C library libggemm, which pkg-config must find by the name ggemm.
//
//	ctx, err := ggemm.Open(ggemm.Host)
//	if err != nil {
//		return err
//	}
//	defer ctx.Close()
//	err = ctx.Gemm(ggemm.RowMajor(a, m, k), ggemm.RowMajor(b, n, k).T(), ggemm.RowMajor(d, m, n), ggemm.WithActivation(ggemm.GELU))
//
// # Devices and memory
//
// A [Context] is one device, and operands lie in its memory. On [Host] that is Go slices: every call checks that a matrix lies within its
// slice before C is called, and is complete when it returns. On a CUDA device it is device memory, given by address with [At]: the memory
// must be what the call says it is, and it must stay until the work on the stream ([WithStream]) is complete, as a call returns when the
// work is queued. [Context.Device] says which device a context runs on.
//
// # Calls
//
// [Context.Gemm] is one product, [Context.GemmGroups] one call for a list of different ones in host memory, [Context.GroupedGemm] the form
// for devices, in every [Form]: rows sorted by group, weight gradients, batches. Sizes, ends, strides and pointers are arrays in the device's
// memory, read when the launch runs; in checked mode they are looked at before ([ReadFault]). The first call of a class of
// problems compiles or loads a kernel; [Context.Prepare] does so ahead of time, [Context.Plan] binds a class to a [Plan], and
// [Context.Tune] measures what is best.
//
// A mistake in an operand, or in an [Option], is found by the call that uses it.
//
// # Errors
//
// Every error is an [*Error] with a [Status], and a text that names the field and the values:
//
//	if errors.Is(err, ggemm.ErrArgument) { ... }
//
// # Concurrency
//
// All methods of a [Context] and of plans may be called from any goroutine at any time. Close waits for nothing: what was begun before it
// is finished first, and the object goes with the last of it. Calls after it fail.
package ggemm

// #cgo pkg-config: ggemm
import "C"
