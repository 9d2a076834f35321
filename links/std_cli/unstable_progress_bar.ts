/**
 * `ProgressBar` of `@std/cli` on top of `npm:cli-progress`. Deliberately not here: the stream form.
 *
 * @module
 */

// @ts-types="npm:@types/cli-progress@^3.11.6"
import cliProgress from "npm:cli-progress@^3.12.0";
import { Writable } from "node:stream";

/** What a formatter of {@link ProgressBar} gets. */
export interface ProgressBarFormatter {
  /** The time since the start as `mm:ss`. */
  styledTime: string;
  /** Value and maximum in one binary unit: `0.40/97.66 KiB`. */
  styledData: (fractions?: number) => string;
  /** The bar itself: `###-------`. */
  progressBar: string;
  /** Milliseconds since the start. */
  time: number;
  /** `time` of the last call. */
  previousTime: number;
  /** The value now. */
  value: number;
  /** The value of the last call. */
  previousValue: number;
  /** The value at the end. */
  max: number;
}

/** Options of {@link ProgressBar}. */
export interface ProgressBarOptions {
  /** Where to write; standard error by default. */
  writable?: WritableStream<Uint8Array>;
  /** The value to start from: 0 by default. */
  value?: number;
  /** The value at the end. */
  max: number;
  /** Characters of the bar: 50 by default. */
  barLength?: number;
  /** The character of the part done: `#` by default. */
  fillChar?: string;
  /** The character of the part to do: `-` by default. */
  emptyChar?: string;
  /** Whether the bar is removed at the end. */
  clear?: boolean;
  /** Makes the line. */
  formatter?: (formatter: ProgressBarFormatter) => string;
  /** Whether `writable` stays open at the end: true by default. */
  keepOpen?: boolean;
  /** Milliseconds between two updates: 1000 by default. */
  refreshMilliseconds?: number;
}

/** A progress bar that redraws itself; set `value` to move it, and await `stop()` at the end. */
export class ProgressBar {
  /** How far it is. */
  value: number;
  /** The value at the end. */
  max: number;

  readonly #bar: cliProgress.SingleBar;
  readonly #out: Writable;
  readonly #started = Date.now();
  readonly #barLength: number;
  readonly #fillChar: string;
  readonly #emptyChar: string;
  readonly #formatter: (formatter: ProgressBarFormatter) => string;
  #previousTime = 0;
  #previousValue: number;

  /** Starts the bar. */
  constructor(options: ProgressBarOptions) {
    this.value = options.value ?? 0;
    this.max = options.max;
    this.#previousValue = this.value;
    this.#barLength = options.barLength ?? 50;
    this.#fillChar = options.fillChar ?? "#";
    this.#emptyChar = options.emptyChar ?? "-";
    this.#formatter = options.formatter ??
      ((x) => `[${x.styledTime}] [${x.progressBar}] [${x.styledData()}]`);
    this.#out = nodeStream(options.writable ?? Deno.stderr.writable, options.keepOpen ?? true);
    this.#bar = new cliProgress.SingleBar({
      format: () => this.#line(),
      stream: this.#out,
      fps: 1000 / (options.refreshMilliseconds ?? 1000),
      clearOnComplete: options.clear ?? false,
      hideCursor: null,
      forceRedraw: true,
      noTTYOutput: true,
      notTTYSchedule: options.refreshMilliseconds ?? 1000,
    });
    this.#bar.start(this.max, this.value);
  }

  /** Draws the bar for the last time and releases the stream. */
  async stop(): Promise<void> {
    this.#bar.stop();
    await new Promise<void>((done) => this.#out.end(() => done()));
  }

  #line(): string {
    const time = Date.now() - this.#started;
    const part = Math.min(Math.max(this.value / this.max, 0), 1);
    const filled = Math.trunc(part * this.#barLength);
    const seconds = Math.trunc(time / 1000);
    const two = (n: number) => String(n).padStart(2, "0");
    const line = this.#formatter({
      styledTime: `${two(Math.trunc(seconds / 60))}:${two(seconds % 60)}`,
      styledData: (fractions = 2) => dataFraction(this.value, this.max, fractions),
      progressBar: this.#fillChar.repeat(filled) +
        this.#emptyChar.repeat(this.#barLength - filled),
      time,
      previousTime: this.#previousTime,
      value: this.value,
      previousValue: this.#previousValue,
      max: this.max,
    });
    this.#previousTime = time;
    this.#previousValue = this.value;
    return line;
  }
}

/** A node stream in front of a web one; a terminal is drawn over, anything else gets lines. */
function nodeStream(writable: WritableStream<Uint8Array>, keepOpen: boolean): Writable {
  const writer = writable.getWriter();
  const encoder = new TextEncoder();
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      writer.write(encoder.encode(String(chunk))).then(() => done(), done);
    },
    final(done) {
      const end = keepOpen ? Promise.resolve(writer.releaseLock()) : writer.close();
      end.then(() => done(), done);
    },
  });
  const isTTY = writable === Deno.stderr.writable && Deno.stderr.isTerminal();
  return Object.assign(stream, { isTTY });
}

function dataFraction(value: number, max: number, fractions: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(Math.max(Math.floor(Math.log2(max || 1) / 10), 0), units.length - 1);
  const scale = 1024 ** power;
  return `${(value / scale).toFixed(fractions)}/${(max / scale).toFixed(fractions)} ${
    units[power]
  }`;
}
