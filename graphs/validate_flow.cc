#include "penstock/graphs/validate_flow.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "penstock/graphs/names.h"

namespace penstock {
namespace {

int Count(const std::vector<ValidNode>& nodes) { return static_cast<int>(nodes.size()); }

bool IsSource(const ValidNode& node) {
  return node.entry != nullptr && node.entry->role == Registry::Role::kSource;
}

// An unknown stage that reads from nothing counts as a source.
bool MayBeSource(const ValidNode& node) { return node.entry == nullptr || IsSource(node); }

// Number of the node with that name, -1 if there is none.
int Find(const std::vector<ValidNode>& nodes, const std::string& name) {
  const auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [&](const ValidNode& node) { return node.name == name; });
  return found == nodes.end() ? -1 : static_cast<int>(found - nodes.begin());
}

std::string NoSuchInput(const std::vector<ValidNode>& nodes, const ValidNode& reader,
                        const std::string& name) {
  std::vector<std::string> known;
  for (const ValidNode& node : nodes) {
    if (!node.name.empty() && node.name != reader.name) known.push_back(node.name);
  }
  return absl::StrCat("input '", name, "' is no node", Hint(name, known, "there are"));
}

void LinkInput(const NodeConfig& config, int i, std::vector<ValidNode>& nodes,
               GraphErrors& errors) {
  ValidNode& node = nodes[i];
  const int inputs = config.input_size();
  if (IsSource(node)) {
    if (inputs > 0) errors.AddNode(i, node.name, "input", "it is a source and takes no input");
    return;
  }
  if (inputs > 1) {
    errors.AddNode(i, node.name, "input", absl::StrCat("it takes one input, but has ", inputs));
  }
  for (int k = 0; k < inputs; ++k) {
    const int found = Find(nodes, config.input(k));
    if (k == 0) node.input = found;
    if (found >= 0) continue;
    errors.AddNode(i, node.name, k == 0 ? "input" : absl::StrCat("input[", k, "]"),
                   NoSuchInput(nodes, node, config.input(k)));
  }
  if (inputs > 0) return;
  if (i > 0) {
    node.input = i - 1;
  } else if (node.entry != nullptr) {
    errors.AddNode(i, node.name, "",
                   "it has no input: it is the first node and no source; put a source above it or "
                   "name its input");
  }
}

// What may follow at a place of the flow. In the order of the flow.
enum class Section { kUnknown, kSource, kHost, kCollated, kPinned, kUploaded };

struct Step {
  Section next;
  std::string problem;  // "" if the node may stand here.
};

Step AfterCache(Section section) {
  if (section <= Section::kSource) return {Section::kHost, ""};
  return {section, "Cache keeps what a source gives; move it directly behind the source"};
}

Step AfterCollate(Section section) {
  if (section <= Section::kHost) return {Section::kCollated, ""};
  if (section == Section::kUploaded) {
    return {section, "a second Collate, behind Upload; samples are collated once"};
  }
  return {section, "a second Collate; samples are collated once"};
}

Step AfterPin(Section section) {
  switch (section) {
    case Section::kHost:
      return {Section::kPinned, "Pin needs Collate before it"};
    case Section::kPinned:
      return {section, "a second Pin; one is enough"};
    case Section::kUploaded:
      return {section, "Pin stands behind Upload; move it between Collate and Upload"};
    default:
      return {Section::kPinned, ""};
  }
}

Step AfterUpload(Section section) {
  if (section == Section::kHost) return {Section::kUploaded, "Upload needs Collate before it"};
  if (section == Section::kUploaded) return {section, "a second Upload; a batch goes up once"};
  return {Section::kUploaded, ""};
}

Step AfterBatchStage(Section section) {
  switch (section) {
    case Section::kHost:
      return {Section::kCollated, "it works on batches and needs Collate before it"};
    case Section::kPinned:
      return {section, "it works on batches and belongs between Collate and Pin"};
    case Section::kUploaded:
      return {section, "it works on batches on the host and belongs between Collate and Upload"};
    default:
      return {Section::kCollated, ""};
  }
}

Step AfterSampleStage(Section section) {
  if (section == Section::kCollated || section == Section::kPinned) {
    return {section,
            "it works on samples and cannot stand between Collate and Upload; move it before "
            "Collate, or behind Upload"};
  }
  return {section, ""};
}

Step After(Section section, const ValidNode& node) {
  if (node.entry == nullptr) return {Section::kUnknown, ""};
  // Only a Cache tells the two apart.
  const Section host = section == Section::kSource ? Section::kHost : section;
  switch (node.entry->role) {
    case Registry::Role::kSource:
      return {Section::kSource, ""};
    case Registry::Role::kSample:
      return AfterSampleStage(host);
    case Registry::Role::kBatch:
      return AfterBatchStage(host);
    case Registry::Role::kPlan:
      break;
  }
  switch (node.entry->plan()->role()) {
    case PlanRole::kCache:
      return AfterCache(section);
    case PlanRole::kCollate:
      return AfterCollate(host);
    case PlanRole::kPin:
      return AfterPin(host);
    case PlanRole::kUpload:
      break;
  }
  return AfterUpload(host);
}

std::string EndProblem(Section section) {
  switch (section) {
    case Section::kSource:
    case Section::kHost:
      return "the flow ends here without Collate and Upload; put both behind it";
    case Section::kCollated:
    case Section::kPinned:
      return "the flow ends here without Upload; put it behind";
    default:
      return "";
  }
}

}  // namespace

