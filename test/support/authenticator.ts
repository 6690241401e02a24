// A software authenticator, valid or faulty as a test requires: creates keys, and responds as a browser would
// (Web Authentication Level 3 §5.8, §6, §7).
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import type { JsonRecord } from '../../src/base/json.ts'
import { rsaKeys } from './rsa-keys.ts'

/** The subset of CBOR that authenticators use. */
export type Cbor = number | string | Buffer | readonly Cbor[] | ReadonlyMap<number | string, Cbor>

/** COSE algorithms, of which the server accepts the first three. */
export type Algorithm = 'ES256' | 'EdDSA' | 'RS256' | 'ES384'

/** How a response differs from a valid one. */
export interface Overrides {
  readonly origin?: string
  readonly rpId?: string
  readonly type?: string
  readonly challenge?: string
  /** Further members of the client data. */
  readonly clientData?: JsonRecord
  readonly userPresent?: boolean
  readonly userVerified?: boolean
  readonly backupEligible?: boolean
  readonly backedUp?: boolean
  readonly counter?: number
}

/** How a new credential differs. */
export interface CreationOverrides extends Overrides {
  readonly algorithm?: Algorithm
  /** Instead of the key's own. */
  readonly publicKey?: Cbor
  readonly aaguid?: Buffer
  readonly format?: string
  /** Makes the attestation statement; empty unless given. */
  readonly statement?: (signed: Buffer, credential: Credential) => Cbor
}

/** How an assertion differs. */
export interface AssertionOverrides extends Overrides {
  readonly userHandle?: string | undefined
  readonly signature?: Buffer
  /** Signs with another key than the credential's. */
  readonly key?: KeyObject
  /** Names another credential. */
  readonly id?: string
}

/** A credential that an authenticator holds. */
export interface Credential {
  readonly id: string
  readonly userHandle: string
  readonly privateKey: KeyObject
  readonly algorithm: Algorithm
  readonly cose: Cbor
  counter: number
}

/** A new credential with the browser's registration response. */
export interface Creation {
  readonly credential: Credential
  readonly answer: CreationAnswer
}

/** `RegistrationResponseJSON`. */
export interface CreationAnswer {
  readonly id: string
  readonly rawId: string
  readonly type: string
  readonly response: {
    readonly clientDataJSON: string
    readonly attestationObject: string
    readonly transports: readonly string[]
  }
  readonly clientExtensionResults: JsonRecord
}

/** `AuthenticationResponseJSON`. */
export interface AssertionAnswer {
  readonly id: string
  readonly rawId: string
  readonly type: string
  readonly response: {
    readonly clientDataJSON: string
    readonly authenticatorData: string
    readonly signature: string
    readonly userHandle?: string | undefined
  }
  readonly clientExtensionResults: JsonRecord
}

/** The server's options that are used here. */
interface Options {
  readonly challenge: string
  readonly rpId?: string
  readonly rp?: { readonly id: string }
  readonly user?: { readonly id: string }
}

const base64url = (bytes: Buffer): string => bytes.toString('base64url')
const sha256 = (bytes: Buffer | string): Buffer => createHash('sha256').update(bytes).digest()

function head(major: number, value: number): Buffer {
  if (value < 24) return Buffer.from([(major << 5) | value])
  if (value < 256) return Buffer.from([(major << 5) | 24, value])
  const long = Buffer.alloc(3)
  long[0] = (major << 5) | 25
  long.writeUInt16BE(value, 1)
  return long
}

/** Encodes it (RFC 8949). */
export function cbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  if (value instanceof Map) {
    const entries = [...(value as ReadonlyMap<number | string, Cbor>)].flatMap(([key, each]) => [cbor(key), cbor(each)])
    return Buffer.concat([head(5, value.size), ...entries])
  }
  const list = value as readonly Cbor[] // what is left
  return Buffer.concat([head(4, list.length), ...list.map(cbor)])
}

const bytesOf = (member: string | undefined): Buffer => Buffer.from(member ?? '', 'base64url')

/** The COSE key of a public key (RFC 9053). */
export function coseOf(publicKey: KeyObject, algorithm: Algorithm): ReadonlyMap<number, Cbor> {
  const { x, y, n, e } = publicKey.export({ format: 'jwk' })
  const ec = (alg: number, crv: number) =>
    new Map<number, Cbor>([
      [1, 2],
      [3, alg],
      [-1, crv],
      [-2, bytesOf(x)],
      [-3, bytesOf(y)],
    ])
  switch (algorithm) {
    case 'ES256':
      return ec(-7, 1)
    case 'ES384':
      return ec(-35, 2)
    case 'EdDSA':
      return new Map<number, Cbor>([
        [1, 1],
        [3, -8],
        [-1, 6],
        [-2, bytesOf(x)],
      ])
    case 'RS256':
      return new Map<number, Cbor>([
        [1, 3],
        [3, -257],
        [-1, bytesOf(n)],
        [-2, bytesOf(e)],
      ])
  }
}

