// The gradient graph, in parts: whether calls are recorded, nodes, recording, the walk back, functions of
// one's own. Works on ops only, so gradients differentiate again and trace; the rules stand beside each op.
export { enableGrad, isGradEnabled, noGrad, setGradEnabled } from "./autograd/mode.ts";
export {
  aliasOf,
  detached,
  type Edge,
  edgeOf,
  FunctionNode,
  type GradHook,
  GradNode,
  LeafNode,
} from "./autograd/node.ts";
export {
  attach,
  attachInPlace,
  checkInPlace,
  needsGrad,
  record,
  setRequiresGrad,
} from "./autograd/record.ts";
export {
  backward,
  grad,
  type GradOptions,
  keepAlive,
  registerHook,
  setGrad,
  sumTo,
} from "./autograd/walk.ts";
export { type CustomFunction, customFunction, FunctionContext } from "./autograd/custom.ts";
