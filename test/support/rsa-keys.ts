// RSA keys for tests. Making one takes a tenth of a second, so that all test processes share them, in files that the first one
// to need each writes.
import type { KeyObject } from 'node:crypto'
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { importPKCS8, importSPKI } from 'jose'
import type { CryptoKey } from 'jose'

/** What every process needs. */
const COMMON = 24
const FOLDER = join(import.meta.dirname, '../../node_modules/.cache/tests/rsa-keys')

/** PEM, as the server keeps its own keys: PKCS#8 and SubjectPublicKeyInfo. */
interface RsaKeyPair {
  readonly privateKey: string
  readonly publicKey: string
}

let given = 0

/** A key pair of 2048 bits that this process has not used yet. */
export function rsaKeyPair(): RsaKeyPair {
  const { privateKey, publicKey } = rsaKeys()
  return {
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  }
}

/** The same as key objects. */
export function rsaKeys(): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
  given += 1
  const privateKey = createPrivateKey(keptKey(given) ?? newKey(given))
  return { privateKey, publicKey: createPublicKey(privateKey) }
}

/** The same for RS256 as keys of the Web Cryptography API, which can be exported. */
export async function rsaCryptoKeys(): Promise<{
  readonly privateKey: CryptoKey
  readonly publicKey: CryptoKey
}> {
  const pair = rsaKeyPair()
  const extractable = { extractable: true }
  return {
    privateKey: await importPKCS8(pair.privateKey, 'RS256', extractable),
    publicKey: await importSPKI(pair.publicKey, 'RS256', extractable),
  }
}

/** Makes the keys that every process needs, unless they are there, so that not each of the processes makes them. */
export function makeRsaKeys(): void {
  for (let number = 1; number <= COMMON; number += 1) if (keptKey(number) === undefined) newKey(number)
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

const fileOf = (number: number): string => join(FOLDER, `${number}.pem`)

function keptKey(number: number): string | undefined {
  try {
    return readFileSync(fileOf(number), 'utf8')
  } catch {
    return undefined // not yet
  }
}

function newKey(number: number): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  mkdirSync(FOLDER, { recursive: true })
  const part = `${fileOf(number)}.${process.pid}`
  writeFileSync(part, pem, { mode: 0o600 })
  renameSync(part, fileOf(number)) // whole, for those that read it meanwhile
  return pem
}
