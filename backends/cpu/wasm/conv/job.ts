// The description of a convolution as its kernels read it: a record of numbers of pointer width in
// linear memory, written once per call, so that any thread can run any part of the work.

import type { FunctionBuilder, Local, PtrType } from "../asm/mod.ts";

/** The record's fields, in order. Strides, pitches and addresses are in bytes. */
const FIELDS = [
  // Offsets of the taps of a block of channels: int32 byte offsets into a staged or plain image.
  "table",
  // The same for the last block of channels.
  "lastTable",
  // If above 1: taps lie in so many rows, `tapStep` rows of the image apart, and are ordered row by
  // row, then channel by channel; rows outside the image are left out.
  "tapRows",
  "tapStep",
  "groups",
  // The left operand: filters in `correlate`, gradients of the output in `weights`.
  "a",
  "aRow",
  "aGroup",
  "aImage",
  "aLine",
  // The image that taps are read from, and its size in elements.
  "source",
  "sourceImage",
  "sourceGroup",
  "sourcePlane",
  "sourceHeight",
  "sourceWidth",
  // Channels of a group of the source, and taps for each.
  "channels",
  "taps",
  // Staging: 1 in `direct` reads the source in place; else rows and columns from an origin (which
  // may be negative) are copied with zeros around, columns split by remainder modulo `phases`.
  "direct",
  "rowOrigin",
  "columnOrigin",
  "rowStep",
  "phases",
  "phaseWidth",
  "pitch",
  "planePitch",
  "stageImage",
  "extraRows",
  // Blocks: channels and lines staged at once; images staged at once (`weights`).
  "blockChannels",
  "bandRows",
  "setImages",
  "images",
  // The result: rows (output channels), lines and columns.
  "c",
  "cImage",
  "cGroup",
  "cRow",
  "cLine",
  "cColumn",
  "m",
  "chunk",
  "height",
  "width",
  // Finished planes are reported as item · planes + group · m + row.
  "report",
  "planes",
] as const;

/** A field of the record. */
export type JobField = typeof FIELDS[number];
/** Values of all fields. */
export type Job = Record<JobField, number>;
/** The fields as locals of a kernel. */
export type JobLocals = Readonly<Record<JobField, Local>>;

/** Bytes of the record, for either pointer width. */
export const JOB_BYTES = 512;

/** A job whose fields are all zero but those given. */
export function makeJob(fields: Partial<Job>): Job {
  return { ...Object.fromEntries(FIELDS.map((name) => [name, 0])), ...fields } as Job;
}

/** Writes the record to memory. */
export function writeJob(buffer: ArrayBufferLike, at: number, ptr: PtrType, job: Job): void {
  if (ptr === "i64") {
    const out = new BigInt64Array(buffer, at, FIELDS.length);
    FIELDS.forEach((name, index) => out[index] = BigInt(job[name]));
  } else {
    const out = new Int32Array(buffer, at, FIELDS.length);
    for (let index = 0; index < FIELDS.length; index++) out[index] = job[FIELDS[index]];
  }
}

/** Emits loads of all fields into new locals. */
export function loadJob(f: FunctionBuilder, job: Local): JobLocals {
  const size = f.ptr === "i64" ? 8 : 4;
  const entries = FIELDS.map((name, index) => {
    const local = f.local(f.ptr);
    f.get(job).mem(`${f.ptr}.load`, { offset: size * index }).set(local);
    return [name, local];
  });
  return Object.fromEntries(entries);
}
