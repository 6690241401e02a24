// Verifies DPoP proofs (RFC 9449 §4.3). Does not know which token a proof belongs to.
import type { KeyObject } from 'node:crypto'
import type { Cache } from '../../base/cache.ts'
import { addSeconds } from '../../base/clock.ts'
import type { Clock } from '../../base/clock.ts'
import { isJsonRecord, parseJson } from '../../base/json.ts'
import type { JsonRecord } from '../../base/json.ts'
import { digest } from '../../base/secrets.ts'
import type { SentRequest } from '../../model/request.ts'
import { PROOF_USED } from '../../model/tokens/token.ts'
import type { ProofId } from '../../model/tokens/token.ts'
import type { Urls } from '../../model/urls.ts'
import { algorithmNamed } from '../../model/tokens/signing-key.ts'
import type { SigningAlgorithm } from '../../model/tokens/signing-key.ts'
import type { Store } from '../../store/store.ts'
import { FOREIGN_ALGORITHMS, openPublicKey } from '../foreign-keys.ts'
import { verifyText } from '../keys/jws-algorithms.ts'
import type { DpopNonces } from './dpop-nonce.ts'
import { NONCE_SECONDS } from './dpop-nonce.ts'
import { hasOneSpelling, isNumericDate } from '../../model/tokens/jwt.ts'

/** Dependencies for verifying proofs. */
interface ProofDeps {
  readonly store: Pick<Store, 'proofs'>
  readonly clock: Clock
  readonly urls: Pick<Urls, 'ofZone' | 'atBaseHost' | 'certificateBaseOf'>
  readonly nonces: DpopNonces
  /** By protected header, which is the same in every proof of a client: importing a key takes as long as a signature. */
  readonly proofKeys: Cache<ProofKey>
}

/** The key of a protected header. */
export interface ProofKey {
  readonly alg: string
  readonly key: KeyObject
  /** The key's thumbprint (RFC 7638). */
  readonly jkt: string
}

/** A proof that is valid for its request; it may have been used before. */
export interface Proof {
  /** May be used once. */
  readonly id: ProofId
  /** The key's thumbprint (RFC 7638). */
  readonly jkt: string
  readonly alg: string
  /** Digest of the access token that it was made for, if any. */
  readonly ath: unknown
}

/** Thrown for an invalid proof; the endpoint chooses status and challenge. */
export class ProofProblem extends Error {
  override name = 'ProofProblem'
  readonly error: 'invalid_dpop_proof' | 'use_dpop_nonce'
  constructor(error: ProofProblem['error'], description: string, cause?: unknown) {
    super(description, cause === undefined ? undefined : { cause })
    this.error = error
  }
}

const MAX_PROOF_LENGTH = 8192
const MAX_JTI_LENGTH = 256
/** How far the clocks of client and server may differ, and so how old a proof without a nonce may be. */
const SKEW_SECONDS = 60
/** The same for a proof with a nonce, which already proves that the proof is recent. */
const SKEW_WITH_NONCE_SECONDS = 7200
/** Longer than any proof is accepted, with or without a nonce. */
const REMEMBERED_SECONDS = 3 * NONCE_SECONDS + SKEW_SECONDS

const JWS = /^([\w-]+)\.([\w-]+)\.[\w-]+$/

const bad = (description: string, cause?: unknown): ProofProblem =>
  new ProofProblem('invalid_dpop_proof', description, cause)

/** Cheap checks first, the signature last. Throws `ProofProblem`. */
export async function verifyProof(request: SentRequest, deps: ProofDeps): Promise<Proof> {
  const { jwt, header, claims } = decode(request.headers['dpop'])
  const { alg, key, jkt } = await keyIn(header, deps)
  checkTarget(claims, request, deps)
  checkTime(claims, request, deps)
  const { jti, ath } = claims
  if (typeof jti !== 'string' || jti === '' || jti.length > MAX_JTI_LENGTH) throw bad('The proof has no valid jti')
  const dot = jwt.lastIndexOf('.')
  const signature = Buffer.from(jwt.slice(dot + 1), 'base64url')
  if (!hasOneSpelling(jwt)) throw bad('The proof is not a JWT')
  const isSigned = await verifyText(jwt.slice(0, dot), signature, { algorithm: signingAlgorithm(alg), key })
  if (!isSigned) throw bad('The signature of the proof is invalid')
  const id = {
    idDigest: digest(JSON.stringify([jkt, jti])),
    expiresAt: addSeconds(deps.clock.now(), REMEMBERED_SECONDS),
  }
  return { id, jkt, alg, ath }
}

/** Consumes the proof, which needs the key. Throws `ProofProblem` if it was used before. */
export async function useProof({ zone }: SentRequest, { id }: Proof, { store }: ProofDeps): Promise<void> {
  if (!(await store.proofs.use(zone.id, id.idDigest, id.expiresAt))) throw bad(PROOF_USED)
}

