// DPoP (RFC 9449): tokens that are used together with a signature of the request by a key of the client.
import { loadOnce } from '../../base/concurrency/load-once.ts'
import { digest } from '../../base/secrets.ts'
import { demandsOn } from '../../model/clients/client-demands.ts'
import type { Client } from '../../model/clients/client.ts'
import { OAuthError } from '../../model/oauth-error.ts'
import type { SentRequest } from '../../model/request.ts'
import { algorithmNamed } from '../../model/tokens/signing-key.ts'
import type { ProofId } from '../../model/tokens/token.ts'
import type { Proof } from './dpop-proof.ts'
import type { SenderDeps, SenderProof } from './sender.ts'

const proofs = loadOnce(() => import('./dpop-proof.ts'))

/** By request: a token request that also presents a token verifies its proof twice, and consumes it once. */
const verified = new WeakMap<SentRequest['headers'], Promise<Proof>>()
const used = new WeakMap<SentRequest['headers'], Promise<void>>()

/** Throws with the status of the endpoint: 400 where tokens are issued, 401 where they are used. */
async function proofOf(
  request: SentRequest,
  { status, keepsProof = false }: { readonly status: 400 | 401; readonly keepsProof?: boolean | undefined },
  deps: SenderDeps,
): Promise<Proof> {
  const { verifyProof, useProof, ProofProblem } = await proofs()
  const pending = verified.get(request.headers) ?? verifyProof(request, deps)
  verified.set(request.headers, pending)
  try {
    const proof = await pending
    if (keepsProof) return proof
    const use = used.get(request.headers) ?? useProof(request, proof, deps)
    used.set(request.headers, use)
    await use
    return proof
  } catch (cause) {
    if (!(cause instanceof ProofProblem)) throw cause
    throw new OAuthError({ error: cause.error, status }, cause.message, { cause })
  }
}

/** The id of a proof that `proven` has verified and not consumed. */
export async function unusedProof({ headers }: SentRequest): Promise<ProofId | undefined> {
  return used.has(headers) ? undefined : (await verified.get(headers))?.id
}

const DPOP = /^dpop +/i

/** The token in `Authorization: DPoP` (RFC 9449 §7.1). */
export function tokenByDpop({ headers: { authorization } }: Pick<SentRequest, 'headers'>): string | undefined {
  if (typeof authorization !== 'string' || !DPOP.test(authorization)) return undefined
  return authorization.replace(DPOP, '').trim()
}

/** Whether the request has a proof, or a token that needs one. */
export const mentionsDpop = ({ headers }: Pick<SentRequest, 'headers'>): boolean =>
  headers['dpop'] !== undefined || tokenByDpop({ headers }) !== undefined

/** Refuses a proof that is not signed by an algorithm of the client's profile. */
function requireAlgorithm(
  { alg }: Proof,
  { request, client, status }: { readonly request: SentRequest; readonly client: Client; readonly status: 400 | 401 },
): void {
  const { algorithms } = demandsOn(request.zone, client)
  if (!algorithms || algorithms.some(each => each === algorithmNamed(alg))) return
  throw new OAuthError(
    { error: 'invalid_dpop_proof', status },
    `This client must sign with one of ${algorithms.join(', ')}`,
  )
}

/** Binds tokens to the key of the header `DPoP`. */
export const dpop: SenderProof = {
  member: 'jkt',
  protocol: 'dpop',
  isDemandedBy: client => client.dpopBoundTokens === true,
  isOffered: ({ headers }) => headers['dpop'] !== undefined,
  async proven({ request, client, keepsProof }, deps) {
    // §5.2: an attacker must not get a bearer token by leaving the proof out.
    if (request.headers['dpop'] === undefined) {
      throw new OAuthError('invalid_request', 'This client must send a DPoP proof')
    }
    const proof = await proofOf(request, { status: 400, keepsProof }, deps)
    requireAlgorithm(proof, { request, client, status: 400 })
    return proof.jkt
  },
  async check(request, { token, thumbprint, client }, deps) {
    if (tokenByDpop(request) !== token) {
      throw new OAuthError('invalid_token', 'The token is bound to a key: send it by Authorization: DPoP, with a proof')
    }
    const proof = await proofOf(request, { status: 401 }, deps)
    requireAlgorithm(proof, { request, client, status: 401 })
    if (proof.ath !== digest(token)) {
      throw new OAuthError(
        { error: 'invalid_dpop_proof', status: 401 },
        'The ath of the proof does not match the token',
      )
    }
    if (proof.jkt !== thumbprint) throw new OAuthError('invalid_token', 'The token is bound to another key')
  },
}
