#include "array_view.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "caffe/planned_net.hpp"

namespace pycaffe {

using caffe::Binding;
using caffe::SyncedMemory;

namespace {

/// Who has called the Python code that this thread runs.
thread_local InPython::Caller caller = InPython::kCallback;

/// The net whose plan the memory belongs to, or null.
const caffe::PlannedNet<float>* PlanOf(const SyncedMemory& memory) {
  const Binding* const binding = memory.binding();
  return binding ? dynamic_cast<const caffe::PlannedNet<float>*>(binding->resolver) : nullptr;
}

/// The memory of the blobs and parameters of `owners`.
std::set<const SyncedMemory*> MemoryOf(const Owners& owners) {
  std::set<const SyncedMemory*> memory;
  const auto add = [&](const caffe::Blob<float>& blob) {
    if (blob.HasShape()) memory.insert({blob.data().get(), blob.diff().get()});
  };
  for (const caffe::Net<float>* net : owners.nets) {
    for (const auto& blob : net->blobs()) add(*blob);
    for (const auto& layer : net->layers()) {
      for (const auto& blob : layer->blobs()) add(*blob);
    }
  }
  for (const caffe::Blob<float>* blob : owners.blobs) add(*blob);
  return memory;
}

/// The bytes that all arrays of one memory show. Callers must hold Python's lock.
class View {
 public:
  explicit View(const boost::shared_ptr<SyncedMemory>& memory)
      : memory_(memory), values_(memory->size() / sizeof(float)) {
    Take();
  }
  ~View() {
    All().erase(memory_.get());
    try {
      Give();
    } catch (const std::exception& error) {
      LOG(ERROR) << "What was last written into an array is lost: " << error.what();
      Loss() = std::current_exception();
    }
  }

  /// Why values written into a deleted array were lost; null if none were, or the error has been
  /// raised.
  static std::exception_ptr& Loss() {
    static std::exception_ptr loss;
    return loss;
  }

  static std::map<const SyncedMemory*, std::weak_ptr<View>>& All() {
    static auto* const views = new std::map<const SyncedMemory*, std::weak_ptr<View>>;
    return *views;  // arrays may live until the program ends
  }
  static std::vector<std::shared_ptr<View>> Of(const Owners& owners) {
    std::vector<std::shared_ptr<View>> views;
    if (All().empty()) return views;
    const std::set<const SyncedMemory*> memory = MemoryOf(owners);
    const auto of_net = [&](const caffe::Net<float>* net) {
      return std::count(owners.nets.begin(), owners.nets.end(), net) > 0;
    };
    for (const auto& [key, weak] : All()) {
      const std::shared_ptr<View> view = weak.lock();
      // Memory of others is left alone: another thread may be running their net.
      if (view && (memory.count(key) || (view->planned_by_ && of_net(view->planned_by_))))
        views.push_back(view);
    }
    return views;
  }

  float* values() { return values_.data(); }
  bool has_value() const { return has_value_; }

  /// Shows the values of the memory. Throws if there are none, or shows NaN if the caller is
  /// kShapes.
  void Take() {
    if (caller == InPython::kShapes && !InReach()) return Blank();
    // If the plan has dropped what a layer computed in place on an input, the input itself is still
    // there.
    const auto* const plan = PlanOf(*memory_);
    if (plan != nullptr) planned_by_ = &plan->net();
    const bool given_up = plan && !Readable(*memory_);
    std::memcpy(values(), given_up ? memory_->mutable_cpu_data() : memory_->cpu_data(), Size());
    shown_ = values_;
    has_value_ = true;
    told_ = false;
  }

  /// Shows the new values after a call into the library. Does not throw for a dropped value, but
  /// shows NaN and warns.
  void Refresh() {
    if (InReach()) return Take();
    if (caller != InPython::kCallback) return;
    Blank();
    LOG_IF(WARNING, !told_) << "An array shows a blob whose value the net's memory plan has given "
                               "up: it is NaN until there is a value again. A copy of the array, "
                               "or placement { keep: ... }, keeps it.";
    told_ = true;
  }

  /// Writes the arrays' values to the memory if Python has changed them. If not, does nothing: the
  /// memory may have changed through another blob, and writing marks a value as new, which matters
  /// for inputs. Throws if the value was dropped and cannot be set.
  void Give() {
    if (std::memcmp(shown_.data(), values(), Size()) == 0) return;
    if (has_value_ ? !InReach() : caller != InPython::kCallback) return;
    const std::vector<float> written = values_;
    if (!has_value_) values_ = shown_;  // an error is reported once
    std::memcpy(memory_->mutable_cpu_data(), written.data(), Size());
    values_ = shown_ = written;
    has_value_ = true;
  }

 private:
  size_t Size() const {
    const Binding* const binding = memory_->binding();
    return binding ? std::min(binding->bytes, memory_->size()) : memory_->size();
  }

  void Blank() {
    has_value_ = false;
    std::fill(values_.begin(), values_.end(), std::numeric_limits<float>::quiet_NaN());
    shown_ = values_;
  }

  bool InReach() const {
    const auto* const net = PlanOf(*memory_);
    const bool own_pass = net && caller != InPython::kCallback && net->executor().running();
    return own_pass ? memory_->binding()->readable != nullptr : Readable(*memory_);
  }

  const boost::shared_ptr<SyncedMemory> memory_;
  std::vector<float> values_;  ///< NumPy has pointers to these bytes: they must not move
  std::vector<float> shown_;   ///< values_ as of the last exchange: differs if Python has written
  const caffe::Net<float>* planned_by_ =
      nullptr;              ///< the net whose plan the memory belongs to, or did
  bool has_value_ = false;  ///< false: values_ are NaN
  bool told_ = false;       ///< the log has the warning about NaN
};

void Refresh(const Owners& owners) {
  for (const auto& view : View::Of(owners)) view->Refresh();
}

void Give(const Owners& owners) {
  for (const auto& view : View::Of(owners)) view->Give();
  if (View::Loss()) std::rethrow_exception(std::exchange(View::Loss(), nullptr));
}

}  // namespace

bool Readable(const SyncedMemory& memory) {
  const Binding* const binding = memory.binding();
  if (!binding || binding->readable) return true;
  const auto* const net = PlanOf(memory);
  return net && net->Holds(memory);
}

py::array_t<float> ViewOf(const boost::shared_ptr<SyncedMemory>& memory,
                          const std::vector<int>& shape) {
  const auto known = View::All().find(memory.get());
  std::shared_ptr<View> view = known == View::All().end() ? nullptr : known->second.lock();
  if (!view) {
    view = std::make_shared<View>(memory);
    View::All()[memory.get()] = view;
  } else if (!view->has_value()) {
    view->Take();
  }
  const py::capsule owner(new std::shared_ptr<View>(view),
                          [](void* held) { delete static_cast<std::shared_ptr<View>*>(held); });
  return py::array_t<float>(shape, view->values(), owner);
}

InLibrary::InLibrary(Owners owners) : owners_(std::move(owners)) {
  Give(owners_);
  if (caffe::Caffe::solver_count() > 1) others_run_.emplace();
}

InLibrary::~InLibrary() {
  others_run_.reset();
  try {
    Refresh(owners_);
  } catch (const std::exception& error) {
    LOG(ERROR) << "Arrays show old values: " << error.what();
  }
}

InPython::InPython(Caller by, Owners owners) : outer_(caller), owners_(std::move(owners)) {
  caller = by;
  Refresh(owners_);
}

InPython::~InPython() { caller = outer_; }

void InPython::Return() { Give(owners_); }

}  // namespace pycaffe
