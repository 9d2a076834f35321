// A progress bar on a terminal, plain lines elsewhere. No permission is needed for either.

const encoder = new TextEncoder();

/** Seconds as people read them. */
export function clock(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`;
}

/** Shows how far a loop is, how fast it goes and when it will be done. */
export class Progress {
  readonly #total: number;
  readonly #started = performance.now();
  readonly #terminal = Deno.stdout.isTerminal();
  #shown = 0;

  /** For a loop over `total` items. */
  constructor(total: number) {
    this.#total = total;
  }

  /** Items done so far and what to say of them. On a terminal redraws at most ten times a second. */
  update(done: number, text: string): void {
    const now = performance.now();
    if (!this.#terminal || (now - this.#shown < 100 && done < this.#total)) return;
    this.#shown = now;
    const seconds = (now - this.#started) / 1000;
    const rate = done / seconds;
    const part = done / this.#total;
    const eta = clock((this.#total - done) / rate);
    const figures = `${(part * 100).toFixed(0).padStart(3)} %  ${text}  ${
      rate.toFixed(0)
    } samples/s  ETA ${eta}`;
    // A line that wraps could not be drawn over: the bar takes what is left, and none if need be.
    const columns = (Deno.consoleSize().columns || 100) - 1;
    const width = Math.max(0, Math.min(24, columns - figures.length - 1));
    const full = Math.floor(part * width);
    const bar = "█".repeat(full) + "░".repeat(width - full);
    this.#write(`\r${`${bar} ${figures}`.trimStart().slice(0, columns)}\x1b[K`);
  }

  /** A line that stays. */
  line(done: number, text: string): void {
    const seconds = (performance.now() - this.#started) / 1000;
    const rate = (done / seconds).toFixed(0);
    if (this.#terminal) this.#write("\r\x1b[K");
    console.log(`${text}  ${rate} samples/s  ${clock(seconds)}`);
  }

  #write(text: string): void {
    Deno.stdout.writeSync(encoder.encode(text));
  }
}
