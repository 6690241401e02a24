// Makes src/users/common-passwords.bin from the list of @zxcvbn-ts/language-common (MIT; Dan Wheeler, Dropbox and the
// zxcvbn-ts authors). Run it after an update of that package.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { passwordDigest } from '../src/users/common-passwords.ts'
import { dictionary } from '@zxcvbn-ts/language-common'

/** The content of the file. */
export function commonPasswordFile(): Buffer {
  const passwords = [...new Set(dictionary['passwords-common'].map(password => password.toLowerCase()))]
  return Buffer.concat(passwords.map(passwordDigest).toSorted((a, b) => a.compare(b)))
}

if (import.meta.main) {
  writeFileSync(join(import.meta.dirname, '../src/users/common-passwords.bin'), commonPasswordFile())
}
