#include "array_view.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <thread>

#include "caffe/planned_net.hpp"

namespace pycaffe {

using caffe::Binding;
using caffe::SyncedMemory;

namespace {

/// Who has called the Python code of this thread.
thread_local InPython::Caller caller = InPython::kCallback;

/// The net under whose plan the memory is; null: none.
const caffe::PlannedNet<float>* PlanOf(const SyncedMemory& memory) {
  const Binding* const binding = memory.binding();
  return binding ? dynamic_cast<const caffe::PlannedNet<float>*>(binding->resolver) : nullptr;
}

/// The bytes that all arrays of one memory show. For holders of Python's lock.
class View {
 public:
  explicit View(const boost::shared_ptr<SyncedMemory>& memory)
      : memory_(memory),
        values_(memory->size() / sizeof(float)),
        thread_(std::this_thread::get_id()) {
    Take();
  }
  ~View() {
    All().erase(memory_.get());
    try {
      Give();
    } catch (const std::exception& error) {
      LOG(ERROR) << "What was last written into an array is lost: " << error.what();
    }
  }

  static std::map<const SyncedMemory*, std::weak_ptr<View>>& All() {
    static auto* const views = new std::map<const SyncedMemory*, std::weak_ptr<View>>;
    return *views;  // arrays may live until the program ends
  }
  /// Those that may be looked at from here: no net of theirs is at work in another thread.
  static std::vector<std::shared_ptr<View>> Mine() {
    const bool alone = caffe::Caffe::solver_count() <= 1;
    std::vector<std::shared_ptr<View>> views;
    for (const auto& entry : All()) {
      const std::shared_ptr<View> view = entry.second.lock();
      if (view && (alone || view->thread_ == std::this_thread::get_id())) views.push_back(view);
    }
    return views;
  }

  float* values() { return values_.data(); }
  bool has_value() const { return has_value_; }

  /// Shows what the memory holds; throws where it holds nothing.
  void Take() {
    // A plan that has given up what a layer has made of an input has the input yet.
    const bool given_up = PlanOf(*memory_) && !Readable(*memory_);
    std::memcpy(values(), given_up ? memory_->mutable_cpu_data() : memory_->cpu_data(), Size());
    has_value_ = true;
    told_ = false;
  }

  /// The same where Python goes on after the library has worked.
  void Refresh() {
    if (InReach()) return Take();
    if (caller == InPython::kLayer) return;
    has_value_ = false;
    std::fill(values_.begin(), values_.end(), std::numeric_limits<float>::quiet_NaN());
    LOG_IF(WARNING, !told_) << "An array shows a blob whose value the net's memory plan has given "
                               "up: it is NaN until there is a value again. A copy of the array, "
                               "or placement { keep: ... }, keeps it.";
    told_ = true;
  }

  /// What was written into the arrays goes into the memory.
  void Give() {
    if (!has_value_ || !InReach()) return;
    // Nothing where nothing was: to take a value for a new one has a meaning, of an input say.
    if (std::memcmp(memory_->cpu_data(), values(), Size()) != 0)
      std::memcpy(memory_->mutable_cpu_data(), values(), Size());
  }

 private:
  size_t Size() const {
    const Binding* const binding = memory_->binding();
    return binding ? std::min(binding->bytes, memory_->size()) : memory_->size();
  }

  bool InReach() const {
    const auto* const net = PlanOf(*memory_);
    const bool own_pass = net && caller == InPython::kLayer && net->executor().running();
    return own_pass ? memory_->binding()->readable != nullptr : Readable(*memory_);
  }

  const boost::shared_ptr<SyncedMemory> memory_;
  std::vector<float> values_;
  const std::thread::id thread_;
  bool has_value_ = false;  ///< else NaN
  bool told_ = false;       ///< so does the log say
};

void RefreshAll() {
  for (const auto& view : View::Mine()) view->Refresh();
}

void GiveAll() {
  for (const auto& view : View::Mine()) view->Give();
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

InLibrary::InLibrary() {
  GiveAll();
  if (caffe::Caffe::solver_count() > 1) others_run_.emplace();
}

InLibrary::~InLibrary() {
  others_run_.reset();
  try {
    RefreshAll();
  } catch (const std::exception& error) {
    LOG(ERROR) << "Arrays show old values: " << error.what();
  }
}

InPython::InPython(Caller by) : outer_(caller) {
  caller = by;
  RefreshAll();
}

InPython::~InPython() { caller = outer_; }

void InPython::Return() { GiveAll(); }

}  // namespace pycaffe
