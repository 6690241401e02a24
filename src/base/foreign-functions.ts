// Calls to C libraries by `node:ffi`, which is experimental (decision 0036).

/** The part of `node:ffi` that is used; the types of the oldest supported Node.js do not have it. */
export interface ForeignFunctions {
  /** Loads a library by its path; null stands for what this process has loaded. Throws if that fails. */
  readonly DynamicLibrary: new (
    path: string | null,
  ) => {
    /** Throws if the library does not have it. */
    getFunction(
      name: string,
      signature: { readonly return: string; readonly arguments: readonly string[] },
    ): (...values: readonly (number | bigint)[]) => number | bigint
  }
  readonly getRawPointer: (bytes: Buffer) => bigint
}

/** Undefined before Node.js 26.1. Its first call writes a warning to the standard error. */
export const foreignFunctions = (): ForeignFunctions | undefined =>
  // @ts-expect-error -- see ForeignFunctions
  process.getBuiltinModule('node:ffi')
