// A growing byte buffer with the number encodings of the WebAssembly binary format.
// It knows nothing of modules or instructions.

/** Appends bytes and LEB128 numbers; `finish` gives what was written. */
export class ByteWriter {
  #bytes = new Uint8Array(256);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  /** Number of bytes written so far. */
  get length(): number {
    return this.#length;
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + count));
    grown.set(this.#bytes);
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }

  /** Appends one byte. */
  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  /** Appends a byte and an unsigned LEB128 number: an instruction with one immediate. */
  byteAndUnsigned(value: number, immediate: number): void {
    this.#reserve(2);
    this.#bytes[this.#length++] = value;
    if (immediate < 0x80) this.#bytes[this.#length++] = immediate;
    else this.unsigned(immediate);
  }

  /** Appends bytes as they are. */
  raw(values: ArrayLike<number>): void {
    this.#reserve(values.length);
    this.#bytes.set(values, this.#length);
    this.#length += values.length;
  }

  /** Unsigned LEB128; a number must be a safe integer, a bigint may have 64 bits. */
  unsigned(value: number | bigint): void {
    if (typeof value === "bigint" || value > 0x7fffffff) {
      let rest = BigInt.asUintN(64, BigInt(value));
      while (rest >= 0x80n) {
        this.byte(Number(rest & 0x7fn) | 0x80);
        rest >>= 7n;
      }
      this.byte(Number(rest));
      return;
    }
    let rest = value;
    while (rest >= 0x80) {
      this.byte((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    this.byte(rest);
  }

  /** Signed LEB128 of a 32-bit value; 0x80000000…0xffffffff are taken as their bit pattern. */
  signed32(value: number): void {
    let rest = value | 0;
    for (;;) {
      const low = rest & 0x7f;
      rest >>= 7;
      if ((rest === 0 && (low & 0x40) === 0) || (rest === -1 && (low & 0x40) !== 0)) {
        this.byte(low);
        return;
      }
      this.byte(low | 0x80);
    }
  }

  /** Signed LEB128 of a 64-bit value; values of 2^63 and up are taken as their bit pattern. */
  signed64(value: bigint): void {
    let rest = BigInt.asIntN(64, value);
    for (;;) {
      const low = Number(rest & 0x7fn);
      rest >>= 7n;
      if ((rest === 0n && (low & 0x40) === 0) || (rest === -1n && (low & 0x40) !== 0)) {
        this.byte(low);
        return;
      }
      this.byte(low | 0x80);
    }
  }

  /** Four bytes, little endian. */
  fixed32(bits: number): void {
    this.#reserve(4);
    this.#view.setUint32(this.#length, bits, true);
    this.#length += 4;
  }

  /** Eight bytes, little endian. */
  fixed64(bits: bigint): void {
    this.#reserve(8);
    this.#view.setBigUint64(this.#length, bits, true);
    this.#length += 8;
  }

  /** A float32, rounded from the given number. */
  float32(value: number): void {
    this.#reserve(4);
    this.#view.setFloat32(this.#length, value, true);
    this.#length += 4;
  }

  /** A float64. */
  float64(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#length, value, true);
    this.#length += 8;
  }

  /** A name: UTF-8 bytes after their count. */
  name(text: string): void {
    const bytes = new TextEncoder().encode(text);
    this.unsigned(bytes.length);
    this.raw(bytes);
  }

  /** Another writer's bytes. */
  append(part: ByteWriter): void {
    this.raw(part.#bytes.subarray(0, part.#length));
  }

  /** Another writer's bytes after their count. */
  sized(part: ByteWriter): void {
    this.unsigned(part.length);
    this.append(part);
  }

  /** What was written (a copy on a buffer of its own). */
  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }
}
