// Files that are read repeatedly while a process runs. A file replaced by a pipe or an endless device must not block the process
// or exhaust its memory.
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

/** The text of a regular file of at most `maxBytes`; throws for anything else, and the errors of `node:fs`. */
export function readSmallFile(path: string, maxBytes: number): string {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)) // a pipe would wait; Windows has no such flag
  try {
    if (!fstatSync(file).isFile()) throw new Error('it is not a regular file')
    const content = Buffer.alloc(maxBytes + 1)
    let length = 0
    for (let more = 1; more > 0; length += more) more = readSync(file, content, { offset: length })
    if (length > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`)
    return content.toString('utf8', 0, length)
  } finally {
    closeSync(file)
  }
}
