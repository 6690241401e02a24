// JSON that somebody else wrote: nothing in here throws, and no member is reached that stands in a prototype.

/** What an object of JSON is: not null and no list. */
export type JsonRecord = Readonly<Record<string, unknown>>

/** Whether a value is an object of JSON. */
export const isJsonRecord = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The value of a text, or undefined when it is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // what that means is the caller's to say
  }
}

/** An own member of an object; undefined when there is none, or no object. */
export const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined
