// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace urxe {

/// Address ranges, any of which may overlap, found by what they overlap in logarithmic time. A
/// treap: the nodes are the owner's, and nothing is allocated. Not thread-safe.
class RangeTree {
 public:
  /// [begin, end). Not to be changed while it is in a tree.
  struct Node {
    uintptr_t begin = 0;
    uintptr_t end = 0;

   private:
    friend class RangeTree;
    uintptr_t max_end_ = 0;  ///< of all below and itself
    uint64_t priority_ = 0;
    Node* left_ = nullptr;
    Node* right_ = nullptr;
  };

  void insert(Node& node);
  /// `node` must be in the tree.
  void remove(Node& node);
  /// Forgets all nodes.
  void clear() { root_ = nullptr; }

  /// All ranges lie between these two; both 0 if there are none.
  [[nodiscard]] uintptr_t lowest() const;
  [[nodiscard]] uintptr_t highest() const { return root_ == nullptr ? 0 : root_->max_end_; }

  /// Calls `visit(Node&)` for each range that has a byte of [begin, end).
  template <class Visit>
  void visit_overlapping(uintptr_t begin, uintptr_t end, Visit visit) const {
    visit_below(root_, begin, end, visit);
  }

 private:
  static bool is_before(const Node& a, const Node& b) {
    return a.begin != b.begin ? a.begin < b.begin : &a < &b;
  }
  static void update(Node& node);
  static void split(Node* root, const Node& at, Node*& before, Node*& after);
  static Node* merge(Node* before, Node* after);
  static void insert_below(Node*& root, Node& node);
  static void remove_below(Node*& root, const Node& node);

  template <class Visit>
  static void visit_below(Node* node, uintptr_t begin, uintptr_t end, Visit& visit) {
    if (node == nullptr || node->max_end_ <= begin) return;
    visit_below(node->left_, begin, end, visit);
    if (node->begin >= end) return;
    if (node->end > begin) visit(*node);
    visit_below(node->right_, begin, end, visit);
  }

  Node* root_ = nullptr;
  uint64_t priorities_ = 0;  ///< counts through the nodes' priorities
};

}  // namespace urxe
