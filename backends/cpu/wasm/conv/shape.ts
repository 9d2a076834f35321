// Sizes of a two-dimensional convolution and the choice of blocks for its kernels. Pure arithmetic:
// no memory is touched here.

import type { ElementSpec } from "../gemm/spec.ts";
import { type Job, makeJob } from "./job.ts";

/** Sizes of a convolution: images NCHW, filters OIHW (with c / groups inputs each), contiguous. */
export interface ConvShape {
  dtype: "float32" | "float64";
  /** Images. */
  n: number;
  /** Input channels, height and width. */
  c: number;
  h: number;
  w: number;
  /** Output channels, filter height and width. */
  oc: number;
  kh: number;
  kw: number;
  strideH: number;
  strideW: number;
  padTop: number;
  padLeft: number;
  padBottom: number;
  padRight: number;
  dilationH: number;
  dilationW: number;
  /** Groups of channels; divides c and oc. */
  groups: number;
}

/** Height and width of a convolution's output; 0 where the filter does not fit. */
export function convOutputSize(shape: ConvShape): [height: number, width: number] {
  const size = (input: number, kernel: number, stride: number, dilation: number) =>
    Math.max(0, Math.floor((input - (kernel - 1) * dilation - 1) / stride) + 1);
  const { h, w, padTop, padBottom, padLeft, padRight } = shape;
  return [
    size(h + padTop + padBottom, shape.kh, shape.strideH, shape.dilationH),
    size(w + padLeft + padRight, shape.kw, shape.strideW, shape.dilationW),
  ];
}

/** A tap's place relative to an output position's first one, in rows and columns of the image. */
export interface Tap {
  readonly y: number;
  readonly x: number;
}

/** How an image is read: its size, where output position 0 begins, and the steps between positions. */
export interface Window {
  /** Channels of a group, height and width of the image. */
  readonly channels: number;
  readonly sourceHeight: number;
  readonly sourceWidth: number;
  readonly rowOrigin: number;
  readonly columnOrigin: number;
  readonly rowStep: number;
  readonly columnStep: number;
  /** Output positions. */
  readonly height: number;
  readonly width: number;
  readonly taps: readonly Tap[];
  /** If above 1: taps come in so many rows of equal length, equally far apart; see the job. */
  readonly tapRows?: number;
}

/** The blocks and table of a job. */
export interface Blocks {
  readonly job: Job;
  /** Writes the byte offsets of the taps: those of a full block, then those of the last one. */
  readonly offsets: (table: Int32Array) => void;
  /** Entries of a full block and of both together. */
  readonly blockEntries: number;
  readonly entries: number;
  /** Bytes for staged images, 0 if the source is read in place. */
  readonly stageBytes: number;
}

/** Staged bytes that stay in a second-level cache together with filters and results. */
const STAGE_BYTES = 256 * 1024;
/** Longest reduction between two visits to the result. */
const DEPTH = 512;
/** Output positions that one tile of the filters' gradient sums up at a time. */
const POSITIONS = 512;
/** Planes this far apart compete for the same few places of a cache. */
const CONFLICT_BYTES = 1024;

/** Splits `total` into equal parts of at most `limit`; gives their size. */
function evenly(total: number, limit: number): number {
  return Math.max(1, Math.ceil(total / Math.ceil(total / Math.max(1, limit))));
}

/**
 * Chooses blocks for a window. `overlap` says whether the end of a line may be read as a panel that
 * begins earlier (`correlate`) and so limits which lines are read in place; otherwise images are
 * taken in sets (`weights`).
 */