function decode(sent: unknown): { jwt: string; header: string; claims: JsonRecord } {
  if (sent === undefined) throw bad('A DPoP proof is required')
  // Node joins repeated headers with a comma, which no JWT has: §4.3 item 1.
  if (typeof sent !== 'string' || sent.length > MAX_PROOF_LENGTH) throw bad('The proof is not a JWT')
  const [, header = '', payload = ''] = JWS.exec(sent) ?? []
  const claims = parsed(payload)
  if (!claims) throw bad('The proof is not a JWT')
  return { jwt: sent, header, claims }
}

function parsed(part: string): JsonRecord | undefined {
  const value = parseJson(Buffer.from(part, 'base64url').toString())
  return isJsonRecord(value) ? value : undefined
}

async function keyIn(header: string, { proofKeys }: ProofDeps): Promise<ProofKey> {
  const found = await proofKeys.get(header, async () => openKey(parsed(header)))
  if (!found) throw bad('The proof is not a JWT')
  return found
}

/** §4.3 items 4 to 7. A key by reference (`kid`, `jku`, `x5u`) is never looked for. */
function openKey(header: JsonRecord | undefined): ProofKey | undefined {
  if (!header) return undefined
  const { typ, alg, jwk, crit } = header
  if (typ !== 'dpop+jwt') throw bad('The typ of the proof must be dpop+jwt')
  if (crit !== undefined) throw bad('The proof has critical extensions') // RFC 7515 §4.1.11: none is understood
  if (typeof alg !== 'string' || !FOREIGN_ALGORITHMS.includes(alg)) {
    throw bad('The alg of the proof is not supported')
  }
  const key = isJsonRecord(jwk) ? openPublicKey(jwk, alg) : undefined
  if (!key) throw bad('The jwk of the proof must be a public key for its alg')
  return { alg, key, jkt: thumbprint(key) }
}

/** The algorithm for one of `FOREIGN_ALGORITHMS`, which have a second name for one of ours (RFC 9864). */
const signingAlgorithm = (alg: string): SigningAlgorithm => algorithmNamed(alg) as SigningAlgorithm

/** §4.3 items 8 and 9. */
function checkTarget({ htm, htu }: JsonRecord, request: SentRequest, { urls }: ProofDeps): void {
  if (htm !== request.method) throw bad('The htm of the proof is not the method of this request')
  const path = request.originalUrl.replace(/^https?:\/\/[^/?#]*/i, '') // RFC 9112 §3.2.2
  const sent = typeof htu === 'string' ? comparable(htu) : undefined
  // The same path, at any of our hosts: only the proxy knows which one a client used.
  const { zone } = request
  const bases = [urls.ofZone(zone), urls.atBaseHost(zone), urls.certificateBaseOf(zone) ?? []].flat()
  if (sent !== undefined && bases.some(base => comparable(new URL(base).origin + path) === sent)) return
  throw bad('The htu of the proof is not the URL of this request')
}

/** Without query and fragment, normalized by syntax and scheme (RFC 3986 §6.2.2, §6.2.3); undefined for no such URL. */
function comparable(url: string): string | undefined {
  const read = URL.parse(url)
  if (!read || read.username !== '' || read.password !== '') return undefined
  const path = read.pathname.replace(/%[0-9a-f]{2}/gi, encoded => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
    return /[\w.~-]/.test(character) ? character : encoded.toUpperCase()
  })
  return read.origin + path
}

/** §4.3 items 10 and 11. A nonce dates the proof, so the client's clock may be wrong (§11.1). */
function checkTime({ iat, exp, nbf, nonce }: JsonRecord, { zone }: SentRequest, { clock, nonces }: ProofDeps): void {
  if (!isNumericDate(iat)) throw bad('The proof has no iat')
  if (nonce === undefined && zone.config.requireDpopNonce !== false) {
    throw new ProofProblem('use_dpop_nonce', 'The proof must have the nonce of the header DPoP-Nonce')
  }
  const now = clock.now().getTime() / 1000
  if (nonce !== undefined && !(typeof nonce === 'string' && nonces.accepts(zone, nonce))) {
    throw new ProofProblem('use_dpop_nonce', 'The nonce of the proof is not valid, or no longer valid')
  }
  const skew = nonce === undefined ? SKEW_SECONDS : SKEW_WITH_NONCE_SECONDS
  if (Math.abs(now - iat) > skew) throw bad('The iat of the proof is not close to the current time')
  // RFC 7519 §4.1: a client that sets them expects them to be checked.
  const isOver = exp !== undefined && !(isNumericDate(exp) && now < exp + skew)
  const isEarly = nbf !== undefined && !(isNumericDate(nbf) && now >= nbf - skew)
  if (isOver || isEarly) throw bad('The proof has expired or is not yet valid')
}

/** RFC 7638 §3, of the key and not of what was sent: the members in lexicographic order. */
function thumbprint(key: KeyObject): string {
  const { crv, e, kty, n, x, y } = key.export({ format: 'jwk' })
  return digest(JSON.stringify({ crv, e, kty, n, x, y }))
}
