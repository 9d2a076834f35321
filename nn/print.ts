// Layers as text, in the shape that PyTorch prints: one line a layer, children indented under their names.
import type { LayerBase } from "./tree.ts";

const DEEPEST = 64;

/** The tree of layers as text. A layer inside itself is shown as `…`, and so is what lies very deep. */
export function describe(layer: LayerBase, around: ReadonlySet<LayerBase> = new Set()): string {
  if (around.has(layer) || around.size > DEEPEST) return `${layer.constructor.name}(…)`;
  const children = layer.namedChildren();
  const head = `${layer.constructor.name}(${layer.extraRepr()}`;
  if (children.length === 0) return `${head})`;
  const open = new Set(around).add(layer);
  const lines = children.map(([name, child]) =>
    `  (${name}): ${describe(child, open).replaceAll("\n", "\n  ")}`
  );
  return `${head}\n${lines.join("\n")}\n)`;
}

/** `name=value` for those that are set. */
export function fields(values: Readonly<Record<string, unknown>>): string {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${show(value)}`)
    .join(", ");
}

function show(value: unknown): string {
  return Array.isArray(value) ? `[${value.map(show).join(", ")}]` : String(value);
}
