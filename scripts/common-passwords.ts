// Generates src/users/common-passwords.bin from the list of @zxcvbn-ts/language-common (MIT; Dan Wheeler, Dropbox and the
// zxcvbn-ts authors). Run it after an update of that package.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { passwordDigest } from '../src/users/common-passwords.ts'

const ROOT = join(import.meta.dirname, '..')
// Its entry point unpacks all its dictionaries; this is the one needed.
const LIST = 'node_modules/@zxcvbn-ts/language-common/src/passwords.json'

/** The passwords of the package, the most common first. */
export function packagedPasswords(): readonly string[] {
  const list: unknown = JSON.parse(readFileSync(join(ROOT, LIST), 'utf8'))
  if (!Array.isArray(list)) throw new Error(`${LIST} has another form`)
  return list.map(String)
}

/** The content of the file. */
export function commonPasswordFile(): Buffer {
  const passwords = [...new Set(packagedPasswords().map(password => password.toLowerCase()))]
  const digests = passwords.map(password => passwordDigest(password).toString('latin1')) // a character for each byte
  return Buffer.from(digests.toSorted().join(''), 'latin1')
}

if (import.meta.main) writeFileSync(join(ROOT, 'src/users/common-passwords.bin'), commonPasswordFile())
