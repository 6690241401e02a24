// RSA keys for tests. Making one takes a tenth of a second, so that all test processes share some, in a file that the first of
// them writes.
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const COUNT = 24
const FILE = join(import.meta.dirname, '../../node_modules/.cache/tests/rsa-keys.json')

/** PEM, as the server keeps its own keys: PKCS#8 and SubjectPublicKeyInfo. */
interface RsaKeyPair {
  readonly privateKey: string
  readonly publicKey: string
}

let keys: readonly string[] | undefined
let given = 0

/** A key pair of 2048 bits that this process has not used yet. */
export function rsaKeyPair(): RsaKeyPair {
  keys ??= keptKeys() ?? newKeys()
  const privateKey = keys[given] ?? newKey()
  given += 1
  return { privateKey, publicKey: createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString() }
}

/** Creates this many keys, and then reuses them in turn: for tests that need only a few at a time. */
export function inTurn<Key>(count: number, make: () => Key): () => Key {
  const made: Key[] = []
  let calls = 0
  return () => {
    const index = calls % count
    calls += 1
    const key = made[index] ?? make()
    made[index] = key
    return key
  }
}

function keptKeys(): readonly string[] | undefined {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8')) as readonly string[] // written below
  } catch {
    return undefined // not yet
  }
}

const newKey = (): string =>
  generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

function newKeys(): readonly string[] {
  const made = Array.from({ length: COUNT }, newKey)
  mkdirSync(dirname(FILE), { recursive: true })
  const part = `${FILE}.${process.pid}`
  writeFileSync(part, JSON.stringify(made), { mode: 0o600 })
  renameSync(part, FILE) // whole, for those that read it meanwhile
  return made
}
