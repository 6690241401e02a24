// Files with one secret each, and warnings about them. Their folders also determine who can read them.
import { constants, realpathSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { TlsSettings } from './sections/tls.ts'
import { masterKeyPath } from './keys/master-key.ts'
import type { MasterKeySource } from './keys/master-key.ts'

/** A `…_file` of the configuration that was read. */
export interface SecretFile {
  readonly key: string
  /** Absolute. */
  readonly path: string
  /** Without the ignored final line break. */
  readonly content: string
}

/** Warnings about the file of the configuration, those it names, and those of the master key and of `listen.tls`. */
export function secretFileWarnings(
  {
    files,
    written,
    cutOff,
  }: { readonly files: readonly SecretFile[]; readonly written: readonly string[]; readonly cutOff: readonly string[] },
  others: {
    /** That of the configuration. */
    readonly file: string | undefined
    readonly masterKey: MasterKeySource | undefined
    readonly database: string
    readonly tls: TlsSettings | undefined
  },
): readonly string[] {
  const masterKey = masterKeyPath(others)
  const [first, ...more] = written
  const paths: readonly (readonly [key: string, path: string])[] = [
    ...(first === undefined || others.file === undefined
      ? []
      : [[more.length === 0 ? first : `${first} and ${more.length} more`, others.file] as const]),
    ...(masterKey === undefined ? [] : [['master_key_file', masterKey] as const]),
    ...(others.tls ? [['listen.tls.private_key_file', others.tls.privateKey] as const] : []),
    ...files.map(({ key, path }) => [key, path] as const),
  ]
  return [
    ...cutOff.map(where => `${where}: ${ENDS_EARLY}`),
    ...files.filter(hasSurplusLineBreak).map(({ key, path }) => `${key}: ${path} ${SURPLUS}`),
    ...paths.filter(([, path]) => isOpenToAll(path)).map(([key, path]) => `${key}: ${path} ${OPEN}`),
  ]
}

const ENDS_EARLY =
  'the value ends before #, where YAML begins a comment: put quotes around it if the rest belongs to it'
const SURPLUS =
  'begins with a line break or ends with several, of which only the last one is ignored: the others are part of the secret'
const OPEN = 'can be read by every account of this machine: take the right from others (chmod o-r)'

/** Line breaks do not matter in PEM. */
const hasSurplusLineBreak = ({ content }: SecretFile): boolean =>
  /^[\r\n]|[\r\n]$/.test(content) && !content.includes('-----BEGIN')

/** File systems in memory, in which Kubernetes and systemd mount secrets, with rights that matter only in one container. */
const IN_MEMORY: ReadonlySet<number> = new Set([0x01021994, 0x858458f6])

/** Whether accounts without any relation to the file can read it. */
function isOpenToAll(path: string): boolean {
  if (process.platform === 'win32') return false // has other rights
  try {
    const real = realpathSync(path)
    if (real.startsWith('/run/')) return false // where Docker mounts secrets
    if (!hasRight(real, constants.S_IROTH) || IN_MEMORY.has(statfsSync(real).type)) return false
    return foldersAbove(real).every(folder => hasRight(folder, constants.S_IXOTH))
  } catch {
    return false // gone since it was read, or in a folder that the server may not look at
  }
}

const hasRight = (path: string, right: number): boolean => (statSync(path).mode & right) !== 0

function foldersAbove(path: string): readonly string[] {
  const folder = dirname(path)
  return folder === path ? [] : [folder, ...foldersAbove(folder)]
}
