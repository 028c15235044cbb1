"""Accessibility of a page by the rules of axe-core, in the schemes and widths in which people read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

COLOURS = ("color-contrast", "link-in-text-block")
"""Rules about colours."""

_RUN = """async ({ only, preload }) => {
  // Contrast follows from the colour, the size and the weight of a text and from what is painted behind it:
  // of all texts that agree in these, one is checked. A page of code has thousands.
  const behind = (element) => {
    let key = "";
    for (let at = element; at; at = at.parentElement) {
      const style = getComputedStyle(at);
      key += `${style.backgroundColor} ${style.backgroundImage} ${style.opacity} ${style.position};`;
    }
    return key;
  };
  const seen = new Map();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const key = [style.color, style.fontSize, style.fontWeight, element.tagName, behind(element)].join();
    if (!seen.has(key)) seen.set(key, element);
  }
  for (const element of document.querySelectorAll("[data-text]")) element.removeAttribute("data-text");
  for (const element of seen.values()) element.setAttribute("data-text", "");
  axe.configure({ rules: [{ id: "color-contrast", selector: "[data-text]" }] });
  const options = { resultTypes: ["violations"], iframes: false, preload };
  if (only) options.runOnly = { type: "rule", values: only };
  const { violations } = await axe.run(options);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, html, any }) =>
      `${id}: ${target.join(" ")}: ${html.slice(0, 200)} ${any.map(({ message }) => message).join("; ")}`));
}"""


class State(NamedTuple):
    """A way in which a page is seen, with the rules to check.

    Attributes:
        width: Width of the window, in pixels.
        scheme: Its scheme.
        only: The rules that are checked; None for all.
    """

    width: int
    scheme: Literal["light", "dark"]
    only: Sequence[str] | None = None


STATES = (State(1280, "light"), State(1280, "dark", COLOURS), State(400, "light"))
"""All rules in both widths, and rules about colours in both schemes: no other depends on them."""

NARROW_AND_DARK = State(400, "dark", COLOURS)
"""The last combination: only the theme's drawer has colours that no other state has."""


def offences(
    page: Page, address: str, states: Sequence[State] = STATES, preload: bool = False, ready: str = "html"
) -> list[str]:
    """Opens an address once, and returns what breaks a rule, with the state in which it does.

    Args:
        page: A page of a browser, which is left in the last state.
        address: The address.
        states: The states.
        preload: Whether axe-core reads the style sheets too, for a rule about the orientation of the screen.
        ready: What the page has once it is complete, as a selector.
    """
    _see(page, states[0])
    page.goto(address)
    page.wait_for_selector(ready, state="attached")
    page.evaluate(AXE_SCRIPT)
    found: list[str] = []
    for state in states:
        _see(page, state)
        asked = {"only": state.only, "preload": preload}
        found += [f"{state.width} px, {state.scheme}: {each}" for each in page.evaluate(_RUN, asked)]
    return found


def _see(page: Page, state: State) -> None:
    page.emulate_media(color_scheme=state.scheme, reduced_motion="reduce")
    page.set_viewport_size({"width": state.width, "height": 900})
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
