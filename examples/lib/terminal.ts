// Pictures in a terminal: digits in half blocks, a confusion matrix, curves.
import { type Digits, SIDE } from "./digits_data.ts";

const SHADES = " ░▒▓█";

/** Digits side by side, each with what it is taken for and how surely; a cell is two rows of pixels. */
export function drawDigits(
  data: Digits,
  which: readonly number[],
  labels: Int32Array,
  confidence: Float32Array,
): string {
  if (which.length === 0) return "  (none)";
  const lines: string[] = [];
  for (let y = 2; y < SIDE - 2; y += 2) {
    lines.push(
      which.map((i) => {
        let row = "";
        for (let x = 2; x < SIDE - 2; x++) {
          const at = i * SIDE * SIDE + y * SIDE + x;
          const ink = (data.images[at] + data.images[at + SIDE]) / 2;
          row += SHADES[Math.min(SHADES.length - 1, Math.round(ink * (SHADES.length - 1)))];
        }
        return row;
      }).join("  ").trimEnd(),
    );
  }
  const captions = which.map((i) => {
    const mark = labels[i] === data.labels[i] ? "✓" : `✗ is ${data.labels[i]}`;
    return `${labels[i]} (${(100 * confidence[i]).toFixed(1)} %) ${mark}`.padEnd(SIDE - 4);
  });
  return [...lines, captions.join("  ").trimEnd()].join("\n");
}

/** Rows are what the digits are, columns what they were taken for. */
export function confusionMatrix(truth: Int32Array, guess: Int32Array, classes: number): string {
  const counts = Array.from({ length: classes }, () => new Array<number>(classes).fill(0));
  truth.forEach((t, i) => counts[t][guess[i]]++);
  const cell = (x: number | string) => String(x).padStart(5);
  const head = `is\\as ${Array.from({ length: classes }, (_, c) => cell(c)).join("")}`;
  const rows = counts.map((r, c) => `${cell(c)} ${r.map((n) => cell(n === 0 ? "·" : n)).join("")}`);
  return [head, ...rows].join("\n");
}

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
