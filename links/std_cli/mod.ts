/**
 * The stable part of `@std/cli` that this project uses. Deliberately not here: prompts, spinners,
 * text width.
 *
 * @module
 */

export * from "./parse_args.ts";
