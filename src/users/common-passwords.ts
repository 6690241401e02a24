// The list of the most common passwords: sorted digests, so that one is found by bisection and the file does not show
// the passwords. `scripts/common-passwords.ts` makes the file.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { digest } from '../base/secrets.ts'

const FILE = join(import.meta.dirname, 'common-passwords.bin')
/** With 50,000 digests, one in 20 million other passwords collides. */
const DIGEST_BYTES = 5

/** The first bytes of the password's SHA-256. */
export const passwordDigest = (password: string): Buffer =>
  Buffer.from(digest(password), 'base64url').subarray(0, DIGEST_BYTES)

/** The list, which is read when the first password is set. */
export interface CommonPasswords {
  /** Whether a lower-case password is in the list. */
  load(): Promise<(password: string) => boolean>
}

/** One instance serves every zone. */
export function createCommonPasswords(): CommonPasswords {
  let loaded: Promise<(password: string) => boolean> | undefined
  return {
    load() {
      loaded ??= readFile(FILE).then(
        list => password => includes(list, passwordDigest(password)),
        (cause: unknown) => {
          loaded = undefined // read again next time
          throw cause
        },
      )
      return loaded
    },
  }
}

function includes(list: Buffer, wanted: Buffer): boolean {
  let low = 0
  let high = list.length / DIGEST_BYTES
  while (low < high) {
    const middle = (low + high) >>> 1
    const order = list.compare(wanted, 0, DIGEST_BYTES, middle * DIGEST_BYTES, (middle + 1) * DIGEST_BYTES)
    if (order === 0) return true
    if (order < 0) low = middle + 1
    else high = middle
  }
  return false
}
