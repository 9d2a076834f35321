// Files and formats.
export { load, save } from "./files.ts";
export {
  decodeSafetensors,
  encodeSafetensors,
  type Metadata,
  type SafeTensors,
} from "./safetensors.ts";
