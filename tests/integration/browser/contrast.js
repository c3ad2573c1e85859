(() => {
  const part = (value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * part(r / 255) + 0.7152 * part(g / 255) + 0.0722 * part(b / 255);
  const numbers = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const ground = (element) => {
    for (; element; element = element.parentElement) {
      const colour = numbers(getComputedStyle(element).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.9) return colour;
    }
    return [255, 255, 255];
  };
  const poor = new Set();
  for (const element of document.querySelectorAll("main *, header *")) {
    if (element.namespaceURI.includes("svg") || element.closest("[hidden], :disabled, .unseen") || !element.offsetParent) continue;
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())) continue;
    const [a, b] = [light(numbers(getComputedStyle(element).color)), light(ground(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) poor.add(`${element.className}: ${element.textContent.slice(0, 20)} ${ratio.toFixed(2)}`);
  }
  return [...poor];
})()
