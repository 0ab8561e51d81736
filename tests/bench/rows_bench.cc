// What the rows of kept samples cost on the host: CPU time of one thread that has a core to itself.
//
//   rows_bench DIR DEVICE     CIFAR-10, shuffled, random crop, flip, normalise, batches of 128
//
// Prints nanoseconds of CPU a sample for the ids of a batch (the order of the epoch), and for all
// else that is done to a row: draws, entries and labels, written to slabs as in a run. In a run it
// is the same work on many threads, which wait for caches that the device reads from (see
// resident_bench).
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "penstock/graphs/graph.h"
#include "penstock/graphs/planner.h"
#include "penstock/memory/open_device.h"
#include "penstock/memory/seat_pool.h"
#include "penstock/memory/status_macros.h"
#include "penstock/scheduler/batch_sequence.h"
#include "penstock/scheduler/gather_steps.h"
#include "penstock/scheduler/io_pool.h"
#include "penstock/scheduler/row_cache.h"
#include "penstock/scheduler/slab_tables.h"
#include "penstock/tests/bench/cifar_graph.h"
#include "penstock/tests/bench/figures.h"

namespace penstock {
namespace {

constexpr int kEpochs = 100, kRuns = 5, kBatch = 128;

// CPU seconds a sample of kEpochs epochs of `plan`, whose batches go to `seats` in turn.
absl::StatusOr<double> SecondsASample(const ExecutionPlan& plan, const SlabTables& tables,
                                      const GatherSteps* gather, const std::vector<Seat*>& seats) {
  PENSTOCK_ASSIGN_OR_RETURN(BatchSequence sequence, BatchSequence::Create(plan));
  std::vector<BatchWork> works(seats.size());
  int64_t samples = 0, batches = 0;
  const double start = bench::ThreadCpuSeconds();
  for (NextItem next = sequence.Next(); next.kind != NextItem::Kind::kRunEnd;
       next = sequence.Next()) {
    if (next.kind != NextItem::Kind::kBatch) continue;
    const size_t seat = static_cast<size_t>(batches++) % seats.size();
    BatchWork& work = works[seat];
    work.Start(next.batch);
    work.seat = seats[seat];
    tables.Start(work);
    work.spec.Ids(0, absl::MakeSpan(work.ids));
    if (gather != nullptr) gather->Fill(work, 0, work.count());
    if (work.failed()) return work.failure();
    samples += work.count();
  }
  return (bench::ThreadCpuSeconds() - start) / static_cast<double>(samples);
}

absl::Status Main(const std::string& folder, const std::string& device_name) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::shared_ptr<Device> device, OpenDevice(device_name));
  PENSTOCK_ASSIGN_OR_RETURN(const Graph graph,
                            ParseGraph(bench::CifarGraph(folder, "DEVICE", kBatch), "bench"));
  PlannerOptions options;
  options.device = device->kind();
  options.epochs = kEpochs;
  PENSTOCK_ASSIGN_OR_RETURN(std::vector<PlannedOutput> outputs, MakePlans(graph, options));
  const ExecutionPlan& plan = outputs.front().plan;

  PENSTOCK_ASSIGN_OR_RETURN(const std::shared_ptr<IoPool> io, IoPool::Create(4));
  RunCounters counters;
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<RowCache> cache,
                            RowCache::Fill(plan, device, *io, counters));
  SeatPoolOptions pool_options;
  pool_options.slabs = {.layout = plan.layout, .seats = plan.seats, .memory = plan.memory};
  PENSTOCK_ASSIGN_OR_RETURN(const std::shared_ptr<SeatPool> pool,
                            SeatPool::Create(device, std::move(pool_options)));
  std::vector<Seat*> seats;
  while (Seat* seat = pool->TryAcquire()) seats.push_back(seat);
  const SlabTables tables(plan);
  const GatherSteps gather(*device, plan, tables, *cache);
  for (int run = 0; run < kRuns; ++run) {
    PENSTOCK_ASSIGN_OR_RETURN(const double ids, SecondsASample(plan, tables, nullptr, seats));
    PENSTOCK_ASSIGN_OR_RETURN(const double all, SecondsASample(plan, tables, &gather, seats));
    std::printf("ids %.1f ns a sample, draws, entries and labels %.1f, together %.1f\n", ids * 1e9,
                (all - ids) * 1e9, all * 1e9);
  }
  for (Seat* seat : seats) pool->Return(seat, {});
  return absl::OkStatus();
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  const absl::Status status = argc == 3
                                  ? penstock::Main(argv[1], argv[2])
                                  : absl::InvalidArgumentError("usage: rows_bench DIR DEVICE");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
