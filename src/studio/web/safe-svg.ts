const NAMESPACE = 'http://www.w3.org/2000/svg';
const ELEMENTS: ReadonlySet<string> = new Set(['svg', 'title', 'g', 'rect', 'circle', 'path', 'text']);
const ATTRIBUTES: ReadonlySet<string> = new Set([
  'viewBox',
  'width',
  'height',
  'role',
  'aria-label',
  'class',
  'x',
  'y',
  'rx',
  'cx',
  'cy',
  'r',
  'd',
  'data-ref',
  'data-runs-as',
  'data-from',
  'data-to',
]);

/** A picture of the server made anew from what a picture needs: shapes and text. Undefined for what is no SVG. */
export function safeSvg(source: string): SVGSVGElement | undefined {
  // Its style is the page's own here; the policy of the page would complain of it.
  const plain = source.replace(/<style>[^<]*<\/style>/, '');
  const { documentElement } = new DOMParser().parseFromString(plain, 'image/svg+xml');
  if (documentElement.namespaceURI !== NAMESPACE || documentElement.localName !== 'svg') return undefined;
  const root = copyOf(documentElement);
  const open: [Element, Element][] = [[documentElement, root]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [from, to] = next;
    for (const child of from.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) to.append(child.nodeValue ?? '');
      if (!(child instanceof Element) || child.namespaceURI !== NAMESPACE || !ELEMENTS.has(child.localName)) continue;
      const copy = copyOf(child);
      to.append(copy);
      open.push([child, copy]);
    }
  }
  return root as SVGSVGElement;
}

function copyOf(element: Element): SVGElement {
  const copy = document.createElementNS(NAMESPACE, element.localName);
  for (const { name, value } of element.attributes) if (ATTRIBUTES.has(name)) copy.setAttribute(name, value);
  return copy;
}
