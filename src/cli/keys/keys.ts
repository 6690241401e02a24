import { loadSettings, STORAGE_SETTINGS } from '../../config.ts'
import type { SigningAlgorithm } from '../../model/tokens/signing-key.ts'
import { SIGNING_ALGORITHMS } from '../../model/tokens/signing-key.ts'
import type { Command } from '../command.ts'
import { readOptions, UsageError } from '../command.ts'

/** An action of `latchkey keys`. */
export type KeyAction =
  | { readonly action: 'list' }
  | {
      readonly action: 'add'
      readonly keyId?: string
      readonly algorithm?: SigningAlgorithm
      readonly pemFile?: string
    }
  | { readonly action: 'activate'; readonly keyId: string }
  | { readonly action: 'retire'; readonly keyId: string; readonly now: boolean }

const WHERE = { config: 'string', database: 'string', zone: 'string' } as const

const MAX_KEY_ID_LENGTH = 255

/** `latchkey keys`: shows and changes the signing keys of a zone, even while the server runs. */
export const keys: Command = {
  name: 'keys',
  summary: 'Show or change the signing keys of a zone: keys list, add, activate or retire.',
  actions: 'list|add|activate|retire',
  options: `    --config FILE      Configuration of the server           (LATCHKEY_CONFIG)
    --database URL     As for serve                          (LATCHKEY_DATABASE)
    --zone ID          The zone; absent: the default one
    --key-id ID        Which key; add generates an id if it is absent
    --alg ALG          For add: the algorithm, RS256 or what fits the file
    --pem-file FILE    For add: the private key; absent: a new one
    --now              For retire: at once, for a stolen key
`,
  async run(args) {
    const [word, ...rest] = args
    const { action, zoneId, options } = readAction(word, rest)
    const config = await loadSettings([...STORAGE_SETTINGS, 'compatibility', 'audit'], options)
    const { runKeyAction } = await import('./key-actions.ts') // loads the store, so only for a valid command line
    process.stdout.write(await runKeyAction(config, zoneId, action))
    return 0
  },
}

interface ParsedAction {
  readonly action: KeyAction
  readonly zoneId: string | undefined
  readonly options: { readonly config?: string; readonly database?: string }
}

function readAction(word: string | undefined, args: readonly string[]): ParsedAction {
  switch (word) {
    case 'list': {
      const { zone, ...options } = readOptions(args, WHERE)
      return { action: { action: 'list' }, zoneId: zone, options }
    }
    case 'add': {
      const kinds = { ...WHERE, 'key-id': 'string', alg: 'string', 'pem-file': 'string' } as const
      const { zone, alg, 'key-id': keyId, 'pem-file': pemFile, ...options } = readOptions(args, kinds)
      const action = {
        action: 'add',
        ...(keyId !== undefined && { keyId: usableKeyId(keyId) }),
        ...(alg !== undefined && { algorithm: algorithmNamed(alg) }),
        ...(pemFile !== undefined && { pemFile }),
      } as const
      return { action, zoneId: zone, options }
    }
    case 'activate': {
      const { zone, 'key-id': keyId, ...options } = readOptions(args, { ...WHERE, 'key-id': 'string' } as const)
      return { action: { action: 'activate', keyId: required(keyId) }, zoneId: zone, options }
    }
    case 'retire': {
      const kinds = { ...WHERE, 'key-id': 'string', now: 'boolean' } as const
      const { zone, now = false, 'key-id': keyId, ...options } = readOptions(args, kinds)
      return { action: { action: 'retire', keyId: required(keyId), now }, zoneId: zone, options }
    }
    default:
      throw new UsageError(
        `keys requires one of list, add, activate, retire${word === undefined ? '' : `, not ${word}`}`,
      )
  }
}

function required(keyId: string | undefined): string {
  if (keyId === undefined) throw new UsageError("Option '--key-id <value>' is missing")
  return keyId
}

/** The key id appears in the header of every token and in the output of this command. */
function usableKeyId(keyId: string): string {
  if (/^[\x21-\x7e]+$/.test(keyId) && keyId.length <= MAX_KEY_ID_LENGTH) return keyId
  throw new UsageError(`--key-id must have 1 to ${MAX_KEY_ID_LENGTH} visible ASCII characters`)
}

function algorithmNamed(name: string): SigningAlgorithm {
  const algorithm = SIGNING_ALGORITHMS.find(each => each === name)
  if (algorithm === undefined) throw new UsageError(`--alg must be one of ${SIGNING_ALGORITHMS.join(', ')}`)
  return algorithm
}
