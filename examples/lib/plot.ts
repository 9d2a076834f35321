// Curves and points in a terminal, as text.

/** Points and a curve over x, `width` × `height` characters; later series overwrite earlier ones. */
export function plot(
  series: readonly {
    readonly x: ArrayLike<number>;
    readonly y: ArrayLike<number>;
    readonly mark: string;
  }[],
  width = 72,
  height = 18,
): string {
  const all = (pick: "x" | "y") => series.flatMap((s) => Array.from(s[pick]));
  const [x0, x1] = [Math.min(...all("x")), Math.max(...all("x"))];
  const [y0, y1] = [Math.min(...all("y")), Math.max(...all("y"))];
  const grid = Array.from({ length: height }, () => new Array<string>(width).fill(" "));
  for (const s of series) {
    for (let i = 0; i < s.x.length; i++) {
      const c = Math.round((s.x[i] - x0) / (x1 - x0 || 1) * (width - 1));
      const r = Math.round((y1 - s.y[i]) / (y1 - y0 || 1) * (height - 1));
      grid[r][c] = s.mark;
    }
  }
  const label = (r: number) => (r === 0 ? y1 : r === height - 1 ? y0 : NaN);
  return grid.map((row, r) => {
    const v = label(r);
    return `${(Number.isNaN(v) ? "" : v.toFixed(2)).padStart(7)} │${row.join("").trimEnd()}`;
  }).concat(
    `${" ".repeat(8)}└${"─".repeat(width)}`,
    `${" ".repeat(9)}${x0.toFixed(2).padEnd(width - 6)}${x1.toFixed(2)}`,
  ).join("\n");
}
