// Charts as SVG, and counts with their noun.

const SVG = "http://www.w3.org/2000/svg";

export function amount(count, noun, plural = `${noun}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : plural}`;
}

// Returns horizontal stacked bars, each a list of [kind, count]; `most` fills the width.
export function chart(bars, most, label) {
  const drawn = drawing(most, bars.length, "lying", label);
  bars.forEach((parts, row) => {
    let at = 0;
    for (const [kind, count] of parts) {
      drawn.append(bar(at, row, count, 1, kind));
      at += count;
    }
  });
  return drawn;
}

// Returns a column for each [day, count], with a tooltip.
export function columns(days, label) {
  const most = Math.max(...days.map(([, count]) => count), 1);
  const drawn = drawing(days.length, most, "standing", label);
  days.forEach(([day, count], index) => {
    if (!count) return;
    const one = bar(index, most - count, 0.85, count, "matched");
    const title = document.createElementNS(SVG, "title");
    title.textContent = `${day}: ${count}`;
    one.append(title);
    drawn.append(one);
  });
  return drawn;
}

function drawing(width, height, kind, label) {
  const drawn = document.createElementNS(SVG, "svg");
  const attributes = { class: `bars ${kind}`, viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img" };
  for (const [name, value] of Object.entries({ ...attributes, "aria-label": label })) drawn.setAttribute(name, value);
  return drawn;
}

function bar(x, y, width, height, kind) {
  const drawn = document.createElementNS(SVG, "rect");
  for (const [name, value] of Object.entries({ x, y, width, height, class: kind })) drawn.setAttribute(name, value);
  return drawn;
}
