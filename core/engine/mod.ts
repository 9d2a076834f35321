// Loads the engine: fills the late-bound slots of core with dispatch, reading, gradients and printing.
import { backward, detached, registerHook, setGrad, setRequiresGrad } from "../autograd.ts";
import { formatHtml, formatTensor } from "../format.ts";
import { engine } from "../op.ts";
import { runtime } from "../tensor_base.ts";
import { currentBackendOf } from "../../backends/registry.ts";
import { call, callInto, callMany } from "./dispatch.ts";
import { setReservedSource } from "./memory.ts";
import { data, dataSync, empty, fromData, hostView, to, toNested } from "./reading.ts";

Object.assign(engine, { call, callMany, callInto, fromData, empty, hostView });
Object.assign(runtime, {
  data,
  dataSync,
  toNested,
  format: formatTensor,
  html: formatHtml,
  backward,
  alias: detached,
  to,
  setRequiresGrad,
  registerHook,
  setGrad,
});
setReservedSource(() => currentBackendOf().stats().reserved);
