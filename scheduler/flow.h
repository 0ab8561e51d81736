// Flow: the oneTBB flow graph that batches travel through. Who runs what, and nothing of what is
// done.
//
//   Submit ─► read (async) ─► sample (a task a chunk) ─► complete ─► upload (async) ─► deliver
//
// A batch that needs no reading and no upload takes a short way: SubmitRows ─► rows (a task a
// chunk), and whoever is done last hands it on; a Hold keeps the flow from draining meanwhile.
//
// Rows that the device found damaged are repaired (a task a chunk) between upload's start and its
// end.
//
// Every message belongs to an admitted batch, so no queue here can grow; nothing in it rejects,
// limits or blocks. Failed batches pass through all nodes. Bodies must not throw.
#pragma once

#include <functional>
#include <memory>

#include "penstock/scheduler/batch_work.h"

namespace penstock {

struct FlowBodies {
  // Starts reading a batch. `emit(chunk)` hands on rows that are there, from any thread; `end()` is
  // called last, once. Both may be called before this returns.
  std::function<void(const EnvelopePtr&, const std::function<void(const Chunk&)>& emit,
                     const std::function<void()>& end)>
      read;
  std::function<void(const Chunk&)> sample;
  // True for the chunk that is the batch's last.
  std::function<bool(const Chunk&)> sample_done;
  std::function<void(Envelope&)> complete;
  // Starts the upload; `end()` is called once, from any thread, when it has been issued.
  std::function<void(const EnvelopePtr&, std::function<void()> end)> upload;
  std::function<void(const EnvelopePtr&)> deliver;
  // The short way.
  std::function<void(const Chunk&)> rows;
  std::function<void(const Chunk&)> repair;
};

// The threads that bodies run on, which several flows may share.
class FlowArena {
 public:
  // At most `threads` bodies run at a time.
  explicit FlowArena(int threads);
  ~FlowArena();
  int threads() const { return threads_; }

 private:
  friend class Flow;
  struct Tbb;
  const int threads_;
  std::unique_ptr<Tbb> tbb_;
};

class Flow {
 public:
  Flow(std::shared_ptr<FlowArena> arena, FlowBodies bodies);
  // Waits until every submitted batch has been delivered.
  ~Flow();
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  // Thread-safe. Not after Drain() has begun.
  void Submit(const EnvelopePtr& envelope);
  // Rows of a batch; its Envelope has a Hold of this flow. Also from within `rows`.
  void SubmitRows(const Chunk& chunk);
  // Of a batch whose upload has not ended.
  void SubmitRepair(const Chunk& chunk);
  // Drain() waits until it is gone.
  std::shared_ptr<void> Hold();
  // Waits until every submitted batch has been delivered. Not from a body.
  void Drain();

 private:
  class Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace penstock
