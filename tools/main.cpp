// SPDX-License-Identifier: Apache-2.0
// ggemm: the command line. A client of ggemm.h like any other.
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "commands.hpp"
#include "common/failure.hpp"
#include "core/error.hpp"
#include "ggemm.h"

namespace {

constexpr const char* footer =
    "Exit codes: 0 done; 1 a product, a check or the device failed; 2 a wrong command line or wrong contents of an input;\n"
    "3 a file that cannot be read, understood or written. `ggemm COMMAND --help` describes a command, `man ggemm` all of them.";

int complain(int code, const std::string& text) {
  if (!text.empty()) std::fprintf(stderr, "ggemm: %s\n", text.c_str());
  return code;
}

// Help and version are no errors; everything else that the parser refuses is wrong usage.
int parse_outcome(CLI::App& app, const CLI::ParseError& error, const char* first) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
  if (app.get_subcommands().empty() && first)
    return complain(ggemm::tools::exit_usage, std::string("there is no ") + (*first == '-' ? "option" : "command") + " '" + first + "' (see ggemm --help)");
  std::string where = "ggemm";
  for (const CLI::App* command : app.get_subcommands()) where += " " + command->get_name();
  return complain(ggemm::tools::exit_usage, std::string(error.what()) + " (see " + where + " --help)");
}

// What was printed must have arrived: a full disk behind `> file` is no success.
int flushed(int code) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  return complain(ggemm::tools::exit_file, "standard output: cannot be written");
}

}  // namespace

int main(int argc, char** argv) {
  using namespace ggemm;
  CLI::App app("Plain and grouped matrix products on CUDA GPUs and on the CPU", "ggemm");
  app.set_version_flag("--version", std::string("ggemm ") + ggemm_version_string());
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  app.footer(footer);
  tools::add_doctor(app);
  tools::add_demo(app);
  tools::add_gemm(app);
  tools::add_grouped(app);
  tools::add_bench(app);
  tools::add_tune(app);
  tools::add_configs(app);
  tools::add_tiles(app);
  tools::add_cache(app);
  try {
    app.parse(argc, argv);
    return flushed(tools::exit_ok);
  } catch (const CLI::ParseError& error) {
    return flushed(parse_outcome(app, error, argc > 1 ? argv[1] : nullptr));
  } catch (const tools::Failure& failure) {
    return flushed(complain(failure.code(), failure.what()));
  } catch (const core::Error& error) {
    return complain(error.status() == GGEMM_ERROR_ARGUMENT ? tools::exit_usage : tools::exit_failure, error.text());
  } catch (const std::bad_alloc&) {
    return complain(tools::exit_failure, "memory is used up");
  } catch (const std::exception& error) {
    return complain(tools::exit_failure, error.what());
  }
}
