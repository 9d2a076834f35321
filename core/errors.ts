// The error classes of the whole library. Not here: the wording of single messages, which stands
// where the rule is checked. Form: "Cannot <call> <shapes>: <rule>: <what was got>; <remedy>".

/** Base of all errors thrown by Plesio; catch it to catch them all. */
export class PlesioError extends Error {
  /** Makes an error whose `name` is its class. */
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** Shapes, axes or sizes break a rule of the call. */
export class ShapeError extends PlesioError {}

/** A dtype is not accepted by the call, or cannot be represented. */
export class DTypeError extends PlesioError {}

/** An index, label or range lies outside what it indexes. */
export class IndexError extends PlesioError {}

/** An argument has a value that the call does not accept. */
export class ValueError extends PlesioError {}

/** Tensors of different places met in one call, or a place does not exist. */
export class PlaceError extends PlesioError {}

/** A place has no kernel for the op. */
export class MissingKernelError extends PlesioError {}

/** Memory could not be had, or the limit is reached. */
export class MemoryError extends PlesioError {}

/** A tensor was used after its storage was freed. */
export class DisposedError extends PlesioError {}

/** A gradient was asked for that cannot be given. */
export class GradError extends PlesioError {}

/** A traced value was used where only a real one can be. */
export class TraceError extends PlesioError {}

/** A file or byte stream is malformed, truncated or hostile. */
export class FormatError extends PlesioError {}

/** Something needs a permission that was not granted; nothing was asked for. */
export class PermissionError extends PlesioError {}

/** A layer or state dictionary does not fit what it is loaded into. */
export class StateError extends PlesioError {}

/** Something inside Plesio is inconsistent: a bug to report. */
export class InternalError extends PlesioError {}
