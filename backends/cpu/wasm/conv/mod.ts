// Convolution of the embedded backend, forward and both gradients.

export {
  Conv,
  type ConvArgs,
  type ConvBackwardInput,
  type ConvBackwardWeight,
  type ConvForward,
  type ConvOptions,
  type ConvPass,
  createConv,
  type PlanesDone,
} from "./conv.ts";
export { convOutputSize, type ConvShape } from "./shape.ts";
