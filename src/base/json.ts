// Reads untrusted JSON: nothing here throws, and members of prototypes are not reachable.

/** A JSON object: neither null nor an array. */
export type JsonRecord = Readonly<Record<string, unknown>>

/** Whether a value is a JSON object: neither null nor an array. */
export const isJsonRecord = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The largest whole number that UAA's and SCIM's clients can read. */
export const MAX_INT32 = 2 ** 31 - 1

/** The parsed value, or undefined for invalid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // the caller decides what invalid JSON means
  }
}

/** The strings in an array, without its other items; empty for any other value. */
export const stringsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter(item => typeof item === 'string') : []

/** An own member of an object; undefined if it is missing or the value is not an object. */
export const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined
