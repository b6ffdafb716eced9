// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/memory/range_tree.h"

#include <algorithm>

namespace urxe {

void RangeTree::update(Node& node) {
  node.max_end = node.end;
  if (node.left != nullptr) node.max_end = std::max(node.max_end, node.left->max_end);
  if (node.right != nullptr) node.max_end = std::max(node.max_end, node.right->max_end);
}

void RangeTree::split(Node* root, const Node& at, Node*& before, Node*& after) {
  if (root == nullptr) {
    before = after = nullptr;
    return;
  }
  if (is_before(*root, at)) {
    before = root;
    split(root->right, at, root->right, after);
  } else {
    after = root;
    split(root->left, at, before, root->left);
  }
  update(*root);
}

RangeTree::Node* RangeTree::merge(Node* before, Node* after) {
  if (before == nullptr) return after;
  if (after == nullptr) return before;
  Node* root = before->priority > after->priority ? before : after;
  if (root == before) {
    before->right = merge(before->right, after);
  } else {
    after->left = merge(before, after->left);
  }
  update(*root);
  return root;
}

void RangeTree::insert_below(Node*& root, Node& node) {
  if (root == nullptr || node.priority > root->priority) {
    split(root, node, node.left, node.right);
    root = &node;
  } else {
    insert_below(is_before(node, *root) ? root->left : root->right, node);
  }
  update(*root);
}

void RangeTree::remove_below(Node*& root, const Node& node) {
  if (root == &node) {
    root = merge(root->left, root->right);
    return;
  }
  remove_below(is_before(node, *root) ? root->left : root->right, node);
  update(*root);
}

void RangeTree::insert(Node& node) {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  node.priority = random_;
  insert_below(root_, node);
}

void RangeTree::remove(Node& node) {
  remove_below(root_, node);
}

uintptr_t RangeTree::lowest() const {
  if (root_ == nullptr) return 0;
  const Node* node = root_;
  while (node->left != nullptr) node = node->left;
  return node->begin;
}

}  // namespace urxe
