// Where the master keys are, and how they are read: at the start, and again while the server runs.
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { reasonOf } from '../../base/files/file-error.ts'
import { makePrivateFolder } from '../../base/files/private-folder.ts'
import type { Random } from '../../base/random.ts'
import { readSmallFile } from '../../base/files/small-file.ts'
import type { Environment } from '../environment.ts'
import type { Problems } from '../problems.ts'

const KEY_BYTES = 32
const MAX_KEYS = 10
/** More than ten keys need. */
const MAX_FILE_BYTES = 4096

/** The configured source of the master keys. */
export type MasterKeySource =
  | { readonly from: 'value'; readonly keys: readonly Buffer[] }
  | { readonly from: 'file'; readonly path: string }
  | {
      readonly from: 'command'
      readonly command: readonly string[]
      readonly folder: string
      readonly env: Environment
    }

/** Locates the master keys; without a source they are in a file next to the database. */
interface KeyLocation {
  readonly masterKey?: MasterKeySource | undefined
  readonly database: string
}

/** As in the file. */
export interface MasterKeyFile {
  readonly master_key?: string
  readonly master_key_file?: string
  readonly master_key_command?: readonly string[]
}

/** Thrown when the master keys cannot be read; the message contains no part of them. */
export class MasterKeyUnavailable extends Error {
  override name = 'MasterKeyUnavailable'
}

/** JSON Schema of the keys. */
export const masterKeySchemas = {
  master_key: {
    type: 'string',
    description:
      '32 bytes in hexadecimal or base64, under which private keys and secrets are encrypted. Further keys, separated by spaces or line breaks, only decrypt what they encrypted before.',
  },
  master_key_file: {
    type: 'string',
    minLength: 1,
    description:
      'A file, relative to this one, that contains the master key, and in further lines earlier ones. Read again when it changes.',
  },
  master_key_command: {
    type: 'array',
    items: { type: 'string', minLength: 1 },
    minItems: 1,
    maxItems: 100,
    description:
      'A program and its arguments, run without a shell in the folder of this file, that prints the master key, and in further lines earlier ones, within ten seconds. Run again at SIGHUP.',
  },
} as const

const FORM = 'must be 32 bytes as 64 hexadecimal characters or as base64'

/** Parses 32 bytes in hexadecimal, base64 or base64url; undefined for anything else. */
function parseMasterKey(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return undefined
  const key = Buffer.from(text, 'base64') // accepts both alphabets
  return key.length === KEY_BYTES ? key : undefined
}

/** Keys separated by blanks or line breaks, the one that encrypts first; a string says what is wrong. */
export function parseMasterKeys(text: string): readonly Buffer[] | string {
  const words = text.split(/\s+/).filter(word => word !== '')
  const keys = words.flatMap(word => parseMasterKey(word) ?? [])
  if (keys.length === 0 || keys.length < words.length) return words.length > 1 ? `each key ${FORM}` : FORM
  if (words.length > MAX_KEYS) return `has more than ${MAX_KEYS} keys`
  if (new Set(keys.map(key => key.toString('hex'))).size < keys.length) return 'has a key twice'
  return keys
}

/** The source from the file or the environment; reports unusable values. Runs no command. */
export function masterKeyOf(
  file: MasterKeyFile,
  {
    variable,
    folder,
    env,
    problems,
  }: {
    readonly variable: string | undefined
    readonly folder: string
    /** Environment of a command. */
    readonly env: Environment
    readonly problems: Problems
  },
): MasterKeySource | undefined {
  const value = problems.hasValidTypes('master_key') ? file.master_key : undefined
  const path = problems.hasValidTypes('master_key_file') ? file.master_key_file : undefined
  const command = problems.hasValidTypes('master_key_command') ? file.master_key_command : undefined
  if (value !== undefined && path !== undefined) {
    problems.add('master_key_file', 'cannot be given together with master_key')
  }
  if (command !== undefined) {
    const other = Object.entries({ master_key: value, master_key_file: path, LATCHKEY_MASTER_KEY: variable }).find(
      ([, each]) => each !== undefined,
    )
    if (other) problems.add('master_key_command', `cannot be given together with ${other[0]}`)
    const missing = missingProgram(command[0] ?? '', { folder, env })
    if (missing !== undefined) problems.add('master_key_command', missing)
    return { from: 'command', command, folder, env }
  }
  const inline = variable ?? value
  if (inline !== undefined) {
    const keys = parseMasterKeys(inline)
    if (typeof keys !== 'string') return { from: 'value', keys }
    problems.add(variable === undefined ? 'master_key' : 'LATCHKEY_MASTER_KEY', keys)
    return undefined
  }
  if (path === undefined) return undefined
  const absolute = resolve(folder, path)
  try {
    const keys = parseMasterKeys(readSmallFile(absolute, MAX_FILE_BYTES))
    if (typeof keys === 'string') problems.add('master_key_file', keys)
  } catch (error) {
    problems.add('master_key_file', `${path} cannot be read: ${reasonOf(error)}`)
  }
  return { from: 'file', path: absolute }
}

