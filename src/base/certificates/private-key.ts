import { createPrivateKey, createPublicKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { DER, derSequence, oidOf } from './der.ts'
import type { DerElement } from './der.ts'
import { openEncryptedKey, openTraditionalKey, roundsOf } from './encrypted-key.ts'
import { hasShortExponent } from './rsa-limits.ts'

/** A private key with the properties that decide which algorithms it fits. */
export interface PrivateKey {
  /** Node's name of the kind of key: `rsa`, `ec`, `ed25519`, … */
  readonly type: string
  /** Length of the modulus of an RSA key. */
  readonly bits?: number
  /** OpenSSL's name of the curve of an EC key, such as `prime256v1`. */
  readonly curve?: string
  /** PKCS#8 PEM. */
  readonly privatePem: string
  /** SPKI PEM. */
  readonly publicPem: string
}

/**
 * Reads the first private key of a PEM string (PKCS#8, PKCS#1 or SEC1), which must not be encrypted. Undefined without one,
 * for other keys than RSA, EC on a named curve and Edwards curves, and for a long public exponent: hostile ones can occupy
 * OpenSSL for minutes.
 */
export function readPrivateKey(pem: string): PrivateKey | undefined {
  const block = firstKey(pem)
  return block && !isEncrypted(block) ? keyOf(block, block.der) : undefined
}

/** As `readPrivateKey`, for a key that may be encrypted; the key derivation runs in the thread pool. */
export async function openPrivateKey(pem: string, passphrase: string): Promise<PrivateKey | undefined> {
  const block = firstKey(pem)
  const der = block && (await openBlock(block, passphrase))
  return block && der && keyOf(block, der)
}

/** The properties of a public key in SPKI PEM. */
export function describePublicKey(pem: string): Omit<PrivateKey, 'privatePem'> {
  const key = createPublicKey(pem)
  const { modulusLength, namedCurve } = key.asymmetricKeyDetails ?? {}
  return {
    type: key.asymmetricKeyType ?? 'unknown',
    ...(modulusLength === undefined ? {} : { bits: modulusLength }),
    ...(namedCurve === undefined ? {} : { curve: namedCurve }),
    publicPem: key.export({ type: 'spki', format: 'pem' }).toString(),
  }
}

/** The PBKDF2 rounds that `openPrivateKey` would compute; 0 for a key that is refused or not encrypted. */
export function openingRounds(pem: string): number {
  const block = firstKey(pem)
  return block?.label === ENCRYPTED ? roundsOf(block.der) : 0
}

function keyOf({ label }: Block, der: Buffer): PrivateKey | undefined {
  // OpenSSL gets only bytes whose structure matches their PEM label, and does not search the string itself.
  const type = FORMS.get(label)
  if (!type || !hasForm(der, type)) return undefined
  let key: KeyObject
  try {
    key = createPrivateKey({ key: der, format: 'der', type })
  } catch {
    return undefined // OpenSSL's reasons differ by version
  }
  if (!hasShortExponent(key)) return undefined
  const { modulusLength, namedCurve } = key.asymmetricKeyDetails ?? {}
  return {
    type: key.asymmetricKeyType ?? 'unknown',
    ...(modulusLength === undefined ? {} : { bits: modulusLength }),
    ...(namedCurve === undefined ? {} : { curve: namedCurve }),
    privatePem: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicPem: createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString(),
  }
}

type Form = 'pkcs1' | 'sec1' | 'pkcs8'

const ENCRYPTED = 'ENCRYPTED PRIVATE KEY'
const FORMS: ReadonlyMap<string, Form> = new Map([
  ['PRIVATE KEY', 'pkcs8'],
  [ENCRYPTED, 'pkcs8'],
  ['RSA PRIVATE KEY', 'pkcs1'],
  ['EC PRIVATE KEY', 'sec1'],
])

interface Block {
  readonly label: string
  readonly headers: ReadonlyMap<string, string>
  readonly der: Buffer
}

const isEncrypted = ({ label, headers }: Block): boolean => label === ENCRYPTED || headers.size > 0

async function openBlock(block: Block, passphrase: string): Promise<Buffer | undefined> {
  const { label, headers, der } = block
  if (!isEncrypted(block)) return der
  const information = headers.get('DEK-Info')
  if (label === ENCRYPTED) return headers.size > 0 ? undefined : openEncryptedKey(der, passphrase)
  return information === undefined ? undefined : openTraditionalKey(der, information, passphrase)
}

/** RFC 7468 §2; blocks of other kinds, such as curve parameters, may come first. */
function firstKey(pem: string): Block | undefined {
  for (let offset = 0; ; ) {
    const begin = pem.indexOf('-----BEGIN ', offset)
    const [line = '', label = ''] =
      /^-----BEGIN ([A-Z0-9 ]{1,64})-----[ \t]*\r?\n/.exec(pem.slice(begin, begin + 128)) ?? []
    if (begin < 0 || label === '') return undefined
    const start = begin + line.length
    const end = pem.indexOf(`-----END ${label}-----`, start)
    if (end < 0) return undefined
    offset = end + 1
    if (label.endsWith('PRIVATE KEY')) return readBlock(label, pem.slice(start, end))
  }
}

function readBlock(label: string, text: string): Block | undefined {
  const [, head, body = text] = /^((?:[A-Za-z-]+:[^\n]*\n)+)\r?\n([^:]*)$/.exec(text) ?? []
  const base64 = body.replace(/\s+/g, '')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64) || base64.length % 4 !== 0) return undefined
  const headers = (head ?? '').split('\n').flatMap(line => {
    const [name = '', value] = line.split(':', 2)
    return value === undefined ? [] : [[name, value.trim()] as const]
  })
  return { label, headers: new Map(headers), der: Buffer.from(base64, 'base64') }
}

const EC = '2a8648ce3d0201'
/** RFC 8017 appendix A.2.3 and A.1; RFC 8410 §3. */
const SAFE_KINDS = new Set(['2a864886f70d010101', '2a864886f70d01010a', EC, '2b656e', '2b656f', '2b6570', '2b6571'])

/** Whether the DER has the structure of the form and a key type that OpenSSL loads quickly. */
function hasForm(der: Buffer, form: Form): boolean {
  const [version, second, third, ...rest] = derSequence(der)
  if (version?.tag !== DER.integer) return false
  switch (form) {
    case 'pkcs1': // RFC 8017 appendix A.1.2
      return [second, third, ...rest].every(part => part?.tag === DER.integer)
    case 'sec1': // RFC 5915 §3
      return second?.tag === DER.octets && third?.tag === DER.parameters && isNamedCurve(third.content)
    case 'pkcs8': {
      // RFC 5958 §2
      const [kind, parameters] = derSequence(second?.whole)
      const oid = oidOf(kind) ?? ''
      return SAFE_KINDS.has(oid) && (oid !== EC || isNamedCurve(parameters?.whole)) && third?.tag === DER.octets
    }
  }
}

/** Refuses explicit curve parameters, which OpenSSL would compute with unchecked. */
const isNamedCurve = (parameters: DerElement['whole'] | undefined): boolean => parameters?.[0] === DER.oid
