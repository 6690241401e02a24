import { readFileSync } from 'node:fs'

/** The text of a file, without a byte order mark. Throws where it is not UTF-8, and the errors of `node:fs`. */
export function readTextFile(path: string): string {
  const bytes = readFileSync(path)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new Error('it is not UTF-8', { cause })
  }
}
