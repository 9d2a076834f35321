// Digits and what they are taken for, as text: pictures and a confusion matrix. Not here: curves (plot.ts).
import { type Digits, SIDE } from "./digits_data.ts";

const SHADES = " ░▒▓█";

/** Digits side by side, each with what it is taken for and how surely; a character is two rows of pixels. */
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
