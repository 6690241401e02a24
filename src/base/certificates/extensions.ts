// The extensions of a certificate (RFC 5280 §4.2), which Node does not list.
import { DER, derSequence, oidOf } from './der.ts'
import type { DerElement } from './der.ts'

/** One extension. */
interface Extension {
  /** The content of its object identifier in hexadecimal. */
  readonly id: string
  readonly isCritical: boolean
  /** DER of the type that the identifier stands for. */
  readonly value: Buffer
}

/** The identifiers of extensions that are read here and elsewhere. */
export const EXTENSION = { alternativeName: '551d11', basicConstraints: '551d13', nameConstraints: '551d1e' } as const

/**
 * Which a critical one may be: those that are obeyed here or by OpenSSL, and policies, which nobody requires. Not name
 * constraints: nothing here applies them.
 */
const KNOWN: ReadonlySet<string> = new Set([
  EXTENSION.alternativeName,
  EXTENSION.basicConstraints,
  '551d0f', // key usage
  '551d25', // extended key usage
  '551d20', // certificate policies
  '551d21', // policy mappings
  '551d24', // policy constraints
  '551d36', // inhibit any policy
])

const TRUE = 'ff'
const TAG = { boolean: 0x01, extensions: 0xa3 } as const

/** The extensions; undefined for what is not strict DER, and if one occurs twice (RFC 5280 §4.2). */
export function extensionsIn(raw: Buffer): readonly Extension[] | undefined {
  const [content] = derSequence(raw)
  const fields = derSequence(content?.whole)
  if (fields.length === 0) return undefined
  const list = fields.find(({ tag }) => tag === TAG.extensions)
  if (!list) return []
  const found = derSequence(list.content).map(({ whole }) => extensionOf(derSequence(whole)))
  const known = found.filter(extension => extension !== undefined)
  const isClear = found.length > 0 && known.length === found.length
  return isClear && new Set(known.map(({ id }) => id)).size === found.length ? known : undefined
}

function extensionOf([type, ...rest]: readonly DerElement[]): Extension | undefined {
  const id = oidOf(type)
  const value = rest.at(-1)
  const [critical] = rest.slice(0, -1)
  const isCritical = critical?.tag === TAG.boolean && critical.content.toString('hex') === TRUE
  const isClear = rest.length === 1 || (rest.length === 2 && isCritical) // DER omits the default
  return id !== undefined && value?.tag === DER.octets && isClear ? { id, isCritical, value: value.content } : undefined
}

/**
 * Whether everything that restricts the use of the certificate is applied here. A certificate with another critical extension
 * must be refused (RFC 5280 §4.2), and one with name constraints limits what it may issue.
 */
export function isFullyProcessed(raw: Buffer): boolean {
  const extensions = extensionsIn(raw)
  return (
    extensions?.every(({ id, isCritical }) => id !== EXTENSION.nameConstraints && (!isCritical || KNOWN.has(id))) ===
    true
  )
}
