/**
 * The WebAssembly renderer: kernels become modules, launches become parameter blocks.
 */

export { renderKernel, type RenderTarget, type RunKernel } from "./kernel.ts";
export { type LaunchLayout, launchLayout, LaunchView, writeLaunch } from "./layout.ts";