void LinkInputs(const Graph& graph, std::vector<ValidNode>& nodes, GraphErrors& errors) {
  for (int i = 0; i < Count(nodes); ++i) LinkInput(graph.config().node(i), i, nodes, errors);
}

void CheckCycles(const std::vector<ValidNode>& nodes, GraphErrors& errors) {
  std::vector<int> seen_from(nodes.size(), -1);  // The node whose walk came here first.
  for (int start = 0; start < Count(nodes); ++start) {
    int at = start;
    while (at >= 0 && seen_from[at] < 0) {
      seen_from[at] = start;
      at = nodes[at].input;
    }
    if (at < 0 || seen_from[at] != start) continue;  // At a source, or on a way already walked.
    // Every node on a cycle is walked first from its first node in the text or from one that hangs
    // on it; list it from its first node.
    int first = at;
    for (int on = nodes[at].input; on != at; on = nodes[on].input) first = std::min(first, on);
    std::string cycle = nodes[first].name;
    for (int on = nodes[first].input; on != first; on = nodes[on].input) {
      cycle = absl::StrCat(nodes[on].name, " -> ", cycle);
    }
    errors.AddNode(first, nodes[first].name, "input",
                   absl::StrCat("the nodes go in a cycle: ", nodes[first].name, " -> ", cycle,
                                "; one of them has to read from another node"));
  }
}

std::vector<std::vector<int>> TraceOutputs(const std::vector<ValidNode>& nodes) {
  std::vector<bool> is_read(nodes.size(), false);
  for (const ValidNode& node : nodes) {
    if (node.input >= 0) is_read[node.input] = true;
  }
  std::vector<std::vector<int>> outputs;
  for (int end = 0; end < Count(nodes); ++end) {
    if (is_read[end]) continue;
    std::vector<int> way;
    for (int at = end; at >= 0 && way.size() <= nodes.size(); at = nodes[at].input) {
      way.push_back(at);
    }
    // Not from a source: it comes out of a cycle, or a node on it lacks its input.
    if (way.size() > nodes.size() || !MayBeSource(nodes[way.back()])) continue;
    std::reverse(way.begin(), way.end());
    outputs.push_back(std::move(way));
  }
  return outputs;
}

void CheckRoles(const std::vector<ValidNode>& nodes, const std::vector<std::vector<int>>& outputs,
                GraphErrors& errors) {
  std::vector<bool> done(nodes.size(), false);  // Outputs may share the beginning of their ways.
  std::vector<std::pair<int, std::string>> ends;
  for (const std::vector<int>& way : outputs) {
    Section section = Section::kUnknown;
    for (int at : way) {
      const Step step = After(section, nodes[at]);
      if (!step.problem.empty() && !done[at]) {
        errors.AddNode(at, nodes[at].name, "", step.problem);
      }
      done[at] = true;
      section = step.next;
    }
    const std::string problem = EndProblem(section);
    if (!problem.empty()) ends.emplace_back(way.back(), problem);
  }
  // A node that hangs on no source may be what is missing behind another one.
  if (std::find(done.begin(), done.end(), false) != done.end()) return;
  for (const auto& [at, problem] : ends) errors.AddNode(at, nodes[at].name, "", problem);
}

}  // namespace penstock
