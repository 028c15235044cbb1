// Boxes that scroll sideways are reached with the keyboard, also where the theme thinks there is none; tables have the
// name of the heading above.
const scrolls = (box) => box.scrollWidth > box.clientWidth;
const above = (box) => {
  const before = [...document.querySelectorAll(".md-content h1, .md-content h2, .md-content h3, .md-content h4")];
  const heading = before.filter((h) => h.compareDocumentPosition(box) & Node.DOCUMENT_POSITION_FOLLOWING).pop();
  return heading ? heading.firstChild.textContent.trim() : document.title;
};
const reach = () => {
  // The button that copies is no part of the page's navigation.
  for (const box of document.querySelectorAll("nav.md-code__nav:not([role])")) box.setAttribute("role", "none");
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap, pre > code")) {
    if (!scrolls(box) || box.tabIndex === 0) continue;
    box.tabIndex = 0;
    if (box.tagName === "CODE") continue;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", `Table, ${above(box)}, scrolls sideways`);
  }
};
new MutationObserver(reach).observe(document.body, { subtree: true, childList: true, attributeFilter: ["tabindex"] });
addEventListener("resize", reach);
reach();
