// What a schedule decides, as numbers. Features of the program (features.cc) mean the same for all tasks, but leave out
// what nobody thought of; decisions leave nothing out and mean something within one task only: the model that a run
// trains for its own tasks sees both.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "schedule/trace.h"

namespace mcc {

// By name: log2 of each extent of a split and of the number of parts, the place of each loop in a reorder, 1 for any
// other step.
using Decisions = std::map<std::string, float>;
Decisions decisions(const Trace& trace);

constexpr float kUndecided = -1;  // where a trace says nothing about a decision of others

// The decisions in which some traces differ, in the order of their names.
std::vector<std::string> differing(std::span<const Decisions> all);
// Appends the values of these decisions to a row of features.
void append_decisions(const Decisions& from, std::span<const std::string> names, std::vector<float>& row);

}  // namespace mcc
