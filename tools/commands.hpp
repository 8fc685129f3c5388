// SPDX-License-Identifier: Apache-2.0
// The commands of `ggemm`: each is one file with one function that adds it to the command line.
#pragma once
#include <CLI/CLI.hpp>

namespace ggemm::tools {

void add_doctor(CLI::App& app);
void add_gemm(CLI::App& app);
void add_grouped(CLI::App& app);
void add_bench(CLI::App& app);
void add_tune(CLI::App& app);
void add_tiles(CLI::App& app);
void add_configs(CLI::App& app);
void add_cache(CLI::App& app);
void add_demo(CLI::App& app);

}  // namespace ggemm::tools
