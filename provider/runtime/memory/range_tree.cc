// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/memory/range_tree.h"

#include <algorithm>

#include "packet/base/mix_bits.h"

namespace urxe {

void RangeTree::update(Node& node) {
  node.max_end_ = node.end;
  if (node.left_ != nullptr) node.max_end_ = std::max(node.max_end_, node.left_->max_end_);
  if (node.right_ != nullptr) node.max_end_ = std::max(node.max_end_, node.right_->max_end_);
}

void RangeTree::split(Node* root, const Node& at, Node*& before, Node*& after) {
  if (root == nullptr) {
    before = after = nullptr;
    return;
  }
  if (is_before(*root, at)) {
    before = root;
    split(root->right_, at, root->right_, after);
  } else {
    after = root;
    split(root->left_, at, before, root->left_);
  }
  update(*root);
}

RangeTree::Node* RangeTree::merge(Node* before, Node* after) {
  if (before == nullptr) return after;
  if (after == nullptr) return before;
  Node* root = before->priority_ > after->priority_ ? before : after;
  if (root == before) {
    before->right_ = merge(before->right_, after);
  } else {
    after->left_ = merge(before, after->left_);
  }
  update(*root);
  return root;
}

void RangeTree::insert_below(Node*& root, Node& node) {
  if (root == nullptr || node.priority_ > root->priority_) {
    split(root, node, node.left_, node.right_);
    root = &node;
  } else {
    insert_below(is_before(node, *root) ? root->left_ : root->right_, node);
  }
  update(*root);
}

void RangeTree::remove_below(Node*& root, const Node& node) {
  if (root == &node) {
    root = merge(root->left_, root->right_);
    return;
  }
  remove_below(is_before(node, *root) ? root->left_ : root->right_, node);
  update(*root);
}

void RangeTree::insert(Node& node) {
  node.priority_ = mix_bits(priorities_ += kGoldenRatio);
  insert_below(root_, node);
}

void RangeTree::remove(Node& node) {
  remove_below(root_, node);
}

uintptr_t RangeTree::lowest() const {
  if (root_ == nullptr) return 0;
  const Node* node = root_;
  while (node->left_ != nullptr) node = node->left_;
  return node->begin;
}

}  // namespace urxe