/** A key pair for the algorithm. */
export function keyPairFor(algorithm: Algorithm): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } {
  switch (algorithm) {
    case 'ES256':
      return generateKeyPairSync('ec', { namedCurve: 'P-256' })
    case 'ES384':
      return generateKeyPairSync('ec', { namedCurve: 'P-384' })
    case 'EdDSA':
      return generateKeyPairSync('ed25519')
    case 'RS256':
      return rsaKeys()
  }
}

const HASHES = { ES256: 'sha256', ES384: 'sha384', EdDSA: null, RS256: 'sha256' } as const

/** Signs as an authenticator with this key does. */
export const signatureOf = (bytes: Buffer, key: KeyObject, algorithm: Algorithm): Buffer =>
  sign(HASHES[algorithm], bytes, key)

function clientDataOf(options: Options, usual: { type: string; origin: string }, overrides: Overrides): Buffer {
  const { type = usual.type, origin = usual.origin, challenge = options.challenge, clientData } = overrides
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false, ...clientData }))
}

function authenticatorDataOf(
  options: Options,
  overrides: Overrides,
  { attested, counter }: { attested?: Buffer; counter: number },
) {
  const { userPresent = true, userVerified = true, backupEligible = false, backedUp = false } = overrides
  const flags =
    (userPresent ? 1 : 0) |
    (userVerified ? 4 : 0) |
    (backupEligible ? 8 : 0) |
    (backedUp ? 16 : 0) |
    (attested === undefined ? 0 : 64)
  const count = Buffer.alloc(4)
  count.writeUInt32BE(overrides.counter ?? counter)
  const rpId = overrides.rpId ?? options.rpId ?? options.rp?.id ?? ''
  return Buffer.concat([sha256(rpId), Buffer.from([flags]), count, attested ?? Buffer.alloc(0)])
}

/** A browser at this origin with an authenticator. */
export function createAuthenticator(origin: string) {
  return {
    /** Creates a credential, and returns it like `navigator.credentials.create`. */
    create(asked: unknown, overrides: CreationOverrides = {}): Creation {
      const options = asked as Options // what the server sent
      const { algorithm = 'ES256', aaguid = Buffer.alloc(16), format = 'none' } = overrides
      const { publicKey, privateKey } = keyPairFor(algorithm)
      const id = randomBytes(32)
      const cose = overrides.publicKey ?? coseOf(publicKey, algorithm)
      const userHandle = options.user?.id ?? ''
      const credential = { id: base64url(id), userHandle, privateKey, algorithm, cose, counter: overrides.counter ?? 0 }
      const length = Buffer.alloc(2)
      length.writeUInt16BE(id.length)
      const attested = Buffer.concat([aaguid, length, id, cbor(cose)])
      const authenticatorData = authenticatorDataOf(options, overrides, { attested, counter: 0 })
      const clientData = clientDataOf(options, { type: 'webauthn.create', origin }, overrides)
      const signed = Buffer.concat([authenticatorData, sha256(clientData)])
      const attestation = new Map<string, Cbor>([
        ['fmt', format],
        ['attStmt', overrides.statement?.(signed, credential) ?? new Map()],
        ['authData', authenticatorData],
      ])
      const answer = {
        id: credential.id,
        rawId: credential.id,
        type: 'public-key',
        response: {
          clientDataJSON: base64url(clientData),
          attestationObject: base64url(cbor(attestation)),
          transports: ['internal'],
        },
        clientExtensionResults: {},
      }
      return { credential, answer }
    },
    /** Signs with a credential, and returns the result like `navigator.credentials.get`. Increments the counter if it is used. */
    get(asked: unknown, credential: Credential, overrides: AssertionOverrides = {}): AssertionAnswer {
      const options = asked as Options // what the server sent
      if (credential.counter > 0) credential.counter += 1
      const authenticatorData = authenticatorDataOf(options, overrides, { counter: credential.counter })
      const clientData = clientDataOf(options, { type: 'webauthn.get', origin }, overrides)
      const signed = Buffer.concat([authenticatorData, sha256(clientData)])
      const signature =
        overrides.signature ?? signatureOf(signed, overrides.key ?? credential.privateKey, credential.algorithm)
      const id = overrides.id ?? credential.id
      return {
        id,
        rawId: id,
        type: 'public-key',
        response: {
          clientDataJSON: base64url(clientData),
          authenticatorData: base64url(authenticatorData),
          signature: base64url(signature),
          userHandle: 'userHandle' in overrides ? overrides.userHandle : credential.userHandle,
        },
        clientExtensionResults: {},
      }
    },
  }
}
