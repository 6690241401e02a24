import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { Random } from '../base/random.ts'

const KEY_BYTES = 32

interface KeyPlace {
  readonly masterKey?: Buffer
  readonly database: string
}

/** Parses 32 bytes in hexadecimal, base64 or base64url; undefined for anything else. */
export function parseMasterKey(text: string): Buffer | undefined {
  const trimmed = text.trim()
  if (/^[0-9a-f]{64}$/i.test(trimmed)) return Buffer.from(trimmed, 'hex')
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed)) return undefined
  const key = Buffer.from(trimmed, 'base64') // accepts both alphabets
  return key.length === KEY_BYTES ? key : undefined
}

/**
 * The key that encrypts secrets: the configured one, else that of `latchkey.key` beside the SQLite database
 * (`./data/latchkey.key` for PostgreSQL), which is created if missing; random for a database in memory.
 */
export async function masterKeyFor(config: KeyPlace, random: Random): Promise<Buffer> {
  if (config.masterKey !== undefined) return config.masterKey
  if (config.database === 'sqlite::memory:') return random.bytes(KEY_BYTES)
  const path = keyFileOf(config.database)
  return readKey(path) ?? createKey(path, random)
}

/** The file that `masterKeyFor` would create; undefined if there is a key. */
export function missingMasterKeyFile({ masterKey, database }: KeyPlace): string | undefined {
  const path = keyFileOf(database)
  return masterKey === undefined && !existsSync(path) ? path : undefined
}

const keyFileOf = (database: string): string =>
  database.startsWith('sqlite:')
    ? join(dirname(database.slice('sqlite:'.length)), 'latchkey.key')
    : join('data', 'latchkey.key')

function readKey(path: string): Buffer | undefined {
  let content: string
  try {
    content = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
  const key = parseMasterKey(content)
  if (key === undefined) throw new Error(`${path} holds no master key (64 hexadecimal characters)`)
  return key
}

/** Creates the file atomically unless it exists, so that concurrent processes get the same key. */
function createKey(path: string, random: Random): Buffer {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const key = random.bytes(KEY_BYTES)
  const draft = `${path}.${random.hex(8)}`
  writeFileSync(draft, `${key.toString('hex')}\n`, { flag: 'wx', mode: 0o600, flush: true })
  try {
    linkSync(draft, path)
  } catch {
    const existing = readKey(path)
    if (existing !== undefined) return existing
    copyFileSync(draft, path, constants.COPYFILE_EXCL) // a file system without links
  } finally {
    unlinkSync(draft)
  }
  return key
}
