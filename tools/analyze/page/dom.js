// SPDX-License-Identifier: BSD-2-Clause
// Elements. Text becomes text nodes only, never markup: names in a capture are anybody's.

/** An element with attributes (functions are listeners; null and false leave one out) and children. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A colour of the style sheet, for a canvas. */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

/** Heading and contents of a part of the page; null without contents. */
function section(id, title, ...children) {
  const contents = children.filter((child) => child !== null && child !== undefined);
  return contents.length === 0 ? null : make("section", {id}, make("h2", {}, title), ...contents);
}