/** Why the program cannot be run, as far as can be seen without running it. */
function missingProgram(
  program: string,
  { folder, env }: { readonly folder: string; readonly env: Environment },
): string | undefined {
  if (program === '' || process.platform === 'win32') return undefined // Windows adds extensions to the name
  const inPath = !program.includes('/')
  const folders = inPath ? (env['PATH'] ?? DEFAULT_PATH).split(':') : ['']
  const paths = folders.map(each => resolve(folder, each, program)).filter(path => existsSync(path))
  if (paths.some(isExecutable)) return undefined
  if (paths.length > 0) return `${program} cannot be executed`
  return inPath ? `${program} is in no folder of the PATH` : `${program} does not exist`
}

/** The path that the C library uses for a process without the variable. */
const DEFAULT_PATH = '/bin:/usr/bin'

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/**
 * The keys that open secrets, of which the first encrypts them: the configured ones, else those of `latchkey.key` next to the
 * SQLite database (`./data/latchkey.key` for PostgreSQL), which is created if missing; random for a database in memory.
 * Throws `MasterKeyUnavailable`.
 */
export async function masterKeysFor(location: KeyLocation, random: Random): Promise<readonly Buffer[]> {
  if (location.masterKey === undefined && location.database === 'sqlite::memory:') return [random.bytes(KEY_BYTES)]
  return (await readMasterKeys(location)) ?? createKey(keyFileOf(location.database), random)
}

/** As `masterKeysFor`, but creates none: undefined if there is no file yet. */
export async function readMasterKeys({ masterKey, database }: KeyLocation): Promise<readonly Buffer[] | undefined> {
  switch (masterKey?.from) {
    case 'value':
      return masterKey.keys
    case 'command': {
      const { printedBy } = await import('./master-key-command.ts') // only needed where it is configured
      return checked(await printedBy(masterKey), 'the output of master_key_command')
    }
    case 'file': {
      const keys = readKeys(masterKey.path)
      if (keys === undefined) throw new MasterKeyUnavailable(`there is no ${masterKey.path}`)
      return keys
    }
    case undefined:
      return readKeys(keyFileOf(database))
  }
}

/** The file to watch for changes; undefined if there is none. */
export function masterKeyPath({ masterKey, database }: KeyLocation): string | undefined {
  if (masterKey) return masterKey.from === 'file' ? masterKey.path : undefined
  return database === 'sqlite::memory:' ? undefined : keyFileOf(database)
}

/** The file that `masterKeysFor` would create; undefined if there is a key. */
export function missingMasterKeyFile({ masterKey, database }: KeyLocation): string | undefined {
  const path = keyFileOf(database)
  return masterKey === undefined && !existsSync(path) ? path : undefined
}

const keyFileOf = (database: string): string =>
  database.startsWith('sqlite:')
    ? join(dirname(database.slice('sqlite:'.length)), 'latchkey.key')
    : join('data', 'latchkey.key')

function checked(text: string, what: string): readonly Buffer[] {
  const keys = parseMasterKeys(text)
  if (typeof keys === 'string') throw new MasterKeyUnavailable(`${what}: ${keys}`)
  return keys
}

function readKeys(path: string): readonly Buffer[] | undefined {
  let content: string
  try {
    content = readSmallFile(path, MAX_FILE_BYTES)
  } catch (cause) {
    if (isMissing(cause)) return undefined
    throw new MasterKeyUnavailable(`${path} cannot be read: ${reasonOf(cause)}`, { cause })
  }
  return checked(content, path)
}

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT'

/** Creates the file atomically unless it exists, so that concurrent processes get the same key. */
function createKey(path: string, random: Random): readonly Buffer[] {
  const key = random.bytes(KEY_BYTES)
  const draft = `${path}.${random.hex(8)}`
  try {
    makePrivateFolder(dirname(path))
    writeFileSync(draft, `${key.toString('hex')}\n`, { flag: 'wx', mode: 0o600, flush: true })
  } catch (cause) {
    rmSync(draft, { force: true })
    throw new MasterKeyUnavailable(`the master key cannot be written to ${path}: ${reasonOf(cause)}`, { cause })
  }
  try {
    linkSync(draft, path)
  } catch {
    const existing = readKeys(path)
    if (existing !== undefined) return existing
    copyFileSync(draft, path, constants.COPYFILE_EXCL) // a file system without links
  } finally {
    unlinkSync(draft)
  }
  return [key]
}
