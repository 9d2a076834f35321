// Builds the bytes of a WebAssembly module: types, imports, functions, exports, data.
// It does not check what functions do with the operand stack: the engine does, when it compiles.

import { ByteWriter } from "./bytes.ts";
import { FunctionBuilder } from "./function.ts";
import { AssemblyError, type PtrType, type ValueType, valueTypeCode } from "./types.ts";

/** Limits and kind of an imported memory; sizes in pages of 64 KiB. */
export interface MemoryType {
  /** Smallest size in pages (default 0, so any memory fits). */
  min?: number;
  /** Largest size in pages; needed when shared. An imported memory must not allow more. */
  max?: number;
  /** Whether the memory is shared between threads. */
  shared?: boolean;
  /** Address width (default the module's pointer type). */
  ptr?: PtrType;
}

/** A function that can be called: imported or defined here. */
export interface Callable {
  /** Index in the module's function space. */
  readonly index: number;
}

/** Signature of a function and the name it is exported by, if any. */
export interface Signature {
  params?: readonly ValueType[];
  results?: readonly ValueType[];
  /** Name to export under; without it the function is internal. */
  export?: string;
}

interface ImportedFunction extends Callable {
  readonly module: string;
  readonly name: string;
  readonly type: number;
}

/** Highest page count of each address width. */
const MAX_PAGES: Record<PtrType, number> = { i32: 65536, i64: 2 ** 48 };

/** Collects a module's parts; `bytes()` encodes, `compile()` also compiles. */
export class ModuleBuilder {
  /** Pointer type that the functions' address helpers use. */
  readonly ptr: PtrType;
  readonly #types: string[] = [];
  readonly #typeBytes = new ByteWriter();
  readonly #imports: ImportedFunction[] = [];
  readonly #functions: { builder: FunctionBuilder; type: number; export?: string }[] = [];
  readonly #data: { offset: number | bigint; bytes: Uint8Array }[] = [];
  #memory: { module: string; name: string; type: MemoryType } | undefined;

  constructor(options: { ptr?: PtrType } = {}) {
    this.ptr = options.ptr ?? "i32";
  }

  #type(params: readonly ValueType[], results: readonly ValueType[]): number {
    const key = `${params.join()}>${results.join()}`;
    const known = this.#types.indexOf(key);
    if (known >= 0) return known;
    this.#typeBytes.byte(0x60);
    for (const list of [params, results]) {
      this.#typeBytes.unsigned(list.length);
      for (const type of list) this.#typeBytes.byte(valueTypeCode[type]);
    }
    return this.#types.push(key) - 1;
  }

  /** Imports the module's one memory. */
  importMemory(module: string, name: string, type: MemoryType = {}): void {
    if (this.#memory !== undefined) {
      throw new AssemblyError("Cannot import a memory: the module already has one");
    }
    this.#memory = { module, name, type };
  }

  /** Imports a function; imports come before the first `func`, which fixes the numbering. */
  importFunction(module: string, name: string, signature: Signature = {}): Callable {
    if (this.#functions.length > 0) {
      throw new AssemblyError(
        `Cannot import ${module}.${name}: imports must come before the first function`,
      );
    }
    const type = this.#type(signature.params ?? [], signature.results ?? []);
    const entry = { module, name, type, index: this.#imports.length };
    this.#imports.push(entry);
    return entry;
  }

  /** Defines a function; its body is written through the builder that is returned. */
  func(signature: Signature = {}): FunctionBuilder {
    const params = signature.params ?? [];
    const index = this.#imports.length + this.#functions.length;
    const builder = new FunctionBuilder(index, params, this.ptr);
    const type = this.#type(params, signature.results ?? []);
    this.#functions.push({ builder, type, export: signature.export });
    return builder;
  }

  /** Bytes to place in memory when the module is instantiated. */
  data(offset: number | bigint, bytes: Uint8Array): void {
    this.#data.push({ offset, bytes });
  }

  #importSection(): ByteWriter {
    const out = new ByteWriter();
    out.unsigned(this.#imports.length + (this.#memory === undefined ? 0 : 1));
    if (this.#memory !== undefined) {
      const { module, name, type } = this.#memory;
      const ptr = type.ptr ?? this.ptr;
      if (type.shared === true && type.max === undefined) {
        throw new AssemblyError("Cannot import a shared memory without max: give its largest size");
      }
      out.name(module);
      out.name(name);
      out.byte(0x02);
      out.byte(
        (type.max === undefined ? 0 : 1) | (type.shared === true ? 2 : 0) | (ptr === "i64" ? 4 : 0),
      );
      for (const pages of [type.min ?? 0, type.max]) {
        if (pages === undefined) continue;
        if (!Number.isInteger(pages) || pages < 0 || pages > MAX_PAGES[ptr]) {
          throw new AssemblyError(
            `Cannot import a memory of ${pages} pages: ${ptr} addresses allow 0 to ${
              MAX_PAGES[ptr]
            }`,
          );
        }
        out.unsigned(pages);
      }
    }
    for (const entry of this.#imports) {
      out.name(entry.module);
      out.name(entry.name);
      out.byte(0x00);
      out.unsigned(entry.type);
    }
    return out;
  }

  /** The module in the binary format. */
  bytes(): Uint8Array<ArrayBuffer> {
    const out = new ByteWriter();
    out.raw([0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00]);
    const section = (id: number, count: number, fill: (part: ByteWriter) => void) => {
      if (count === 0) return;
      const part = new ByteWriter();
      part.unsigned(count);
      fill(part);
      out.byte(id);
      out.sized(part);
    };
    section(1, this.#types.length, (part) => part.append(this.#typeBytes));
    if (this.#imports.length > 0 || this.#memory !== undefined) {
      out.byte(2);
      out.sized(this.#importSection());
    }
    section(3, this.#functions.length, (part) => {
      for (const f of this.#functions) part.unsigned(f.type);
    });
    const exported = this.#functions.filter((f) => f.export !== undefined);
    section(7, exported.length, (part) => {
      for (const f of exported) {
        part.name(f.export!);
        part.byte(0x00);
        part.unsigned(f.builder.index);
      }
    });
    section(10, this.#functions.length, (part) => {
      for (const f of this.#functions) part.sized(f.builder.body());
    });
    section(11, this.#data.length, (part) => {
      for (const { offset, bytes } of this.#data) {
        part.byte(0x00);
        part.byte(this.ptr === "i64" ? 0x42 : 0x41);
        if (this.ptr === "i64") part.signed64(BigInt(offset));
        else part.signed32(Number(offset));
        part.byte(0x0b);
        part.unsigned(bytes.length);
        part.raw(bytes);
      }
    });
    return out.finish();
  }

  /** Encodes and compiles, synchronously. */
  compile(): WebAssembly.Module {
    return new WebAssembly.Module(this.bytes());
  }
}
