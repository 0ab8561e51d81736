#include "penstock/scheduler/flow.h"

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace penstock {
namespace {

namespace flow = oneapi::tbb::flow;

// A reservation of the graph, taken before work leaves it and dropped last: Drain() waits for it.
// Shared, since std::function copies what it holds. `Graph`: a graph, or a gateway into one.
template <class Graph>
std::shared_ptr<void> Reserve(Graph& graph) {
  graph.reserve_wait();
  return std::shared_ptr<void>(&graph,
                               [](void* held) { static_cast<Graph*>(held)->release_wait(); });
}

}  // namespace

struct FlowArena::Tbb {
  explicit Tbb(int threads)
      // At least one worker, also on a machine of one core: nobody else runs the arena's tasks.
      : workers(oneapi::tbb::global_control::max_allowed_parallelism,
                std::max<size_t>(threads + 1, oneapi::tbb::info::default_concurrency())),
        arena(threads, /*reserved_for_masters=*/0) {}
  oneapi::tbb::global_control workers;
  oneapi::tbb::task_arena arena;
};

FlowArena::FlowArena(int threads) : threads_(threads), tbb_(std::make_unique<Tbb>(threads)) {}

FlowArena::~FlowArena() = default;

// Bodies capture pointers only, since TBB copies them.
class Flow::Graph {
 public:
  Graph(std::shared_ptr<FlowArena> arena, FlowBodies bodies)
      : bodies_(std::move(bodies)), arena_(std::move(arena)) {
    arena_->tbb_->arena.execute([this] { nodes_ = std::make_unique<Nodes>(this); });
  }

  void Submit(const EnvelopePtr& envelope) { nodes_->read.try_put(envelope); }
  void SubmitRows(const Chunk& chunk) { nodes_->rows.try_put(chunk); }
  void SubmitRepair(const Chunk& chunk) { nodes_->repair.try_put(chunk); }
  std::shared_ptr<void> Hold() { return Reserve(nodes_->graph); }
  void Drain() { nodes_->graph.wait_for_all(); }

 private:
  using ReadNode = flow::async_node<EnvelopePtr, Chunk>;
  using SampleNode = flow::multifunction_node<Chunk, std::tuple<EnvelopePtr>>;
  using CompleteNode = flow::function_node<EnvelopePtr, EnvelopePtr>;
  using UploadNode = flow::async_node<EnvelopePtr, EnvelopePtr>;
  using DeliverNode = flow::function_node<EnvelopePtr, flow::continue_msg>;
  using RowsNode = flow::function_node<Chunk, flow::continue_msg>;

  struct Nodes {
    explicit Nodes(Graph* self)
        : read(graph, flow::unlimited,
               [self](const EnvelopePtr& envelope, ReadNode::gateway_type& gateway) {
                 auto hold = Reserve(gateway);
                 self->bodies_.read(
                     envelope, [&gateway](const Chunk& chunk) { gateway.try_put(chunk); },
                     [hold] {});
               }),
          sample(graph, flow::unlimited,
                 [self](const Chunk& chunk, SampleNode::output_ports_type& ports) {
                   self->bodies_.sample(chunk);
                   if (self->bodies_.sample_done(chunk)) {
                     std::get<0>(ports).try_put(chunk.envelope);
                   }
                 }),
          complete(graph, flow::unlimited,
                   [self](const EnvelopePtr& envelope) {
                     self->bodies_.complete(*envelope);
                     return envelope;
                   }),
          upload(graph, flow::unlimited,
                 [self](const EnvelopePtr& envelope, UploadNode::gateway_type& gateway) {
                   auto hold = Reserve(gateway);
                   self->bodies_.upload(envelope,
                                        [&gateway, envelope, hold] { gateway.try_put(envelope); });
                 }),
          deliver(graph, flow::unlimited,
                  [self](const EnvelopePtr& envelope) {
                    self->bodies_.deliver(envelope);
                    return flow::continue_msg();
                  }),
          rows(graph, flow::unlimited,
               [self](const Chunk& chunk) {
                 self->bodies_.rows(chunk);
                 return flow::continue_msg();
               }),
          repair(graph, flow::unlimited, [self](const Chunk& chunk) {
            self->bodies_.repair(chunk);
            return flow::continue_msg();
          }) {
      flow::make_edge(read, sample);
      flow::make_edge(flow::output_port<0>(sample), complete);
      flow::make_edge(complete, upload);
      flow::make_edge(upload, deliver);
    }
    flow::graph graph;  // Before its nodes.
    ReadNode read;
    SampleNode sample;
    CompleteNode complete;
    UploadNode upload;
    DeliverNode deliver;
    RowsNode rows, repair;
  };

  const FlowBodies bodies_;
  const std::shared_ptr<FlowArena> arena_;
  std::unique_ptr<Nodes> nodes_;
};

Flow::Flow(std::shared_ptr<FlowArena> arena, FlowBodies bodies)
    : graph_(std::make_unique<Graph>(std::move(arena), std::move(bodies))) {}

Flow::~Flow() { Drain(); }

void Flow::Submit(const EnvelopePtr& envelope) { graph_->Submit(envelope); }

void Flow::SubmitRows(const Chunk& chunk) { graph_->SubmitRows(chunk); }

void Flow::SubmitRepair(const Chunk& chunk) { graph_->SubmitRepair(chunk); }

std::shared_ptr<void> Flow::Hold() { return graph_->Hold(); }

void Flow::Drain() { graph_->Drain(); }

}  // namespace penstock