export function planBlocks(
  window: Window,
  spec: ElementSpec,
  kind: "correlate" | "weights",
  images: number,
): Blocks {
  const { channels, taps, height, width, rowStep, columnStep, rowOrigin, columnOrigin } = window;
  const { size } = spec;
  const lastX = Math.max(...taps.map((tap) => tap.x));
  const extraRows = Math.max(...taps.map((tap) => tap.y)) + 1;
  const rest = width % spec.width;
  const plane = window.sourceHeight * window.sourceWidth * size;
  const shortest = kind === "weights" || rest === 0
    ? 1
    : rest <= spec.lanes
    ? spec.lanes
    : spec.width;
  const inside = rowOrigin === 0 && columnOrigin === 0 && columnStep === 1 &&
    (height - 1) * rowStep + extraRows <= window.sourceHeight &&
    width + lastX <= window.sourceWidth;
  const conflicts = kind === "correlate" && channels > 8 && plane % CONFLICT_BYTES === 0;
  const direct = inside && width >= shortest && !conflicts && channels * plane < 2 ** 31;

  const phaseWidth = direct ? window.sourceWidth : width + Math.floor(lastX / columnStep);
  const pitch = phaseWidth * columnStep * size;
  const rowsOf = (lines: number) => (lines - 1) * rowStep + extraRows;
  let blockChannels = channels;
  let bandRows = height;
  let setImages = 1;
  if (kind === "correlate") {
    blockChannels = evenly(channels, Math.floor(DEPTH / taps.length));
  } else {
    bandRows = evenly(height, Math.floor(POSITIONS / width));
    if (!direct) {
      blockChannels = evenly(channels, Math.floor(STAGE_BYTES / (rowsOf(bandRows) * pitch)));
    }
    if (bandRows === height) setImages = Math.max(1, Math.floor(POSITIONS / (height * width)));
    setImages = Math.max(1, Math.min(setImages, images));
  }
  if (!direct && kind === "correlate") {
    const rows = Math.floor(STAGE_BYTES / (blockChannels * pitch));
    bandRows = evenly(height, Math.floor((rows - extraRows) / rowStep) + 1);
  }
  let planePitch = plane;
  if (!direct) {
    planePitch = rowsOf(bandRows) * pitch;
    if (planePitch % CONFLICT_BYTES === 0 && blockChannels > 1) planePitch += 64;
  }
  const stageImage = planePitch * blockChannels;
  const job = makeJob({
    sourcePlane: plane,
    sourceHeight: window.sourceHeight,
    sourceWidth: window.sourceWidth,
    channels,
    taps: taps.length,
    direct: direct ? 1 : 0,
    rowOrigin,
    columnOrigin,
    rowStep,
    phases: columnStep,
    phaseWidth,
    pitch,
    planePitch,
    stageImage,
    extraRows,
    blockChannels,
    bandRows,
    setImages,
    height,
    width,
    tapRows: window.tapRows ?? 1,
    tapStep: taps.length > 0 ? taps[taps.length - 1].y / Math.max(1, (window.tapRows ?? 1) - 1) : 0,
  });
  const lastChannels = (channels - 1) % blockChannels + 1;
  const tapRows = window.tapRows ?? 1;
  const rowLength = taps.length / tapRows;
  const offsets = (table: Int32Array) => {
    let at = 0;
    for (const count of [blockChannels, lastChannels]) {
      for (let row = 0; row < tapRows; row++) {
        for (let channel = 0; channel < count; channel++) {
          for (let tap = row * rowLength; tap < (row + 1) * rowLength; tap++) {
            const { y, x } = taps[tap];
            const column = (x % columnStep) * phaseWidth + Math.floor(x / columnStep);
            table[at++] = channel * planePitch + y * pitch + column * size;
          }
        }
      }
    }
  };
  return {
    job,
    offsets,
    blockEntries: blockChannels * taps.length,
    entries: (blockChannels + lastChannels) * taps.length,
    // Panels may read up to two vectors past the last staged line.
    stageBytes: direct ? 0 : stageImage * setImages + 64,
  };
}

/** The window of the forward pass, which the filters' gradient shares. */
export function forwardWindow(shape: ConvShape): Window {
  const [height, width] = convOutputSize(shape);
  const taps: Tap[] = [];
  for (let ky = 0; ky < shape.kh; ky++) {
    for (let kx = 0; kx < shape.kw; kx++) {
      taps.push({ y: ky * shape.dilationH, x: kx * shape.dilationW });
    }
  }
  return {
    channels: shape.c / shape.groups,
    sourceHeight: shape.h,
    sourceWidth: shape.w,
    rowOrigin: -shape.padTop,
    columnOrigin: -shape.padLeft,
    rowStep: shape.strideH,
    columnStep: shape.strideW,
    height,
    width,
    taps,
  };
}

/** One phase of the gradient of the input: the positions congruent to (y, x) modulo the strides. */
export interface Phase {
  readonly y: number;
  readonly x: number;
  readonly window: Window;
  /** Index in the filter (ky · kw + kx) of each tap. */
  readonly filterTaps: readonly number[];
}

/**
 * Filter taps that reach positions ≡ `phase` (mod stride), with the outputs' offset from them, which
 * rises in equal steps.
 */
function reaching(phase: number, pad: number, kernel: number, stride: number, dilation: number) {
  const found: { tap: number; offset: number }[] = [];
  for (let tap = 0; tap < kernel; tap++) {
    const distance = phase + pad - tap * dilation;
    if (distance % stride === 0) found.push({ tap, offset: distance / stride });
  }
  return found.reverse();
}

/**
 * The gradient of the input, x[iy] = Σ w[ky] · dy[oy] with oy·stride − pad + ky·dilation = iy, as one
 * stride-1 correlation per phase of iy. Phases that no tap reaches are left out: they are zero.
 */
export function inputPhases(shape: ConvShape): Phase[] {
  const [outHeight, outWidth] = convOutputSize(shape);
  const phases: Phase[] = [];
  for (let y = 0; y < Math.min(shape.strideH, shape.h); y++) {
    const rows = reaching(y, shape.padTop, shape.kh, shape.strideH, shape.dilationH);
    for (let x = 0; x < Math.min(shape.strideW, shape.w); x++) {
      const columns = reaching(x, shape.padLeft, shape.kw, shape.strideW, shape.dilationW);
      if (rows.length === 0 || columns.length === 0) continue;
      const rowOrigin = Math.min(...rows.map((row) => row.offset));
      const columnOrigin = Math.min(...columns.map((column) => column.offset));
      const taps: Tap[] = [];
      const filterTaps: number[] = [];
      for (const row of rows) {
        for (const column of columns) {
          taps.push({ y: row.offset - rowOrigin, x: column.offset - columnOrigin });
          filterTaps.push(row.tap * shape.kw + column.tap);
        }
      }
      const window: Window = {
        channels: shape.oc / shape.groups,
        sourceHeight: outHeight,
        sourceWidth: outWidth,
        rowOrigin,
        columnOrigin,
        rowStep: 1,
        columnStep: 1,
        height: Math.ceil((shape.h - y) / shape.strideH),
        width: Math.ceil((shape.w - x) / shape.strideW),
        taps,
        tapRows: rows.length,
      };
      phases.push({ y, x, window, filterTaps });
    }
  }
  return phases;
}
