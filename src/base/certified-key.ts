import { createPrivateKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { readCertificates } from './certificate.ts'
import { readPrivateKey } from './private-key.ts'

/** RSA keys beyond this would keep a thread busy for seconds with each signature. */
const LONGEST_RSA_BITS = 8192
const LEAST_RSA_BITS = 1024

/** Deriving a key from a passphrase blocks everything else; who wants more rounds opens the key elsewhere. */
const MOST_ROUNDS = 100_000

/**
 * The unencrypted PKCS#8 PEM of a private key, RSA or EC, that the certificate was made for. Undefined for anything else:
 * no key, the wrong passphrase, the certificate of another key.
 */
export function readCertifiedKey(given: {
  readonly key: string
  readonly passphrase?: string | undefined
  readonly certificate: string
}): string | undefined {
  if (roundsOf(given.key) > MOST_ROUNDS) return undefined
  let opened: KeyObject
  try {
    opened = createPrivateKey({ key: given.key, format: 'pem', passphrase: given.passphrase ?? '' })
  } catch {
    return undefined // OpenSSL's reasons differ by version and help nobody
  }
  const key = readPrivateKey(opened.export({ type: 'pkcs8', format: 'pem' }).toString())
  if (key === undefined || !['rsa', 'ec'].includes(key.type)) return undefined
  if (key.bits !== undefined && (key.bits < LEAST_RSA_BITS || key.bits > LONGEST_RSA_BITS)) return undefined
  return readCertificates(given.certificate)?.[0]?.publicPem === key.publicPem ? key.privatePem : undefined
}

/** Whether two texts hold the same certificates, whatever their line ends; false where either holds none. */
export function isSameCertificate(one: string, other: string): boolean {
  const rawOf = (pem: string): string | undefined =>
    readCertificates(pem)
      ?.map(({ raw }) => raw.toString('base64'))
      .join()
  const raw = rawOf(one)
  return raw !== undefined && raw === rawOf(other)
}

/**
 * The largest number in the parameters of an encrypted PKCS#8 key (RFC 8018 appendix A: rounds, cost, salt and key length);
 * 0 for a key that is not encrypted that way.
 */
function roundsOf(pem: string): number {
  const base64 = /-----BEGIN ENCRYPTED PRIVATE KEY-----([^-]+)-----END/.exec(pem)?.[1]
  if (base64 === undefined) return 0
  const [whole] = elementsOf(Buffer.from(base64, 'base64'))
  const [parameters] = whole ? elementsOf(whole.content) : []
  return parameters ? largestInteger(parameters) : 0
}

interface Element {
  readonly tag: number
  readonly content: Buffer
}

const INTEGER = 0x02
const SEQUENCE = 0x30

function largestInteger({ tag, content }: Element, depth = 0): number {
  if (tag === INTEGER)
    return content.length > 6 ? Infinity : content.length === 0 ? 0 : content.readIntBE(0, content.length)
  if (tag !== SEQUENCE || depth > 8) return 0
  return Math.max(0, ...elementsOf(content).map(each => largestInteger(each, depth + 1)))
}

/** The elements of DER (X.690 §8.1); what cannot be read ends the list, and OpenSSL refuses it. */
function elementsOf(der: Buffer): readonly Element[] {
  const found: Element[] = []
  let place = 0
  while (place + 2 <= der.length) {
    const [tag = 0, short = 0] = der.subarray(place)
    const extra = short > 0x80 ? short - 0x80 : 0
    if (short === 0x80 || extra > 4 || place + 2 + extra > der.length) return found
    const length = extra === 0 ? short : der.readUIntBE(place + 2, extra)
    const start = place + 2 + extra
    if (start + length > der.length) return found
    found.push({ tag, content: der.subarray(start, start + length) })
    place = start + length
  }
  return found
}
