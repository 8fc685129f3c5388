// SPDX-License-Identifier: Apache-2.0
#include "source.hpp"

#include <regex>

namespace emulator {
namespace {

// What stands between the parentheses after `word`; "" if it is not there.
std::string arguments_of(const std::string& text, const std::string& word) {
  const std::size_t at = text.find(word + '(');
  if (at == std::string::npos) return "";
  const std::size_t begin = at + word.size() + 1;
  int depth = 1;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return text.substr(begin, i - begin);
  }
  return "";
}

}  // namespace

std::string with_shared_variables(const std::string& text) {
  if (text.find("__shared__") == std::string::npos) return text;  // most have none, and regular expressions are slow
  static const std::regex dynamic(R"(\bextern\s+__shared__\s+(?:__align__\(\w+\)\s*)?(\w[\w:<> ]*?)\s+(\w+)\s*\[\s*\]\s*;)");
  static const std::regex fixed(R"(\b__shared__\s+(?:__align__\(\w+\)\s*)?(\w[\w:<>, ]*?)\s+(\w+)\s*((?:\[[^;\]]*\])*)\s*;)");
  const std::string out = std::regex_replace(text, dynamic, "$1* const $2 = static_cast<$1*>(::emulator::dynamic_shared());");
  return std::regex_replace(out, fixed, "auto& $2 = ::emulator::static_shared<$1$3, decltype([] {})>();");
}

std::string kernel_description(const std::string& text) {
  const std::size_t at = text.find("__global__");
  if (at == std::string::npos) return "";
  // The kernel's name is the word before the last parenthesis that is opened at the outermost level before its body.
  const std::string head = text.substr(at, text.find('{', at) - at);
  int depth = 0;
  std::size_t open = 0;
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '(' && depth++ == 0) open = i;
    if (head[i] == ')') --depth;
  }
  std::size_t end = open;
  while (end > 0 && head[end - 1] == ' ') --end;
  std::size_t begin = end;
  while (begin > 0 && (std::isalnum(static_cast<unsigned char>(head[begin - 1])) || head[begin - 1] == '_')) --begin;
  const std::string name = head.substr(begin, end - begin);
  return "\n#define EMULATOR_TEXT_(x) #x\n#define EMULATOR_TEXT(x) EMULATOR_TEXT_(x)\n"
         "extern \"C\" __attribute__((visibility(\"default\"))) const ::emulator::Kernel* emulator_kernel() {\n"
         "  using Emulated = decltype(::emulator::parameters_of(&" + name + "));\n"
         "  static const int emulator_bounds[2] = {" + arguments_of(head, "__launch_bounds__") + "}, emulator_cluster[3] = {" + arguments_of(head, "__cluster_dims__") + "};\n"
         "  static const ::emulator::Kernel emulator_made = ::emulator::describe(&" + name + ", EMULATOR_TEXT(" + name + "),\n"
         "      [](const void* emulator_parameters) { " + name + "(*static_cast<const Emulated*>(emulator_parameters)); }, emulator_bounds, emulator_cluster);\n"
         "  return &emulator_made;\n}\n";
}

}  // namespace emulator
